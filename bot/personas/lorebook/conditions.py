"""Whether one entry joins in: its conditions in the order of SillyTavern, with V3's decorators between them. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property

from bot.personas.lorebook.activation import ScanContext, Why
from bot.personas.lorebook.choices import Logic
from bot.personas.lorebook.entry import Lorebook
from bot.personas.lorebook.index import LoreItem
from bot.personas.lorebook.texts import Key, Scope, Texts, has_macro, make_key
from bot.personas.macros import Where

Reason = tuple[Why, str]
"""Why, and the key that decided."""


@dataclass(frozen=True, kw_only=True)
class Look:
    """One look at the entries of a book."""

    context: ScanContext
    book: Lorebook
    place: int
    """Which of the books it is."""
    texts: Texts
    is_visiting: bool = False
    """Whether the book is not there in each turn."""
    round: int = 0
    """0 for messages, then the number of the round of recursion."""
    level: int = 0
    """The level of recursion that has been reached."""

    @cached_property
    def is_recursive(self) -> bool:
        """Whether what the entries of this book say may bring others in."""
        said = self.book.recursive_scanning
        return self.context.recursive if said is None else said

    def is_sticky(self, item: LoreItem) -> bool:
        return self.context.state.is_sticky(item.ref, self.context.message_count)

    def found(self, item: LoreItem, keys: Iterable[Key]) -> Key | None:
        """The first of the keys that is in what the entry may see."""
        scope = self._scope(item)
        for key in keys:
            if self.texts.hold(self._ready(key), scope):
                return key
        return None

    def _ready(self, key: Key) -> Key:
        if key.pattern is not None or key.broken or not has_macro(key.said):
            return key
        return make_key(self.context.expand(key.said, Where.SCAN).strip())

    def _scope(self, item: LoreItem) -> Scope:
        entry, context = item.entry, self.context
        return Scope(
            depth=_first(item.decorators.scan_depth, entry.scan_depth, self.book.scan_depth, context.scan_depth),
            with_lore=self.is_recursive and not entry.exclude_recursion,
            case_sensitive=bool(entry.case_sensitive),
            whole_words=item.whole_words,
        )


def _first(*said: int | None) -> int:
    return next(value for value in said if value is not None)


def judge(item: LoreItem, look: Look) -> Reason:
    """Why the entry joins in or does not, before groups, chance and budget."""
    for condition in (_is_mentioned,) if item.is_plain else CONDITIONS:
        reason = condition(item, look)
        if reason is not None:
            return reason
    return Why.KEY, ""


def score(item: LoreItem, look: Look) -> int:
    """How many of its keys were found, for its groups; secondary ones where its logic asks for them."""
    primary = sum(look.found(item, (key,)) is not None for key in item.keys)
    secondary = sum(look.found(item, (key,)) is not None for key in item.secondary)
    asks = item.entry.logic is Logic.AND_ANY or (item.entry.logic is Logic.AND_ALL and secondary == len(item.secondary))
    return primary + secondary if primary and asks else primary


def _is_able(item: LoreItem, look: Look) -> Reason | None:
    if not item.entry.enabled:
        return Why.DISABLED, ""
    if not item.content:
        return Why.EMPTY, ""
    return None


def _is_for_this_persona(item: LoreItem, look: Look) -> Reason | None:
    entry, context = item.entry, look.context
    if not (entry.only_personas or entry.only_tags):
        return None
    is_named = bool(context.persona_names.intersection(entry.only_personas)) or bool(
        context.persona_tags.intersection(entry.only_tags)
    )
    return (Why.OTHER_PERSONA, "") if is_named is entry.excludes_personas else None


def _has_waited(item: LoreItem, look: Look) -> Reason | None:
    if look.context.message_count < item.entry.delay:
        return Why.DELAY, ""
    if look.context.state.is_cooling(item.ref, look.context.message_count):
        return Why.COOLDOWN, ""
    return None


def _is_its_round(item: LoreItem, look: Look) -> Reason | None:
    level = item.entry.delay_until_recursion
    is_early = level and (not look.round or level > look.level)
    return (Why.RECURSION_ONLY, "") if is_early and not look.is_sticky(item) else None


def _is_forced(item: LoreItem, look: Look) -> Reason | None:
    if item.decorators.activate:
        return Why.FORCED, ""
    return (Why.FORCED_OFF, "") if item.decorators.dont_activate else None


def _may_match_again(item: LoreItem, look: Look) -> Reason | None:
    wishes = item.decorators
    if look.context.state.record(item.ref, look.context.message_count) is None:
        return None
    if wishes.dont_activate_after_match:
        return Why.MATCHED_BEFORE, ""
    return (Why.KEPT, "") if wishes.keep_activate_after_match else None


def _is_its_time(item: LoreItem, look: Look) -> Reason | None:
    wishes, context = item.decorators, look.context
    if wishes.activate_only_after is not None and context.assistant_count < wishes.activate_only_after:
        return Why.TOO_EARLY, ""
    if wishes.activate_only_every is not None and context.assistant_count % wishes.activate_only_every:
        return Why.NOT_THIS_TIME, ""
    if wishes.is_greeting is not None and context.greeting not in (None, wishes.is_greeting):
        return Why.OTHER_GREETING, ""
    return (Why.CONTEXT_FULL, "") if wishes.ignore_on_max_context and context.is_full else None


def _stays(item: LoreItem, look: Look) -> Reason | None:
    return (Why.STICKY, "") if look.is_sticky(item) else None


def _is_not_excluded(item: LoreItem, look: Look) -> Reason | None:
    if item.entry.is_by_the_letter:
        return None
    if key := look.found(item, item.excluded):
        return Why.EXCLUDED, key.said
    if item.additional and look.found(item, item.additional) is None:
        return Why.NO_ADDITIONAL_KEY, ""
    return None


def _is_constant(item: LoreItem, look: Look) -> Reason | None:
    return (Why.CONSTANT, "") if item.entry.constant and not item.entry.is_by_the_letter else None


def _is_mentioned(item: LoreItem, look: Look) -> Reason | None:
    if item.entry.is_by_the_letter:
        key = look.found(item, (*item.keys, *item.additional))
        return (Why.KEY, key.said) if key else (Why.NO_KEY, "")
    key = look.found(item, item.keys)
    if key is None:
        return Why.NO_KEY, ""
    return (Why.KEY, key.said) if _secondary_agree(item, look) else (Why.SECONDARY_KEYS, key.said)


def _secondary_agree(item: LoreItem, look: Look) -> bool:
    if not item.secondary:
        return True
    hits = [look.found(item, (key,)) is not None for key in item.secondary]
    return _LOGICS[item.entry.logic](hits)


_LOGICS: dict[Logic, Callable[[list[bool]], bool]] = {
    Logic.AND_ANY: any,
    Logic.AND_ALL: all,
    Logic.NOT_ANY: lambda hits: not any(hits),
    Logic.NOT_ALL: lambda hits: not all(hits),
}

CONDITIONS: tuple[Callable[[LoreItem, Look], Reason | None], ...] = (
    # In order: the first that has a reason decides.
    _is_able,
    _is_for_this_persona,
    _has_waited,
    _is_its_round,
    _is_forced,
    _may_match_again,
    _is_its_time,
    _stays,
    _is_not_excluded,
    _is_constant,
    _is_mentioned,
)
