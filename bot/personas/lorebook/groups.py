"""Groups of entries, of which only one joins in: those that are judged active together compete here."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from random import Random

from bot.personas.lorebook.index import LoreItem


def losers(
    items: Sequence[LoreItem],
    *,
    taken: Mapping[str, LoreItem],
    is_sticky: Callable[[LoreItem], bool],
    score: Callable[[LoreItem], int],
    scores_all: bool,
    rng: Random,
) -> dict[str, LoreItem]:
    """The refs of those that do not join in, each with the entry that does. `taken` holds the winners of earlier
    rounds by group; `scores_all` is whether keys count where an entry says nothing about it.

    A winner stays: first one that is sticky, then one that overrides, by order, then chance by weight among those with
    most matching keys.
    """
    groups: dict[str, list[LoreItem]] = {}
    for item in items:
        for group in item.groups:
            groups.setdefault(group, []).append(item)
    lost: dict[str, LoreItem] = {}
    for group, members in groups.items():
        left = [item for item in members if item.ref not in lost]
        if left:
            winner = taken.get(group) or _winner(left, is_sticky, score, scores_all, rng)
            lost |= {item.ref: winner for item in left if item.ref != winner.ref}
    return lost


def _winner(
    members: Sequence[LoreItem],
    is_sticky: Callable[[LoreItem], bool],
    score: Callable[[LoreItem], int],
    scores_all: bool,
    rng: Random,
) -> LoreItem:
    if len(members) == 1:
        return members[0]
    sticky = [item for item in members if is_sticky(item)]
    best = sticky or _best_scored(members, score, scores_all)
    overriding = [item for item in best if item.entry.group_override]
    if sticky or overriding:
        return max(overriding or best, key=lambda item: (item.entry.insertion_order, -item.order))
    weights = [item.entry.group_weight for item in best]
    return rng.choices(best, weights if any(weights) else None)[0]


def _best_scored(members: Sequence[LoreItem], score: Callable[[LoreItem], int], scores_all: bool) -> Sequence[LoreItem]:
    """Without those that count their keys and have fewer than another."""
    counts = {item.ref: _says(item.entry.use_group_scoring, scores_all) for item in members}
    if not any(counts.values()):
        return members
    scores = {item.ref: score(item) for item in members}
    most = max(scores.values())
    return [item for item in members if not counts[item.ref] or scores[item.ref] == most]


def _says(said: bool | None, otherwise: bool) -> bool:
    return otherwise if said is None else said
