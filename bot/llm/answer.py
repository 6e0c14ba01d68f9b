"""Puts one answer together from the chunks of its stream, as odd as servers make them. Knows no HTTP and no SDK."""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping
from operator import attrgetter
from typing import Any

from bot.llm.model import Completion, Finish, ToolCall, Usage
from bot.llm.reasoning import ReasoningFilter

Json = Mapping[str, Any]

EXTRA_FIELD = "extra_content"
"""Where servers put beside a tool call what must come back with it, such as the signature of a thought."""

MOST_TOKENS, MOST_DOLLARS = 10**9, 10**4
"""Of one request; a server that tells more is wrong, and what it tells must fit into the ledger."""

REASONING_FIELDS = ("reasoning_content", "reasoning")
"""Where servers put reasoning that they split off themselves."""

# Every finish reason in use, in lower case: OpenAI's, Anthropic's, Gemini's, Cohere's, and those of local servers.
_FINISHES: Mapping[str, Finish] = {
    **dict.fromkeys(("stop", "end_turn", "stop_sequence", "eos", "eos_token", "complete", "done"), Finish.STOP),
    **dict.fromkeys(("length", "max_tokens", "model_length", "max_output_tokens"), Finish.LENGTH),
    **dict.fromkeys(("tool_calls", "tool_use", "function_call"), Finish.TOOL_CALLS),
    **dict.fromkeys(
        ("content_filter", "content_filtered", "safety", "prohibited_content", "recitation", "blocklist", "spii",
         "refusal", "sensitive", "error_toxic"),
        Finish.FILTERED,
    ),
}  # fmt: skip


class BrokenAnswer(Exception):
    """The server said in the middle of an answer that it failed, or sent something that is no chunk."""

    def __init__(self, body: object) -> None:
        self.body = body
        super().__init__(str(body))


class WebPage(BrokenAnswer):
    """A page for people came instead."""

    def __init__(self) -> None:
        super().__init__("a web page came instead of an answer, as from an address without its /v1")


class _Call:
    """One tool call whose parts are still coming in."""

    def __init__(self) -> None:
        self.id = ""
        self.name = ""
        self.arguments: list[str] = []
        self.extra: object = None


class Answer:
    """One answer while it comes in. `take` each chunk, then `end`, then ask for the `completion`."""

    def __init__(self, *, hold: bool = False) -> None:
        self.speech = ReasoningFilter(hold=hold)
        self.has_begun = False
        """Whether the model has produced anything: text, reasoning or a tool call."""
        self.reasoning_field: str | None = None
        self.finish: Finish | None = None
        self._thoughts: list[str] = []
        self._calls: list[_Call] = []
        self._by_index: dict[int, _Call] = {}
        self._usage: Usage | None = None
        self._refused = False
        self._half = ""
        """The first half of a character beyond 16 bits, whose second half is still to come."""

    def take(self, chunk: object) -> str:
        """Take one chunk (or a whole answer that was not streamed) and return the text that it makes visible.

        Raises:
            BrokenAnswer: it reports a fault (L21), or has not the shape of a chunk.
        """
        if not isinstance(chunk, Mapping):
            raise BrokenAnswer(f"a chunk that is no object: {str(chunk)[:80]}")
        if chunk.get("error") or chunk.get("object") == "error":
            raise BrokenAnswer(chunk.get("error") or chunk)
        try:
            choice = next(iter(chunk.get("choices") or ()), None) or {}
            self._count(chunk.get("usage") or choice.get("usage") or (chunk.get("x_groq") or {}).get("usage"))
            self._close(choice)
            delta = choice.get("delta")  # beside it, some repeat the whole message
            return self._hear((choice.get("message") if delta is None else delta) or {})
        except (AttributeError, TypeError, KeyError) as error:
            raise BrokenAnswer(f"a chunk of an unknown shape ({error})") from error

    def end(self) -> str:
        """The stream has ended: return the text that was still held."""
        return self.speech.flush()

    def completion(self, *, first_token_ms: int, total_ms: int) -> Completion:
        """The answer as a whole."""
        calls = self._finished_calls()
        return Completion(
            text=self.speech.text,
            finish=self._finish(bool(calls)),
            tool_calls=calls,
            reasoning="\n".join(filter(None, (sound("".join(self._thoughts)).strip(), self.speech.reasoning))),
            usage=self._usage,
            first_token_ms=first_token_ms,
            total_ms=total_ms,
            replaces_deltas=self.speech.retracted,
        )

    def _finished_calls(self) -> tuple[ToolCall, ...]:
        """All calls that have a name, each with an id of its own, which some servers leave to us (L11)."""
        calls: dict[str, ToolCall] = {}
        for call in filter(attrgetter("name"), self._calls):
            call_id = call.id if call.id and call.id not in calls else _new_id()
            extra = json.dumps(call.extra) if call.extra else ""
            calls[call_id] = ToolCall(id=call_id, name=call.name, arguments=sound("".join(call.arguments)), extra=extra)
        return tuple(calls.values())

    def _finish(self, has_calls: bool) -> Finish:
        if self._refused:
            return Finish.FILTERED
        if has_calls and self.finish in (None, Finish.STOP, Finish.INCOMPLETE):
            return Finish.TOOL_CALLS  # some servers end a tool call with "stop" (L11)
        return self.finish or Finish.INCOMPLETE

    def _close(self, choice: Json) -> None:
        if choice.get("error"):
            raise BrokenAnswer(choice["error"])
        reason = choice.get("finish_reason")
        if reason and isinstance(reason, str):  # "" means none (L22)
            kind = reason.lower().partition(":")[0]  # "content_filter: PROHIBITED_CONTENT"
            if kind == "error":
                raise BrokenAnswer("the server ended the answer with an error")
            self.finish = _FINISHES.get(kind, Finish.STOP)  # an unknown word is still a deliberate end

    def _hear(self, delta: Json) -> str:
        visible: list[str] = []
        for field in REASONING_FIELDS:
            if (thought := delta.get(field)) and isinstance(thought, str):
                self._think(thought, visible)
                self.reasoning_field = field
                break  # servers that fill both fields say the same in them
        content = delta.get("content")
        for kind, text in _parts(content):
            if kind == "thinking":
                self._think(text, visible)
            else:
                self.has_begun = True
                visible.append(self.speech.feed(self._whole_characters(text)))
        for call in delta.get("tool_calls") or ():
            self._call(call)
        self._refused |= bool(delta.get("refusal"))
        return "".join(visible)

    def _whole_characters(self, text: str) -> str:
        """Text without halves of characters: some servers escape an emoji as two halves and cut between them."""
        text = self._half + text
        is_half = "\ud800" <= text[-1] <= "\udbff"
        self._half, text = (text[-1], text[:-1]) if is_half else ("", text)
        return sound(text)

    def _think(self, thought: str, visible: list[str]) -> None:
        self.has_begun = True
        self._thoughts.append(thought)
        visible.append(self.speech.settle())

    def _call(self, delta: Json) -> None:
        """Join the parts of tool calls, also without index or id (L11)."""
        self.has_begun = True
        function = delta.get("function") or {}
        call = self._find_call(delta.get("index"), str(delta.get("id") or ""), str(function.get("name") or ""))
        call.id = call.id or str(delta.get("id") or "")
        call.name = call.name or str(function.get("name") or "")
        call.extra = delta.get(EXTRA_FIELD) or call.extra
        arguments = function.get("arguments")
        if arguments:
            call.arguments.append(arguments if isinstance(arguments, str) else json.dumps(arguments))

    def _find_call(self, index: object, call_id: str, name: str) -> _Call:
        """The call that a part belongs to: by its index, else by its id, else the last one; or a new one."""
        if isinstance(index, int):
            call, name = self._by_index.get(index), ""
        else:
            last = self._calls[-1] if self._calls else None
            call = next((one for one in self._calls if call_id and one.id == call_id), last)
        if call is None or (call_id != call.id if call_id and call.id else name and call.name):
            call = _Call()
            self._calls.append(call)
        if isinstance(index, int):
            self._by_index[index] = call
        return call

    def _count(self, usage: object) -> None:
        if isinstance(usage, Mapping):
            prompt, output = usage.get("prompt_tokens_details"), usage.get("completion_tokens_details")
            cost = _cost(usage.get("cost"))
            self._usage = Usage(
                cost=cost,
                currency=None if cost is None else "USD",
                input_tokens=_tokens(usage, "prompt_tokens"),
                cached_tokens=_tokens(prompt, "cached_tokens") or _tokens(usage, "prompt_cache_hit_tokens"),
                output_tokens=_tokens(usage, "completion_tokens"),
                reasoning_tokens=_tokens(output, "reasoning_tokens"),
            )


def sound(text: str) -> str:
    """A text that every store takes: halves of characters joined, those without their other half replaced."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def _new_id() -> str:
    # Nine letters and digits are an id for every server that is known.
    return secrets.token_hex(5)[:9]


def _parts(content: object) -> list[tuple[str, str]]:
    """Kind and text of each part; Mistral streams lists in which thinking is a list again."""
    if isinstance(content, str):
        return [("text", content)] if content else []
    parts = []
    for part in content if isinstance(content, list) else ():
        kind = "thinking" if part.get("type") == "thinking" else "text"
        inner = part.get(kind)
        texts = inner if isinstance(inner, list) else [{"text": inner}]
        parts += [(kind, piece["text"]) for piece in texts if piece.get("text")]
    return parts


def _tokens(counts: object, key: str) -> int:
    value = counts.get(key) if isinstance(counts, Mapping) else None
    return int(min(max(0, value), MOST_TOKENS)) if isinstance(value, int | float) else 0


def _cost(told: object) -> int | None:
    """Billionths of a dollar. OpenRouter tells with every answer what it has charged, in credits of a dollar each
    (openrouter.ai/docs/use-cases/usage-accounting); others tell nothing.
    """
    if not isinstance(told, int | float) or not 0 <= told <= MOST_DOLLARS:
        return None
    return round(told * 1e9)
