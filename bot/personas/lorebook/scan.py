"""Looks through a chat for the keys of lorebooks, and tells which entries join the prompt, where, and why."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bot.personas.fields import MAX_WARNINGS, CardWarning
from bot.personas.lorebook.activation import ACTIVE, Activation, ActiveEntry, ScanContext, Verdict, Why
from bot.personas.lorebook.budget import Budget, Rank, rank
from bot.personas.lorebook.conditions import Look, judge, score
from bot.personas.lorebook.groups import losers
from bot.personas.lorebook.index import LoreIndex, LoreItem
from bot.personas.lorebook.patterns import Patience
from bot.personas.lorebook.placing import PREFIX_SLOTS, is_steady, placing
from bot.personas.lorebook.state import LoreRecord, LoreState
from bot.personas.lorebook.texts import Text, Texts
from bot.personas.macros import Where, passing_macros
from bot.sentences import sentence

MAX_ROUNDS = 10
"""Rounds of recursion: how long a chain of entries that bring one another in may be. Ours to choose (P19)."""

SHOWN_CHARS = 60
"""Of a pattern, in a warning."""

_Chosen = list[tuple[LoreItem, Look]]


def scan(indexes: Sequence[LoreIndex], messages: Sequence[str], context: ScanContext) -> Activation:
    """Scan messages, the newest last, for the keys of some books, each index under a name of its own. What entries say
    is looked through as well, round by round, where their books allow it. A message may begin with its speaker's name:
    then keys find that too, as in SillyTavern.

    Everything has a limit, so a scan ends whatever the books hold. It is plain Python but for patterns, which search
    without the interpreter's lock: called in a thread, it lets an event loop go on.
    """
    run = _Run(indexes, messages, context)
    texts: Sequence[Text] | None = run.texts.messages
    while texts is not None:
        run.look_through(texts)
        texts = run.next_texts()
    return run.result()


class _Run:
    """One scan as it goes."""

    def __init__(self, indexes: Sequence[LoreIndex], messages: Sequence[str], context: ScanContext) -> None:
        self.texts = Texts(messages, Patience())
        self._indexes, self._context = indexes, context
        self._budget = Budget(context.budget, (index.book for index in indexes))
        self._levels = sorted(frozenset[int]().union(*(index.levels for index in indexes)))
        self._level = self._levels.pop(0) if self._levels else 0
        self._round = 0
        self._waiting: list[dict[str, LoreItem]] = [{} for _ in indexes]
        self._let_in: _Chosen = []
        self._out: set[str] = set()
        self._judged: dict[str, tuple[LoreItem, Why, str, int]] = {}
        self._entries: dict[str, ActiveEntry] = {}
        self._said: list[str] = []

    def look_through(self, texts: Sequence[Text]) -> None:
        """Let in whatever joins in now that these texts have come."""
        chosen: _Chosen = []
        for place, (index, waiting) in enumerate(zip(self._indexes, self._waiting, strict=True)):
            look = self._look(index, place)
            waiting |= {item.ref: item for item in self._concerned(index, look, texts) if item.ref not in self._out}
            found = [item for item in waiting.values() if self._is_chosen(item, look)]
            chosen += [(item, look) for item in found]
        self._out |= {item.ref for item, _ in chosen}
        for waiting in self._waiting:
            for ref in waiting.keys() & self._out:
                del waiting[ref]
        self._said = [said for item, look in self._ranked(chosen) if (said := self._admit(item, look)) is not None]

    def _look(self, index: LoreIndex, place: int) -> Look:
        return Look(
            context=self._context,
            book=index.book,
            place=place,
            is_visiting=index.name in self._context.visiting,
            texts=self.texts,
            round=self._round,
            level=self._level,
        )

    def _ranked(self, chosen: _Chosen) -> _Chosen:
        """Those that their groups leave, the first to take its room first."""
        kept = self._without_losers(chosen)

        def place(pair: tuple[LoreItem, Look]) -> Rank:
            item, look = pair
            return rank(item, is_sticky=look.is_sticky(item), is_visiting=look.is_visiting)

        return sorted(kept, key=place)

    def _concerned(self, index: LoreIndex, look: Look, texts: Sequence[Text]) -> Iterator[LoreItem]:
        """The entries that must be looked at because of these texts, and at first those that need none."""
        if self._round:
            yield from index.concerned(texts) if look.is_recursive else ()
            return
        if self._context.explains:
            yield from index.items
            return
        yield from index.unkeyed
        yield from (index.by_ref[ref] for ref in self._context.state.records if ref in index.by_ref)
        depth = index.book.scan_depth
        yield from index.concerned(texts[: max(index.deepest, self._context.scan_depth if depth is None else depth)])

    def _is_chosen(self, item: LoreItem, look: Look) -> bool:
        why, detail = judge(item, look)
        self._note(item, why, detail)
        return why in ACTIVE

    def _note(self, item: LoreItem, why: Why, detail: str = "") -> None:
        """What was found in an earlier round and is so still keeps the number of that."""
        noted = self._judged.get(item.ref)
        if noted is None or noted[1:3] != (why, detail):
            self._judged[item.ref] = item, why, detail, self._round

    def _why(self, item: LoreItem) -> Why:
        return self._judged[item.ref][1]

    def _without_losers(self, chosen: _Chosen) -> _Chosen:
        looks = {item.ref: look for item, look in chosen}
        lost = losers(
            [item for item, _ in chosen],
            taken={group: item for item, _ in self._let_in for group in item.groups},
            is_sticky=lambda item: looks[item.ref].is_sticky(item),
            score=lambda item: score(item, looks[item.ref]),
            scores_all=self._context.group_scoring,
            rng=self._context.rng,
        )
        for item, _ in chosen:
            if item.ref in lost:
                self._note(item, Why.GROUP, lost[item.ref].entry.title)
        return [(item, look) for item, look in chosen if item.ref not in lost]

    def _admit(self, item: LoreItem, look: Look) -> str | None:
        """Let an entry in if chance and budget do; returns what it says to bring others in."""
        entry = item.entry
        is_sure = self._why(item) is Why.STICKY or not entry.use_probability or entry.probability >= 100
        if not is_sure and self._context.rng.random() * 100 >= entry.probability:
            self._note(item, Why.PROBABILITY, f"{entry.probability} %")
            return None
        active = None if self._budget.is_used_up(item, look.book) else self._placed(item, look)
        if active is None or not self._budget.take(item, look.book, active.tokens):
            self._note(item, Why.BUDGET)
            return None
        self._let_in.append((item, look))
        self._entries[item.ref] = active
        silent = entry.prevent_recursion or not look.is_recursive
        return None if silent else self._context.expand(item.content, Where.SCAN)

    def _placed(self, item: LoreItem, look: Look) -> ActiveEntry:
        slot, depth, from_oldest = placing(item)
        steady = is_steady(item) and slot in PREFIX_SLOTS and not look.is_visiting
        content = self._context.expand(item.content, Where.PREFIX if steady else Where.TAIL).strip("\n")
        return ActiveEntry(
            ref=item.ref,
            title=item.entry.title,
            content=content,
            tokens=self._context.count(content) if content else 0,
            slot=slot,
            depth=depth,
            from_oldest=from_oldest,
            role=item.decorators.role or item.entry.role,
            is_steady=steady,
            passing=passing_macros(item.content) if steady else (),
            goes_first=item.decorators.ignore_on_max_context,
        )

    def next_texts(self) -> Sequence[Text] | None:
        """What the last round brought to look through, or nothing new for the entries that waited for a further level
        of recursion; `None` at the end.
        """
        if self._round >= MAX_ROUNDS or self._budget.overflowed or not (self._said or self._levels):
            return None
        self._round += 1
        if self._said:
            return self.texts.add_lore(self._said)
        self._level = self._levels.pop(0)
        return ()

    def result(self) -> Activation:
        """What was found."""
        self._let_in.sort(key=lambda pair: (pair[0].entry.insertion_order, pair[1].place, pair[0].order))
        entries = (self._entries[item.ref] for item, _ in self._let_in)
        wishes = (item.decorators.disable_ui_prompt for item, _ in self._let_in)
        return Activation(
            entries=tuple(entry for entry in entries if entry.content),
            verdicts={ref: _verdict(*judged) for ref, judged in self._judged.items()},
            state=self._state(),
            disabled_prompts=frozenset(filter(None, wishes)),
            warnings=tuple(self._warnings()),
        )

    def _warnings(self) -> Iterator[CardWarning]:
        for pattern in self.texts.given_up[:MAX_WARNINGS]:
            yield CardWarning(field="keys", message=sentence("card-key-slow", key=pattern[:SHOWN_CHARS]))
        if self.texts.is_cut_short:
            yield CardWarning(field="keys", message=sentence("card-keys-many"))

    def _state(self) -> LoreState:
        count = self._context.message_count
        items = (item for item, _ in self._let_in if self._why(item) not in (Why.STICKY, Why.KEPT))
        new = {item.ref: _record(item, count) for item in items if _is_remembered(item)}
        return self._context.state.advanced(count, new, self._outlasts)

    def _outlasts(self, ref: str) -> bool:
        """Whether what is remembered of an entry counts for ever; of a book that is not here now, nothing is known."""
        item = next((index.by_ref[ref] for index in self._indexes if ref in index.by_ref), None)
        return item is None or _lasts(item)


def _verdict(item: LoreItem, why: Why, detail: str, number: int) -> Verdict:
    return Verdict(ref=item.ref, title=item.entry.title, why=why, detail=detail, round=number)


def _record(item: LoreItem, count: int) -> LoreRecord:
    sticky, cooldown = item.entry.sticky, item.entry.cooldown
    return LoreRecord(
        at=count,
        sticky_until=count + sticky if sticky else 0,
        cooling_until=count + sticky + cooldown if cooldown else 0,
    )


def _is_remembered(item: LoreItem) -> bool:
    return bool(item.entry.sticky or item.entry.cooldown or _lasts(item))


def _lasts(item: LoreItem) -> bool:
    """Whether it counts for ever that an entry joined in once."""
    return item.decorators.keep_activate_after_match or item.decorators.dont_activate_after_match
