# Everything that Familiar says for itself, in English. Ids are kebab-case; a section belongs to one part of the code.
# Every id is in every other .ftl file of this folder too, with the same facts in braces: the tests compare them.

## Answers that did not come

model-failed = Something went wrong while I was answering. Please try again, or send /retry.
model-unreachable = I can't reach my language model right now. Please try again in a moment.
model-refused = My language model turned the request down, so there is no answer this time. Whoever runs me can find the reason in the log.
model-too-long = That is more than my language model can read at once. Try something shorter, or start afresh with /reset.
model-filtered = The model's provider declined to answer that. Perhaps put it another way?
model-empty = The model came back empty-handed. /retry gives it another go.
error-internal = Something broke on my side; it is in the log. Please try again.

## Stopping

stopped = Stopped.
nothing-to-stop = Nothing is being answered here right now.

## Who may do what

access-refused = Sorry, I'm not open to you here. That is up to the person who runs me.
command-needs-rights = Only people who manage this channel can change that.
access-not-yours = Only the person who asked, or an administrator, can do that.

## Commands: how they are written

command-gone = That command no longer exists. /help shows what I understand now.
command-unknown = I don't know that command. /help shows those I do.
command-left-over = I don't know what to make of “{ $word }”. `/help { $command }` shows how to write this.
command-flag-unknown = `/{ $command }` has no “{ $flag }”. `/help { $command }` shows what it has.
command-flag-needs-value = After “{ $flag }” I need a value. `/help { $command }` shows how to write this.
command-option-missing = The { $option } is missing. `/help { $command }` shows how to write this.
command-option-number = { $option } takes a number, not “{ $value }”.
command-option-choice = { $option } can be { $choices }, but not “{ $value }”.
quota-exceeded = That was a lot at once! Give me a minute, then go on.
page-of = Page { $page } of { $pages }. -p turns to another.
value-empty = empty

## Commands: what each one does, at most 100 characters

command-persona = Who speaks here
command-persona-list = Show or search the personas
command-persona-use = Let another persona speak here
command-persona-info = Tell about a persona
command-model = Which language model answers here
command-model-list = Show or search the models
command-model-use = Let another model answer here
command-model-info = Tell about the model in use
command-session = What is set here
command-session-show = Show what is set here, and where each value comes from
command-session-set = Change something here, in the channel or in the whole place
command-session-reset = Go back to inherited values
command-reset = Start a new conversation; the old one is kept
command-retry = Answer the last message again
command-undo = Take back the last message and its answer
command-continue = Go on with the last answer
command-stop = Stop the answer that is being written
command-status = How things stand here
command-help = What I am and what I can do
command-start = Say hello

## Commands: their options, at most 100 characters

option-keyword = Words to look for
option-page = Which page, from 1
option-persona = The persona, by name or id
option-model = The model, as provider/model
option-thinking = Reasoning before the answer
option-name = What to call this session in lists
option-key = A setting, such as timezone or activation
option-value = Its new value
option-for = For whom: here, the channel of this thread, or the whole place
option-command = A command to explain
option-payload = What a link may carry along; not needed

## Personas

persona-list = Personas ({ $count }). `/persona use NAME` lets one speak here.
persona-none-found = No persona goes with “{ $keyword }”. Close to it: { $near }. /persona shows all.
persona-unknown = I know no persona “{ $persona }”. Did you mean { $near }? /persona shows all.
persona-ambiguous = More than one persona is called “{ $persona }”. Please take one by its id: { $ids }.
persona-speaks = From now on **{ $persona }** speaks here.
persona-nobody = No persona speaks here: I answer plainly, as myself.
persona-none = nobody
persona-info-language = Language: { $value }
persona-info-tags = Tags: { $value }
persona-info-creator = By: { $value }
persona-info-version = Version: { $value }

## Models

model-list = Models ({ $count }). `/model use NAME` lets one answer here.
model-none-found = No model has “{ $keyword }” in its name. /model shows all.
model-unknown = I can't find the model “{ $model }”. Close to it: { $near }. /model shows all.
model-provider-unknown = No model server is called “{ $provider }”. There are: { $providers }.
model-answers = From now on **{ $model }** answers here.
model-info = **{ $model }** answers here ({ $source }).
model-info-window = It reads up to { $window } tokens at once.
model-info-abilities = It can: { $abilities }.
model-can-vision = see images
model-can-thinking = reason before it answers
model-can-tools = use tools
model-length = The model ran out of room before it said anything. /retry gives it another go.

## Sessions

source-session = this session
source-parent = the channel of this thread
source-place = the whole place
source-profile = this platform
source-card = the persona's card
source-default = default
session-named = Session **{ $name }**
session-unnamed = This session
session-model = Model: **{ $value }** ({ $source })
session-persona = Persona: **{ $value }** ({ $source })
session-thinking = Thinking: **{ $value }** ({ $source })
session-changed = Changed, what counts first:
session-set-session = Set for this session:
session-set-parent = Set for the channel of this thread:
session-set-place = Set for the whole place:
session-name-set = name = { $name }
session-name-gone = the name is gone
session-masked = `{ $key }` has another value here all the same: { $source } counts first.
session-reset-done = Inherited again. Here that now means:
session-set-nothing = Set what? For example `/session set -p luna -t on` or `/session set timezone Europe/Berlin`.
session-name-is-here = A name belongs to this one session; leave out --for, or the name.
session-value-missing = Please give `{ $key }` a value: `/session set { $key } VALUE`. To inherit it again: `/session reset { $key }`.
session-key-missing = Which setting is to be “{ $value }”? Please give a key, too.
session-key-unknown = There is no setting “{ $key }”. Close to it: { $near }.
session-value-choice = `{ $key }` can be { $choices }, but not “{ $value }”.
session-value-whole = `{ $key }` takes a whole number of at least { $low }, not “{ $value }”.
session-value-number = `{ $key }` takes a number of at least { $low }, not “{ $value }”.
session-value-between = `{ $key }` takes a number between { $low } and { $high }, not “{ $value }”.
session-value-zone = “{ $value }” is no time zone I know. Use a name of the IANA list, such as { $near }.
session-trigger-unsound = The trigger type { $type } does not go with the value { $value }: token_ratio takes 0 to 1, the others a whole number of at least 1. Set summary.trigger.type to auto, then the value, then the type.
session-budget = That leaves too little room for a prompt: { $window } − { $reserve } for the answer − { $margin } to be safe = { $budget } tokens, and { $least } are needed. Raise context_tokens, lower max_output_tokens, or take a larger model.

## The conversation

reset-done = A new page. The old conversation is kept, but I won't look back at it here.
undo-done = Taken back: neither the message nor the answer counts any more.
nothing-to-retry = There is nothing here that I could answer again.
nothing-to-undo = There is nothing here to take back.
nothing-to-continue = There is no answer here that I could go on with.
answer-is-running = I'm still answering. Wait for the end, or send /stop first.
answer-in-memory = That answer has moved into my memory by now. /memory undo brings it back from there.
answer-has-changed = Something has just changed here. Have a look, and try once more.
status-persona = **{ $persona }** speaks here.
status-nobody = No persona speaks here.
status-model = Model: { $model }
status-running = I'm answering right now; waiting after that: { $waiting }.
status-idle = Nothing is being answered.
status-answer-none = No answer yet in this conversation.
status-answer-sending = The last answer is on its way.
status-answer-sent = The last answer arrived.
status-answer-uncertain = I don't know whether the last answer arrived. /retry sends another.
status-answer-failed = The last answer did not come through. /retry tries again.
status-messages = Messages I have before me word for word: { $count }.

## Help

help-introduction = I'm a bot that lends its voice to a persona: here it is **{ $persona }**. I follow the conversation and remember it.
help-introduction-nobody = I'm a bot to talk to. I follow the conversation and remember it.
help-address-dm = Here you simply write to me.
help-address-mention = Mention me, reply to me or call me by name, and I answer. The rest I only listen to.
help-address-always = Here I answer every message.
help-address-keyword = Mention me, reply to me, call me by name, or use one of these words: { $keywords }.
help-address-random = Mention me, reply to me or call me by name; and now and then I join in unasked.
help-more = `/help COMMAND` tells how to write one.
help-unknown = I know no command “{ $command }”. Close to it: { $near }.
start-hello = Hello again! Just write to me. /help shows what else I can do.
