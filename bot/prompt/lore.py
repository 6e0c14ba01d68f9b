"""Writes the lore that joins a turn, and the card's note at a depth, for the places of the prompt. Pure.

What is always there stands in the prefix, where its book wants it. All else stands around the last thing said: what
belongs to a depth cannot stand there without moving with every message.
"""

from __future__ import annotations

from collections.abc import Iterable

from bot.personas.card import DepthPrompt
from bot.personas.lorebook.activation import ActiveEntry
from bot.personas.lorebook.choices import LoreRole, Slot
from bot.prompt.expansion import expand_tail
from bot.turn import Turn

PREFILL_NOTE = "[Begin your answer with these words: {text}]"
"""A server that goes on from an answer's beginning is a rare one, so that the model is asked to."""

BESIDE = "\n\n"


async def lore_before_section(turn: Turn) -> str | None:
    """What is always there before the card's description."""
    return _steady(turn, Slot.BEFORE_CHAR)


async def lore_personality_section(turn: Turn) -> str | None:
    """What is always there beside the personality."""
    return _steady(turn, Slot.PERSONALITY)


async def lore_after_section(turn: Turn) -> str | None:
    """What is always there behind the card, before its examples."""
    return _steady(turn, Slot.SCENARIO, Slot.AFTER_CHAR, Slot.BEFORE_EXAMPLES)


async def lore_examples_section(turn: Turn) -> str | None:
    """What is always there behind the examples."""
    return _steady(turn, Slot.AFTER_EXAMPLES)


def _steady(turn: Turn, *slots: Slot) -> str | None:
    """Slot by slot, in each as the books order them."""
    return _written(turn, (entry for slot in slots for entry in turn.lore.entries if _is_steady_in(entry, slot)))


def _is_steady_in(entry: ActiveEntry, slot: Slot) -> bool:
    return entry.is_steady and entry.slot is slot


async def lore_section(turn: Turn) -> str | None:
    """What was mentioned, in the order of its places in the prompt, then what belongs to a depth, the deepest first,
    down to the card's own note.
    """
    mentioned = [entry for entry in turn.lore.entries if not entry.is_steady and entry.slot is not Slot.DEPTH]
    mentioned.sort(key=lambda entry: PLACES.index(entry.slot))
    deep = [entry for entry in _by_depth(turn) if entry.from_oldest or entry.depth >= _depth_of_note(turn)]
    return _written(turn, (*mentioned, *deep))


async def depth_note_section(turn: Turn) -> str | None:
    """The card's own note at a depth."""
    note = _note(turn)
    return _write_note(note, turn) if note and note.depth else None


async def lore_near_section(turn: Turn) -> str | None:
    """What belongs nearer to the end than the card's own note."""
    note = _depth_of_note(turn)
    return _written(turn, (entry for entry in _by_depth(turn) if not entry.from_oldest and 0 < entry.depth < note))


async def lore_last_section(turn: Turn) -> str | None:
    """What belongs behind the last message."""
    return _written(turn, (entry for entry in _by_depth(turn) if not entry.from_oldest and not entry.depth))


async def last_note_section(turn: Turn) -> str | None:
    """The card's own note where it belongs behind the last message."""
    note = _note(turn)
    return _write_note(note, turn) if note and not note.depth else None


def _by_depth(turn: Turn) -> list[ActiveEntry]:
    """The entries between the messages, from the oldest message to the newest."""

    def place(entry: ActiveEntry) -> tuple[bool, int]:
        return not entry.from_oldest, entry.depth if entry.from_oldest else -entry.depth

    return sorted((entry for entry in turn.lore.entries if entry.slot is Slot.DEPTH), key=place)


def _note(turn: Turn) -> DepthPrompt | None:
    return turn.persona.card.depth_prompt if turn.persona else None


def _depth_of_note(turn: Turn) -> int:
    note = _note(turn)
    return max(1, note.depth) if note else 1


def _write_note(note: DepthPrompt, turn: Turn) -> str:
    return _said_by(LoreRole(note.role), expand_tail(note.text, turn), turn)


def _written(turn: Turn, entries: Iterable[ActiveEntry]) -> str | None:
    return BESIDE.join(_as_it_stands(entry, turn) for entry in entries) or None


def _as_it_stands(entry: ActiveEntry, turn: Turn) -> str:
    if entry.is_prefill:
        return PREFILL_NOTE.format(text=entry.content)
    return _said_by(entry.role, entry.content, turn) if entry.slot is Slot.DEPTH else entry.content


def _said_by(role: LoreRole, text: str, turn: Turn) -> str:
    """A text that is to be somebody's word: named, because as a message of its own it would be refused by servers that
    want people and persona to take turns.
    """
    names = {LoreRole.ASSISTANT: turn.persona_name, LoreRole.USER: turn.asker.name}
    name = names.get(role)
    return f"{name}: {text}" if name else text


PLACES = (
    Slot.BEFORE_CHAR,
    Slot.PERSONALITY,
    Slot.SCENARIO,
    Slot.AFTER_CHAR,
    Slot.BEFORE_EXAMPLES,
    Slot.AFTER_EXAMPLES,
)
"""Those that do not move with the messages, in the order of the prompt."""
