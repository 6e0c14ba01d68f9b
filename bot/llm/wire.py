"""Shapes a request into the JSON body of a chat completion, as far as the model's quirks allow. Pure, sends nothing."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from hashlib import blake2s
from itertools import takewhile
from typing import Any

from bot.llm.answer import EXTRA_FIELD
from bot.llm.lessons import API_KEYS, PLAIN_CALL_ID, SAMPLING
from bot.llm.model import ModelMessage, ModelRequest, Role, ToolCall, ToolSpec
from bot.llm.quirks import Quirk, ThinkingStyle

NAME_PATTERN = re.compile(r"[a-zA-Z0-9_-]{1,64}")
"""What the API takes as the name of a message (L17)."""

MOST_STOPS = 4
"""Stop sequences that the API takes."""

IMAGE_NOTE = "[an image that you cannot see]"
OPENING_NOTE = "(The conversation begins.)"
"""Stands before a greeting where a user must speak first."""
SILENCE = "…"
"""Stands for an answer that never came, where one must follow the results of tools."""

NO_EFFORT = "none"
"""What switches reasoning off where efforts are told and this one is known."""

SCHEMA_NOTE = "Answer with one JSON object and nothing else. It must fit this JSON schema: "


# What is sent for on and off. An effort for "off" is not known to all models that take one.
_THINKING: Mapping[ThinkingStyle, tuple[Any, Any]] = {
    ThinkingStyle.EFFORT: ("medium", None),
    ThinkingStyle.TEMPLATE: ({"enable_thinking": True}, {"enable_thinking": False}),
    ThinkingStyle.ENABLE: (True, False),
    ThinkingStyle.THINK: (True, False),
    ThinkingStyle.TYPE: ({"type": "enabled"}, {"type": "disabled"}),
    ThinkingStyle.REASONING: ({"enabled": True}, {"enabled": False}),
}


def chat_body(
    request: ModelRequest,
    model: str,
    quirks: frozenset[Quirk],
    *,
    output_limit: int,
    style: ThinkingStyle | None = None,
    can_stop_thinking: bool = False,
    replay_field: str | None = None,
) -> dict[str, Any]:
    """The JSON body of one call; `model` is the server's name of it.

    `style` is how this server switches reasoning; `None` = not known, then nothing is sent for "off", and neither is an
    effort unless `can_stop_thinking`. `replay_field` is where this server wants its reasoning back; `None` = it never
    gave any (L19).
    """
    limit_key = "max_completion_tokens" if Quirk.MAX_COMPLETION_TOKENS in quirks else "max_tokens"
    body = _parameters(request, quirks) | {
        "model": model,
        "messages": _messages(request, quirks, replay_field),
        limit_key: output_limit,
    }
    if Quirk.NO_STREAM not in quirks:
        body["stream"] = True
    if not {Quirk.NO_STREAM, Quirk.NO_STREAM_OPTIONS} & quirks:
        body["stream_options"] = {"include_usage": True}
    if request.tools and Quirk.NO_TOOLS not in quirks:
        body["tools"] = [_tool(spec) for spec in request.tools]
    if request.stop and Quirk.NO_STOP not in quirks:
        body["stop"] = list(request.stop[:MOST_STOPS])
    if request.json_schema is not None and Quirk.NO_JSON_OBJECT not in quirks:
        body["response_format"] = _response_format(request.json_schema, quirks)
    if Quirk.NO_THINKING not in quirks:
        on, off = _THINKING[style or ThinkingStyle.EFFORT]
        off = NO_EFFORT if can_stop_thinking and style is ThinkingStyle.EFFORT else off
        switch = on if request.thinking else off if style else None
        if "tools" in body and Quirk.NO_THINKING_WITH_TOOLS in quirks:
            switch = off or NO_EFFORT
        if switch is not None:
            body[style or ThinkingStyle.EFFORT] = switch
    return body


def _parameters(request: ModelRequest, quirks: frozenset[Quirk]) -> dict[str, Any]:
    return {
        key: value
        for key, value in request.parameters.items()
        if key not in ("max_tokens", "max_completion_tokens")
        and not (Quirk.NO_SAMPLING in quirks and key in SAMPLING)
        and not (Quirk.NO_EXTRAS in quirks and key not in API_KEYS)
    }


def _tool(spec: ToolSpec) -> dict[str, Any]:
    function = {"name": spec.name, "description": spec.description, "parameters": dict(spec.parameters)}
    return {"type": "function", "function": function}


def _response_format(schema: Mapping[str, Any], quirks: frozenset[Quirk]) -> dict[str, Any]:
    if Quirk.NO_JSON_SCHEMA in quirks:
        return {"type": "json_object"}
    sent = _without_lengths(schema) if Quirk.NO_LENGTHS in quirks else dict(schema)
    return {"type": "json_schema", "json_schema": {"name": "answer", "strict": True, "schema": sent}}


def _without_lengths(part: Any) -> Any:
    """A schema whose strings are not bounded; a property of that name would go, too, and no schema of ours has one."""
    if isinstance(part, Mapping):
        return {key: _without_lengths(value) for key, value in part.items() if key not in ("minLength", "maxLength")}
    return [*map(_without_lengths, part)] if isinstance(part, list) else part


def _messages(request: ModelRequest, quirks: frozenset[Quirk], replay_field: str | None) -> list[dict[str, Any]]:
    messages = _with_own_thoughts(_with_reasoning_of_this_turn(request.messages), request.model)
    replays = replay_field if Quirk.NO_REASONING_REPLAY not in quirks else None
    if request.json_schema is not None and {Quirk.NO_JSON_SCHEMA, Quirk.NO_JSON_OBJECT} & quirks:
        note = SCHEMA_NOTE + json.dumps(request.json_schema, ensure_ascii=False)
        messages.append(ModelMessage(role=Role.USER, text=note))
    if Quirk.NO_TOOLS in quirks:
        messages = without_tools(messages)
    if Quirk.NO_BARE_TOOL_ROUNDS in quirks:
        messages = _without_bare_tool_rounds(messages, replays)
    if Quirk.NO_SYSTEM in quirks:
        messages = _without_system(messages)
    if Quirk.ALTERNATING in quirks:
        messages = _alternating(messages)
    if Quirk.ONE_IMAGE in quirks:
        messages = _with_one_image(messages)
    return [_message(message, quirks, replays) for message in messages]


def _with_reasoning_of_this_turn(messages: Sequence[ModelMessage]) -> list[ModelMessage]:
    """Reasoning goes back within its own turn only, which is what stands after the last words of a person (L19)."""
    start = max((place for place, one in enumerate(messages) if one.role is Role.USER), default=0)
    return [
        replace(one, reasoning=None) if place < start and one.reasoning is not None else one
        for place, one in enumerate(messages)
    ]


def _with_own_thoughts(messages: Iterable[ModelMessage], model: str) -> list[ModelMessage]:
    """What one model thought goes to no other: its server might refuse a field that it does not know."""
    return [
        replace(one, reasoning=None, tool_calls=tuple(replace(call, extra="") for call in one.tool_calls))
        if any(call.by not in ("", model) for call in one.tool_calls)
        else one
        for one in messages
    ]


def _message(message: ModelMessage, quirks: frozenset[Quirk], replay_field: str | None) -> dict[str, Any]:
    """Only the keys that the API knows (L25)."""
    entry: dict[str, Any] = {"role": message.role.value, "content": _content(message, quirks)}
    # The name of a tool beside its result is needed by some servers and refused by none that is known.
    is_named = message.role in (Role.USER, Role.TOOL) and NAME_PATTERN.fullmatch(message.name or "")
    if is_named and Quirk.NO_NAME not in quirks:
        entry["name"] = message.name
    if message.tool_call_id is not None:
        entry["tool_call_id"] = _call_id(message.tool_call_id, quirks)
    if message.tool_calls:
        entry["tool_calls"] = [_tool_call(call, quirks) for call in message.tool_calls]
        if replay_field and message.reasoning:
            entry[replay_field] = message.reasoning
    return entry


def _tool_call(call: ToolCall, quirks: frozenset[Quirk]) -> dict[str, Any]:
    function = {"name": call.name, "arguments": _arguments(call)}
    entry = {"id": _call_id(call.id, quirks), "type": "function", "function": function}
    return {**entry, EXTRA_FIELD: json.loads(call.extra)} if call.extra else entry


def _call_id(call_id: str, quirks: frozenset[Quirk]) -> str:
    """The same for a call and its result, in every request."""
    if Quirk.PLAIN_CALL_IDS not in quirks or PLAIN_CALL_ID.fullmatch(call_id):
        return call_id
    return blake2s(call_id.encode()).hexdigest()[:9]


def _arguments(call: ToolCall) -> str:
    """Arguments as servers take them back: many parse them again, and refuse a whole request for broken ones (L10)."""
    try:
        return call.arguments if isinstance(json.loads(call.arguments), dict) else "{}"
    except (ValueError, RecursionError):
        return "{}"


def _content(message: ModelMessage, quirks: frozenset[Quirk]) -> str | list[dict[str, Any]] | None:
    if message.images and Quirk.NO_IMAGES not in quirks:
        pictures = [
            f"data:{image.media_type};base64,{base64.b64encode(image.data).decode()}" for image in message.images
        ]
        text = [{"type": "text", "text": message.text}] if message.text else []
        return [*text, *({"type": "image_url", "image_url": {"url": picture}} for picture in pictures)]
    text_only = _in_words(message)
    # An empty text beside tool calls is refused by some servers, a missing one by none that is known.
    return text_only if text_only or not message.tool_calls else None


def without_images(messages: Iterable[ModelMessage]) -> tuple[ModelMessage, ...]:
    """In place of each image stands a note: the model takes none."""
    return tuple(replace(one, text=_in_words(one), images=()) if one.images else one for one in messages)


def _in_words(message: ModelMessage) -> str:
    return "\n".join(filter(None, (message.text, *(IMAGE_NOTE for _ in message.images))))


def _with_one_image(messages: Sequence[ModelMessage]) -> list[ModelMessage]:
    """Only the newest image is sent; in place of each other one stands a note."""
    newest = max((place for place, one in enumerate(messages) if one.images), default=None)
    shown = []
    for place, message in enumerate(messages):
        kept = message.images[-1:] if place == newest else ()
        notes = [IMAGE_NOTE] * (len(message.images) - len(kept))
        shown.append(replace(message, text="\n".join(filter(None, (message.text, *notes))), images=kept))
    return shown


def without_tools(messages: Iterable[ModelMessage]) -> list[ModelMessage]:
    """Calls are left out, results become notes: a server without tools refuses both forms."""
    plain = []
    for message in messages:
        if message.role is Role.TOOL:
            plain.append(ModelMessage(role=Role.USER, text=f"[result of {message.name or 'a tool'}: {message.text}]"))
        elif message.text or not message.tool_calls:
            plain.append(replace(message, tool_calls=(), reasoning=None))
    return plain


def _without_bare_tool_rounds(messages: Iterable[ModelMessage], replay_field: str | None) -> list[ModelMessage]:
    """Tool rounds that cannot be sent with the reasoning that led to them become text (L27)."""
    plain: list[ModelMessage] = []
    is_bare = False
    for message in messages:
        if message.tool_calls:
            is_bare = not (message.reasoning and replay_field) and not any(call.extra for call in message.tool_calls)
        is_round = message.role is Role.TOOL or bool(message.tool_calls)
        plain += without_tools([message]) if is_round and is_bare else [message]
    return plain


def _without_system(messages: list[ModelMessage]) -> list[ModelMessage]:
    """The leading system text goes before the first user text; a later one is said by the user."""
    leading = list(takewhile(lambda message: message.role is Role.SYSTEM, messages))
    rest = [replace(one, role=Role.USER) if one.role is Role.SYSTEM else one for one in messages[len(leading) :]]
    if not leading:
        return rest
    system = ModelMessage(role=Role.USER, text="\n\n".join(message.text for message in leading))
    if rest and rest[0].role is Role.USER:
        return [_merged(system, rest[0]), *rest[1:]]
    return [system, *rest]


def _alternating(messages: Iterable[ModelMessage]) -> list[ModelMessage]:
    """One system message at most, the user first, and no role twice in a row; tool rounds stay as they are."""
    turns: list[ModelMessage] = []
    for message in messages:
        only_system_before = all(one.role is Role.SYSTEM for one in turns)
        if message.role is Role.SYSTEM and not only_system_before:
            message = replace(message, role=Role.USER)  # noqa: PLW2901 -- the same message in another role
        if message.role is Role.ASSISTANT and only_system_before:
            turns.append(ModelMessage(role=Role.USER, text=OPENING_NOTE))
        if message.role is Role.USER and turns and turns[-1].role is Role.TOOL:
            turns.append(ModelMessage(role=Role.ASSISTANT, text=SILENCE))
        if turns and turns[-1].role is message.role is not Role.TOOL and not turns[-1].tool_calls:
            turns[-1] = _merged(turns[-1], message)
        else:
            turns.append(message)
    return turns


def _merged(first: ModelMessage, second: ModelMessage) -> ModelMessage:
    texts = filter(None, (_signed(first), _signed(second)))
    return replace(second, text="\n\n".join(texts), images=first.images + second.images, name=None)


def _signed(message: ModelMessage) -> str:
    """The text with its speaker's name, which a merged message could not carry otherwise (L06)."""
    if not message.name or message.text.startswith(message.name):
        return message.text
    return f"{message.name}: {message.text}"
