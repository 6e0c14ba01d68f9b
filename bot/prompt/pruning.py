"""Fits one request into its room: what is shortened, what goes, in which order. Nothing is lost: what is left out of a
request stays in the store.

What was left out once stays out of the next requests too (`Cuts`), because each change of the beginning is paid in
full: a cut makes room for several turns, and between cuts one request is a prefix of the next (DESIGN 7).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from bot.prompt.draft import Costs, Draft, Frame, Injected
from bot.prompt.lines import group_history
from bot.prompt.pictures import IMAGE_ROOM_RATIO, images_by_message, images_that_fit
from bot.prompt.shortening import Count, chars_within, fair_share, shorten
from bot.prompt.thoughts import shorten_thought, shorten_thoughts
from bot.prompt.tool_results import LONG_RESULT_CHARS, Unit, as_line, is_result, results_before, tool_groups
from bot.store.images import ImageRow
from bot.store.tables import MessageKind
from bot.store.window import WindowRow
from bot.turn import CutForm, Cuts, Turn

U = TypeVar("U")
Gap = tuple[int, int]

REFILL_RATIO = 0.75
"""How full the history is after something had to go. Cutting below the limit lets the next turns append to a stable
prefix; a window that slides with every message is paid in full every time."""

SMALLEST_SHARE = 32
"""Tokens below which a message of a burst is not shortened any more: a name, the note and a few words. Of a flood of
hundreds in one small window, the oldest go."""

LEAST_INJECTED_CHARS = 200
"""What a section that was injected keeps at least when all of them shrink (SETTINGS.md, `MEMORY_TOKEN_BUDGET`)."""

MANY_MESSAGES = 6
"""From so many left out on, the model is told in a request that nothing else could save."""

NOTE_ROOMS = 4
"""How many times the note must fit into a room, so that it takes none from what is answered in the smallest."""

HUGE_TOKENS = 256
HUGE, HUGE_KEPT, HUGE_ASKED = 0.25, 0.125, 0.5
"""Of the room, from what on a message is so large that it is shortened before others go for its sake, and what it keeps
at least; of what is answered, both. None is that has fewer tokens.
"""

REMOVED_NOTE = (
    "[Earlier messages were removed because there is no room for them. Go on with what you are doing; what you need of "
    "before is in what you remember and in what is open there.]"
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Fitted:
    """The request's parts as they go."""

    units: Sequence[Unit]
    images: Sequence[ImageRow]
    tokens: int
    """Of the history, tool rounds included."""
    result_tokens: int
    """Of `tokens`, those of what tools said."""
    whole: int
    """What the history would cost with nothing left out."""
    dropped: int
    """Messages left out; they stay in the store."""
    injected: tuple[Injected, ...]
    note: str
    """What the model is told about what is missing."""
    thoughts: Mapping[int, str]
    """What was thought before calls, by their ids."""
    stages: tuple[str, ...]
    """The stages that it took."""
    cuts: Cuts
    """What the next requests leave out as well."""


def fit(turn: Turn, frame: Frame, count: Count, thoughts: Mapping[int, str]) -> Fitted:
    """The history of a turn and what was injected within a room. First what does not depend on it: what earlier
    requests left out, `HISTORY_LIMIT`, and the age of tool results where `CONTEXT_PRUNING__ENABLED` says so. Then, only
    while it does not fit, one stage after the other.
    """
    room = frame.room - frame.examples - sum(section.tokens for section in frame.injected)
    images = images_that_fit(turn, int(room * IMAGE_ROOM_RATIO))
    costs = Costs(turn=turn, count=count, images=images_by_message(images))
    draft = _as_before(turn, frame, costs, thoughts)
    limit = turn.settings.values.history_limit
    if limit:
        draft.units = keep_newest(draft.units, limit, cost=len, asked=draft.asked)
    stages = _by_position(draft)
    for stage in STAGES:
        if draft.fits:
            break
        stage(draft)
        stages.append(stage.__name__)
    return _fitted(draft, images, stages)


def _as_before(turn: Turn, frame: Frame, costs: Costs, thoughts: Mapping[int, str]) -> Draft:
    """The request with everything left out that its predecessors left out."""
    cuts = turn.cuts
    sent = (row for row in turn.history if not _is_left_out(row, cuts.start, cuts.gap))
    rows = (_shortened(row, cuts.shortened, costs.count) for row in sent)
    draft = Draft(
        turn=turn,
        frame=frame,
        costs=costs,
        units=(units := group_history(rows)),
        originals=(originals := {row.id: row for unit in units for row in unit}),
        sizes={row: costs.row(original) for row, original in originals.items()},
        injected=frame.injected,
        shortened=dict(cuts.shortened),
        forms={},
        thoughts=dict(thoughts),
        without_examples=cuts.without_examples,
        note=REMOVED_NOTE if cuts.is_told else "",
        gap=cuts.gap,
    )
    for call, chars in cuts.thoughts.items():
        shorten_thought(draft, call, chars)
    if cuts.results:
        old = tool_groups(draft.units)[:-1]  # one that has become the last since, by a deletion, is sent in full
        for form in (CutForm.TRIMMED, CutForm.HEAD, CutForm.CLEARED):
            draft.cut([row for group in old for row in group if cuts.results.get(row.id) is form], form)
        _fold(draft, [group for group in old if cuts.results.get(group[0].id) is CutForm.LINE])
    return draft


def _is_left_out(row: WindowRow, start: int, gap: Gap | None) -> bool:
    return row.position < start or (gap is not None and gap[0] <= row.position <= gap[1])


def _by_position(draft: Draft) -> list[str]:
    """Trim what tools said long ago, even where there is room: above one fill to beginning and end, above another to
    nothing, the oldest first (SETTINGS.md, `CONTEXT_PRUNING__*`). Returns what it took.
    """
    pruning = draft.turn.settings.values.context_pruning
    if not pruning.enabled or draft.fill < pruning.soft_trim_ratio:
        return []
    keep = pruning.keep_last_assistants
    before = dict(draft.forms)
    old = results_before(draft.units, keep, draft.turn)
    limit = pruning.soft_trim.max_chars
    draft.cut([row for row in old if row.id not in draft.forms and len(row.text) > limit], CutForm.TRIMMED)
    old = results_before(draft.units, keep, draft.turn)
    if pruning.hard_clear.enabled and sum(len(row.text) for row in old) >= pruning.min_prunable_tool_chars:
        for row in old:
            if draft.fill < pruning.hard_clear_ratio:
                break
            if draft.forms.get(row.id) is not CutForm.CLEARED:
                draft.cut([row], CutForm.CLEARED)
    return ["trim_by_position"] if draft.forms != before else []


def shrink_injected(draft: Draft) -> None:
    """1: what was injected and is volatile shrinks in proportion to its budget, each to 200 characters at least."""
    total = sum(section.tokens for section in draft.injected if section.is_volatile)
    if total <= draft.frame.injected_budget:
        return
    ratio = draft.frame.injected_budget / total
    draft.injected = tuple(
        _shrunk(section, ratio, draft.costs.count) if section.is_volatile else section for section in draft.injected
    )


def _shrunk(section: Injected, ratio: float, count: Count) -> Injected:
    chars = max(LEAST_INJECTED_CHARS, int(len(section.text) * ratio))
    if len(section.text) <= chars:
        return section
    text = section.text[:chars]
    return replace(section, text=text, tokens=section.tokens - count(section.text) + count(text))


def shorten_results(draft: Draft) -> None:
    """2: long results of tools are cut to their beginning, all but those of the last round."""
    old = (row for group in tool_groups(draft.units)[:-1] for row in group)
    draft.cut([row for row in old if is_result(row) and len(row.text) > LONG_RESULT_CHARS], CutForm.HEAD)


def fold_tool_groups(draft: Draft) -> None:
    """3: old tool rounds become a line of the persona, all but the last, where that is shorter."""
    groups = tool_groups(draft.units)[:-1]
    _fold(draft, [group for group in groups if draft.costs.row(as_line(group, draft.costs.count)) < draft.size(group)])


def _fold(draft: Draft, groups: Sequence[Unit]) -> None:
    count = draft.costs.count
    draft.lines |= {group[0].id: as_line(group, count) for group in groups}
    draft.forms |= dict.fromkeys(draft.lines, CutForm.LINE)
    lines = {row: _shortened(line, draft.shortened, count) for row, line in draft.lines.items()}
    draft.put(lines, gone=(row.id for group in groups for row in group[1:]))


def leave_out_examples(draft: Draft) -> None:
    """The card goes without its example dialogue, for good until the next compaction."""
    draft.without_examples = draft.frame.examples > 0


def shorten_huge(draft: Draft) -> None:
    """A message that takes much of the room by itself is shortened before others go for its sake: at first those that
    were answered already, then what is answered.
    """
    room = draft.frame.room - draft.around
    asked = {row.id for unit in draft.units[-draft.asked :] for row in unit}
    texts = {row.id for unit in draft.units for row in unit if row.text and row.kind is not MessageKind.TOOL}
    old = {row for row in texts - asked if draft.sizes[row] > max(HUGE_TOKENS, HUGE * room)}
    _shorten_to_room(draft, old, least=int(HUGE_KEPT * room) * len(old))
    new = {row for row in texts & asked if draft.sizes[row] > max(HUGE_TOKENS, HUGE_ASKED * room)}
    _shorten_to_room(draft, new, least=int(HUGE_ASKED * room))


def _shorten_to_room(draft: Draft, ids: Collection[int], *, least: int) -> None:
    """Shorten these to what all others leave of the room, but not below `least` tokens together."""
    if draft.fits or not ids:
        return
    left = int((draft.frame.room - draft.around) * REFILL_RATIO) - draft.history + sum(draft.sizes[row] for row in ids)
    rows = [row for row in draft.turn.history if row.id in ids]
    draft.shortened |= _shortenings(rows, max(left, least), draft.costs)
    draft.put({row.id: _shortened(row, draft.shortened, draft.costs.count) for row in rows})


def drop_oldest(draft: Draft) -> None:
    """4: the oldest messages go, with their tool rounds and answers, but never what is answered, nor the last tool
    round: rather what came right after it.
    """
    room, at = draft.frame.room - draft.around, draft.last_round
    newest = keep_newest(draft.units, room, cost=draft.size, asked=draft.asked)
    if at is not None and at < len(draft.units) - len(newest):
        last, behind = draft.units[at], draft.units[at + 1 :]
        newest = keep_newest(behind, room - draft.size(last), cost=draft.size, asked=draft.asked)
        draft.gap = last[0].position + 1, newest[0][0].position - 1
        newest = [last, *newest]
    draft.units = newest


def drop_injected(draft: Draft) -> None:
    """5: what was injected goes. Where much is missing by now, the model is told."""
    draft.injected = ()
    is_much = sum(_is_left_out(row, draft.first, draft.gap) for row in draft.turn.history) >= MANY_MESSAGES
    if is_much and draft.frame.room >= NOTE_ROOMS * draft.costs.count(REMOVED_NOTE):
        draft.note = REMOVED_NOTE


def shorten_asked(draft: Draft) -> None:
    """At last even what is answered is shortened, and the last tool round: beginning and end of each that is larger
    than its share.
    """
    costs, units = draft.costs, draft.units
    # A result is shortened by its form or by its share, not by both, or the next request would do it differently.
    present = {row.id for unit in units for row in unit} - draft.lines.keys()
    draft.forms = {row: form for row, form in draft.forms.items() if row not in present}
    raw = draft.raw
    whole = [tuple(raw[row.id] for row in unit) for unit in units]
    room = draft.frame.room - draft.around
    refilled = int(room * REFILL_RATIO)
    while len(whole) > 1 and fair_share([costs.row(row) for unit in whole for row in unit], refilled) < SMALLEST_SHARE:
        whole = whole[1:]
    rows = [row for unit in whole for row in unit]
    if sum(map(costs.row, rows)) > room:
        draft.shortened |= _shortenings(rows, refilled, costs)
    draft.units = [tuple(_shortened(row, draft.shortened, costs.count) for row in unit) for unit in whole]
    draft.sizes = {row.id: costs.row(row) for unit in draft.units for row in unit}


def _shortenings(rows: Sequence[WindowRow], room: int, costs: Costs) -> dict[int, int]:
    """Characters to keep of each row that is larger than its share of the room."""
    share = fair_share(map(costs.row, rows), room)
    return {
        row.id: _chars_of(row, share - costs.around(row), costs.count)
        for row in rows
        if row.text and not row.tool_calls and costs.row(row) > share
    }


def _chars_of(row: WindowRow, limit: int, count: Count) -> int:
    return chars_within(row.text, max(0, len(row.text) * limit // max(1, row.tokens)), limit, count)


def _shortened(row: WindowRow, shortened: Mapping[int, int], count: Count) -> WindowRow:
    chars = shortened.get(row.id)
    if chars is None or len(row.text) <= chars:
        return row
    text = shorten(row.text, chars)
    return replace(row, text=text, tokens=count(text))


def _fitted(draft: Draft, images: Sequence[ImageRow], stages: Sequence[str]) -> Fitted:
    first = draft.first
    gap = draft.gap if draft.gap and draft.gap[0] > first else None
    kept = {row.id for row in draft.turn.history if not _is_left_out(row, first, gap)}
    dropped = len(draft.turn.history) - len(kept)
    return Fitted(
        units=draft.units,
        images=images,
        tokens=draft.history,
        result_tokens=sum(draft.sizes[row.id] for unit in draft.units for row in unit if is_result(row)),
        whole=sum(map(draft.costs.row, draft.turn.history)),
        dropped=dropped,
        injected=draft.injected,
        note=draft.note,
        thoughts=draft.thoughts,
        stages=tuple(stages),
        cuts=Cuts(
            start=first if dropped else draft.turn.cuts.start,
            gap=gap,
            shortened={row: chars for row, chars in draft.shortened.items() if row in kept},
            images=tuple(image.id for image in images if image.message_id in kept),
            results={row: form for row, form in draft.forms.items() if row in kept},
            thoughts={row: chars for row, chars in draft.thought_chars.items() if row in kept},
            without_examples=draft.without_examples,
            is_told=bool(draft.note),
        ),
    )


def keep_newest(units: Sequence[U], room: int, *, cost: Callable[[U], int], asked: int = 1) -> list[U]:
    """The newest units that fit into `room`: all of them, or else what fits into three quarters of it.

    The last `asked` units are always kept, because they hold what is being answered.
    """
    costs = [cost(unit) for unit in units]
    if sum(costs) <= room:
        return list(units)
    limit = int(room * REFILL_RATIO)
    first = max(0, len(units) - asked)
    used = sum(costs[first:])
    while first and used + costs[first - 1] <= limit:
        first -= 1
        used += costs[first]
    return list(units[first:])


STAGES: tuple[Callable[[Draft], None], ...] = (
    shrink_injected,
    shorten_results,
    shorten_thoughts,
    fold_tool_groups,
    leave_out_examples,
    shorten_huge,
    drop_oldest,
    drop_injected,
    shorten_asked,
)
"""What a request goes through that does not fit, until it does."""
