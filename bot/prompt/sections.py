"""The pieces of a prompt that are not history, from stable to volatile. What a newcomer edits to change prompt text.

A section is `async def section(turn) -> str | None`. STABLE ones make the system message, which must not change from
turn to turn or the provider's prefix cache is lost; LEAD and TAIL ones stand around the last thing said, never stored.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from enum import StrEnum

from bot.prompt.due import write_due
from bot.prompt.elapsed import write_gap
from bot.prompt.expansion import expand_prefix, expand_tail, write_passing
from bot.prompt.lines import is_own_reply
from bot.prompt.lore import (
    depth_note_section,
    last_note_section,
    lore_after_section,
    lore_before_section,
    lore_examples_section,
    lore_last_section,
    lore_near_section,
    lore_personality_section,
    lore_section,
)
from bot.prompt.mood import write_mood_note
from bot.store.tables import MessageKind
from bot.turn import Turn

INPUT_CONVENTION_DM = """\
You are in a private chat. Lines in square brackets, such as [image cat.png] or [replying to Ann: ...], are notes that \
the chat adds about a message; never write such notes yourself. Answer in the language of the person who writes."""

OTHER_PERSONA_DM = """\
Lines that begin with a name and a colon were said by another persona, who spoke here before you; your own have no \
name."""

INPUT_CONVENTION_GROUP = """\
Several people talk here. Each of their messages begins with the speaker's name and a colon; your own do not. Lines in \
square brackets, such as [image cat.png] or [replying to Ann: ...], are notes that the chat adds about a message. \
Write only what you say yourself: no name before it, no such notes, and never lines for anyone else. Answer the person \
who spoke last, in that person's language."""

UNSEEN_NOTE = """\
You see no pictures and hear no recordings: of each you know what its note tells, and no more."""

CAST_NOTE = """\
Others speak here as you do, each for itself; what they say begins with their names. You may speak to them by name:"""

CONTINUE_NOTE = "[Go on from where your last message ended. Do not repeat it.]"

_EXAMPLE_MARK = re.compile("<START>", re.IGNORECASE)


class Slot(StrEnum):
    """Where a section stands."""

    STABLE = "stable"
    LEAD = "lead"
    """Before the last thing said."""
    TAIL = "tail"
    """Behind it."""


class Hold(StrEnum):
    """How firmly a section stands where room is short."""

    FIRM = "firm"
    """It always goes with a request."""
    EXAMPLE = "example"
    """It goes before any message does, and stays away until the next compaction."""
    INJECTED = "injected"
    """It was brought in for this turn (lore, recall, an extension's text): it shrinks first, and goes last of all."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Section:
    """One piece of the prompt and where it stands; sections of a slot keep the order of `SECTIONS`."""

    name: str
    slot: Slot
    build: Callable[[Turn], Awaitable[str | None]]
    hold: Hold = Hold.FIRM
    budget: int | None = None
    """Tokens at most; what is longer is cut in its middle."""
    is_timed: bool = True
    """Whether it is to be held to `SECTION_TIMEOUT_MS`; one of an extension keeps to that by itself."""


async def card_section(turn: Turn) -> str | None:
    """How the card opens: with its name and what it says about the answers."""
    if turn.persona is None:
        return None
    return _pieces(turn, f"You are {turn.persona_name}.", turn.persona.card.system_prompt)


async def character_section(turn: Turn) -> str | None:
    """Who the persona is."""
    if turn.persona is None:
        return None
    return _pieces(turn, turn.persona.card.description, turn.persona.card.personality)


async def scenario_section(turn: Turn) -> str | None:
    """Where the persona is."""
    return _pieces(turn, turn.persona.card.scenario) if turn.persona else None


def _pieces(turn: Turn, *pieces: str) -> str | None:
    return expand_prefix("\n\n".join(filter(None, pieces)), turn) or None


async def examples_section(turn: Turn) -> str | None:
    """How the persona talks, by examples."""
    said = turn.persona.card.example_messages if turn.persona else ""
    examples = _EXAMPLE_MARK.sub("", said).strip()
    return expand_prefix(f"Examples of how you talk:\n{examples}", turn) if examples else None


async def rules_section(turn: Turn) -> str | None:
    """The operator's or the place's own behaviour rules (`SYSTEM_PROMPT`), which no card can leave out: one whose
    `system_prompt` says `{{original}}` has them there, unless it says so where nobody reads it, as in a remark.
    """
    rules = turn.settings.values.system_prompt
    return rules if rules and rules not in (await card_section(turn) or "") else None


async def input_convention_section(turn: Turn) -> str | None:
    """How speakers, replies and attachments are written in the history."""
    is_shared = any(row.kind is MessageKind.REPLY and not is_own_reply(row, turn) for row in turn.history)
    pieces = (
        INPUT_CONVENTION_GROUP if turn.is_group else INPUT_CONVENTION_DM,
        OTHER_PERSONA_DM if is_shared and not turn.is_group else "",
        "" if turn.limits.vision else UNSEEN_NOTE,
    )
    return " ".join(filter(None, pieces))


async def cast_section(turn: Turn) -> str | None:
    """Which other personas speak here, each in a line."""
    if not turn.peers:
        return None
    lines = (f"- {peer.name}: {peer.profile}" if peer.profile else f"- {peer.name}" for peer in turn.peers)
    return "\n".join((CAST_NOTE, *lines))


async def memory_section(turn: Turn) -> str | None:
    """What the persona remembers; it changes only when something is folded into it, or by somebody's word."""
    return turn.memory.text or None


async def elapsed_section(turn: Turn) -> str | None:
    """How long nobody has said anything, where that is long (S15)."""
    return write_gap(turn)


async def passing_section(turn: Turn) -> str | None:
    """The time and what else passes, where the card asks for it: the system message can only name it."""
    return write_passing(turn)


async def mood_section(turn: Turn) -> str | None:
    """How the persona feels, where its card keeps that; it changes from turn to turn."""
    return write_mood_note(turn)


async def due_section(turn: Turn) -> str | None:
    """What is due and still open, so that it comes back."""
    return write_due(turn)


async def post_history_section(turn: Turn) -> str | None:
    """The card's last word before the answer; volatile, so it may name the person addressed."""
    if turn.persona is None or not turn.persona.card.post_history_instructions:
        return None
    return expand_tail(turn.persona.card.post_history_instructions, turn)


async def continue_section(turn: Turn) -> str | None:
    """What /continue asks for."""
    return CONTINUE_NOTE if turn.continues else None


SECTIONS: tuple[Section, ...] = (
    Section(name="persona", slot=Slot.STABLE, build=card_section),
    Section(name="lore_before", slot=Slot.STABLE, build=lore_before_section),
    Section(name="character", slot=Slot.STABLE, build=character_section),
    Section(name="lore_personality", slot=Slot.STABLE, build=lore_personality_section),
    Section(name="scenario", slot=Slot.STABLE, build=scenario_section),
    Section(name="lore_after", slot=Slot.STABLE, build=lore_after_section),
    Section(name="examples", slot=Slot.STABLE, build=examples_section, hold=Hold.EXAMPLE),
    Section(name="lore_examples", slot=Slot.STABLE, build=lore_examples_section),
    Section(name="rules", slot=Slot.STABLE, build=rules_section),
    Section(name="platform", slot=Slot.STABLE, build=input_convention_section),
    Section(name="cast", slot=Slot.STABLE, build=cast_section),
    Section(name="memory", slot=Slot.STABLE, build=memory_section),
    Section(name="lore", slot=Slot.LEAD, build=lore_section, hold=Hold.INJECTED),
    Section(name="depth_note", slot=Slot.LEAD, build=depth_note_section),
    Section(name="lore_near", slot=Slot.LEAD, build=lore_near_section, hold=Hold.INJECTED),
    Section(name="lore_last", slot=Slot.TAIL, build=lore_last_section, hold=Hold.INJECTED),
    Section(name="elapsed", slot=Slot.TAIL, build=elapsed_section),
    Section(name="passing", slot=Slot.TAIL, build=passing_section),
    Section(name="mood", slot=Slot.TAIL, build=mood_section),
    Section(name="due", slot=Slot.TAIL, build=due_section),
    Section(name="last_note", slot=Slot.TAIL, build=last_note_section),
    Section(name="post_history", slot=Slot.TAIL, build=post_history_section),
    Section(name="continue", slot=Slot.TAIL, build=continue_section),
)
