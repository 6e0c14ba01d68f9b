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
stopped-mark = *(stopped here)*
nothing-to-stop = Nothing is being answered here right now.

## Who may do what

access-refused = Sorry, I'm not open to you here. That is up to the person who runs me.
command-needs-rights = Only people who manage this channel can change that.
access-not-yours = Only the person who asked, or an administrator, can do that.
