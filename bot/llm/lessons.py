"""What a refusal teaches: how servers say, in their words, that they do not take a part of a request.

Data and pure functions; what is remembered of it is the business of `bot.llm.quirks`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from bot.llm.answer import EXTRA_FIELD
from bot.llm.quirks import Quirk
from bot.llm.refusals import Refusal

Body = Mapping[str, Any]
"""The JSON body of a chat completion request."""


@dataclass(frozen=True, kw_only=True, slots=True)
class _Rule:
    """A refusal that names one of `keys`, or says `words`, means `quirk` if the request had what it is about."""

    quirk: Quirk
    sent: Callable[[Body], bool]
    keys: tuple[str, ...] = ()
    words: str = r"(?!)"

    def explains(self, refusal: Refusal, body: Body) -> bool:
        if not self.sent(body):
            return False
        named = any(_names(refusal, key) for key in self.keys)
        return named or re.search(self.words, refusal.text, re.IGNORECASE | re.DOTALL) is not None


def quirk_for(refusal: Refusal, body: Body) -> Quirk | None:
    """What to do differently so that the request passes; `None` when the refusal is about something else.

    A rule speaks only while the body still contains what it would take away, so each quirk is proposed once.
    """
    if refusal.status in _NOT_ABOUT_FORM:
        return None
    for rule in _RULES:
        if rule.explains(refusal, body):
            return rule.quirk
    if any(_names(refusal, key) for key in body if key not in API_KEYS):
        return Quirk.NO_EXTRAS
    return None


def guess_for(refusal: Refusal, body: Body) -> Quirk | None:
    """What to try when a server fails again without a word: some do so for the system role (L07)."""
    return Quirk.NO_SYSTEM if refusal.is_wordless and _has_system(body) else None


SAMPLING = frozenset(
    ("temperature", "top_p", "presence_penalty", "frequency_penalty", "logit_bias", "logprobs", "top_logprobs", "seed")
)
"""Sampling parameters of the API; models that reason take defaults only, all together (L02)."""

THINKING = frozenset(("reasoning_effort", "chat_template_kwargs", "enable_thinking", "think", "thinking", "reasoning"))
"""Every parameter in use that switches reasoning."""

PLAIN_CALL_ID = re.compile(r"[a-zA-Z0-9]{9}")

API_KEYS = SAMPLING | THINKING | frozenset(
    ("model", "messages", "stream", "stream_options", "max_tokens", "max_completion_tokens", "stop", "tools",
     "tool_choice", "parallel_tool_calls", "response_format")
)  # fmt: skip

# Key, rate, money and size are not cured by another form of the request.
_NOT_ABOUT_FORM = frozenset((401, 402, 403, 408, 409, 413, 429, 502, 503, 504, 529))

_REFUSED_CODES = frozenset(("unsupported_parameter", "unsupported_value", "unknown_parameter", "extra_forbidden"))
_REFUSED = re.compile(
    r"unsupport|(?:not|n't) (?:be )?(?:support|permit|allow|set|used|specified|available|enabled|implement)|unknown|"
    r"unrecogni[sz]ed|forbidden|unexpected|invalid|only the default|deprecated|incompatible|unavailable|no longer|"
    r"cannot both",
    re.IGNORECASE,
)

# Words that ordinary sentences use too count only where a parameter is meant: quoted, or after "parameter".
_ORDINARY = frozenset(("stop", "name", "tools", "think", "thinking", "reasoning", "seed", "stream"))


def _names(refusal: Refusal, key: str) -> bool:
    """Whether the refusal says that this parameter is not taken."""
    if _REFUSED_CODES.isdisjoint(refusal.codes) and not _REFUSED.search(refusal.message):
        return False
    if key in refusal.path or not API_KEYS.isdisjoint(refusal.path):
        return key in refusal.path
    word = re.escape(key)
    if key in _ORDINARY:
        word = rf"(?:['\"`‘]{word}['\"`’]|(?:parameters?|argument supplied|property|field):? {word}\b|^{word}:)"
    return re.search(rf"(?<![\w-]){word}(?!\w)", refusal.message) is not None


def _has(*keys: str) -> Callable[[Body], bool]:
    return lambda body: any(key in body for key in keys)


def _message_has(*keys: str) -> Callable[[Body], bool]:
    return lambda body: any(key in message for message in body["messages"] for key in keys)


def _has_format(kind: str) -> Callable[[Body], bool]:
    return lambda body: body.get("response_format", {}).get("type") == kind


def _has_lengths(body: Body) -> bool:
    return _has_format("json_schema")(body) and '"maxLength"' in json.dumps(body["response_format"])


def _has_system(body: Body) -> bool:
    return any(message["role"] == "system" for message in body["messages"])


def _has_images(body: Body) -> bool:
    return any(isinstance(message.get("content"), list) for message in body["messages"])


def _has_several_images(body: Body) -> bool:
    contents = [message["content"] for message in body["messages"] if isinstance(message.get("content"), list)]
    return len([part for content in contents for part in content if "image_url" in part]) > 1


def _has_bare_tool_rounds(body: Body) -> bool:
    rounds = [message for message in body["messages"] if message.get("tool_calls")]
    return not all(
        one.get("reasoning_content") or one.get("reasoning") or any(EXTRA_FIELD in call for call in one["tool_calls"])
        for one in rounds
    )


def _has_odd_call_ids(body: Body) -> bool:
    calls = [call for message in body["messages"] for call in message.get("tool_calls", ())]
    return not all(PLAIN_CALL_ID.fullmatch(call["id"]) for call in calls)


def _thinks_with_tools(body: Body) -> bool:
    return "tools" in body and body.get("reasoning_effort") != "none"


def _alternates_not(body: Body) -> bool:
    roles = [message["role"] for message in body["messages"]]
    rest = roles[1:] if roles[:1] == ["system"] else roles
    repeats = any(one == other != "tool" or (one, other) == ("tool", "user") for one, other in pairwise(rest))
    return repeats or "system" in rest or rest[:1] == ["assistant"]


# How servers refuse, in their words; the first rule that fits speaks. Sources: the issue trackers of the servers.
_RULES = (
    _Rule(quirk=Quirk.ALTERNATING, sent=_alternates_not, words=r"alternat|system message must be (?:at the|first)|"
          r"(?:first|last) message must|first message to be|roles? .{0,20}in a row|successive|unexpected role"),
    _Rule(quirk=Quirk.NO_SYSTEM, sent=_has_system,
          words=r"system\W{1,2}(?:role|prompt|message|instruction)s?.{0,20}(?:not|n't|unsupported)|"
          r"(?:not|n't) support (?:an? |the )?\W?system|role\W{1,4}system\b|invalid value: \W?system\b|"
          r"developer instruction is not|only user(?:,| and) assistant(?: and tool)? roles|alternat"),
    _Rule(quirk=Quirk.ONE_IMAGE, sent=_has_several_images, words=r"at most [1-9]\d* image|too many images|"
          r"(?:multiple|several|more than one|more than 1) image|(?:only|exactly) (?:one|1|a single) image"),
    _Rule(quirk=Quirk.NO_IMAGES, sent=_has_images, keys=("image_url",), words=r"image.{0,40}(?:not|n't|un).?support|"
          r"support (?:image|vision)|image input|multimodal|mmproj|at most 0 image|content must be a string|image_url"),
    _Rule(quirk=Quirk.NO_BARE_TOOL_ROUNDS, sent=_has_bare_tool_rounds, words=r"reasoning_content.{0,60}passed back|"
          r"reasoning_content is (?:missing|required)|missing.{0,30}(?:reasoning_content|thought_?signature)"),
    _Rule(quirk=Quirk.PLAIN_CALL_IDS, sent=_has_odd_call_ids, words=r"tool call id.{0,80}length of 9"),
    _Rule(quirk=Quirk.NO_THINKING_WITH_TOOLS, sent=_thinks_with_tools,
          words=r"tools? with .?reasoning_effort"),
    _Rule(quirk=Quirk.NO_TOOLS, sent=_has("tools"), keys=("tools", "tool_choice"), words=r"support (?:tool|function)|"
          r"tools? .{0,40}(?:requires?|not supported)|function calling is not"),
    _Rule(quirk=Quirk.NO_THINKING, sent=_has(*THINKING), keys=tuple(THINKING),
          words=r"(?:not|n't) support (?:thinking|reasoning)|(?:thinking|reasoning).{0,20}not (?:supported|enabled)|"
          r"reasoning is mandatory"),
    _Rule(quirk=Quirk.MAX_COMPLETION_TOKENS, sent=_has("max_tokens"), keys=("max_tokens",)),
    _Rule(quirk=Quirk.NO_SAMPLING, sent=_has(*SAMPLING), keys=tuple(SAMPLING)),
    _Rule(quirk=Quirk.NO_STOP, sent=_has("stop"), keys=("stop",), words=r"stop (?:sequence|word)s?.{0,30}not|"
          r"(?:not|n't) support stop"),
    _Rule(quirk=Quirk.NO_STREAM, sent=_has("stream"), keys=("stream",), words=r"verified to stream|"
          r"(?:not|n't) support streaming|streaming is not"),
    _Rule(quirk=Quirk.NO_STREAM_OPTIONS, sent=_has("stream_options"), keys=("stream_options", "include_usage")),
    _Rule(quirk=Quirk.NO_LENGTHS, sent=_has_lengths,
          words=r"m(?:ax|in)length.{0,40}(?:not|un).?(?:permit|support|allow)"),
    _Rule(quirk=Quirk.NO_JSON_SCHEMA, sent=_has_format("json_schema"), keys=("response_format", "json_schema"),
          words=r"response.?format|structured output|json.?schema"),
    _Rule(quirk=Quirk.NO_JSON_OBJECT, sent=_has_format("json_object"), keys=("response_format", "json_object"),
          words=r"response.?format|json.?(?:object|mode)"),
    _Rule(quirk=Quirk.NO_NAME, sent=_message_has("name"), keys=("name",)),
    _Rule(quirk=Quirk.NO_REASONING_REPLAY, sent=_message_has("reasoning_content", "reasoning"),
          keys=("reasoning_content", "reasoning")),
)  # fmt: skip
