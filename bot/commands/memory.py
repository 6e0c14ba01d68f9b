"""/memory: what is remembered here, and changing it by hand. People change what concerns them, administrators all."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import date, timedelta

from bot.chat import CommandSpec, OptionKind, OptionSpec, Outbound, ValueQuery
from bot.commands.command import Call, Command, Desk, Suggest, inert
from bot.commands.members import OF, queried_story, told_of
from bot.commands.notes import LISTED_GIST_CHARS, in_order, is_summary, kind_words, listing, wanted_items
from bot.commands.pages import KEYWORD, PAGE, near_action, page_of, paged_text
from bot.commands.people import suggest_people, who_is_meant
from bot.errors import UserError
from bot.memory.delta import LONGEST_TEXT, naming
from bot.memory.items import Add, Category, FollowUpState, ItemKind, NewItem
from bot.store import archive, clearing, memories
from bot.store.archive import Kept
from bot.store.conversations import raise_generation
from bot.store.database import Tx
from bot.store.people import wants_privacy

MOST_BY_HAND = 20
"""Items that somebody may write down where others talk, too: a memory has room for few, and it is everybody's."""
OFFERED_CHARS = 90
"""Of an item in completion; Discord takes 100."""


async def list_memory(call: Call, desk: Desk) -> Outbound:
    """`/memory [kind, person or words] [-p page] [-o persona]`; the summary alone is shown in full."""
    keyword = call.options.get(KEYWORD.name, "")
    memory = await desk.db.read(memories.read_memory, call.conversation_id)
    whose = told_of(call, desk)
    if memory.is_empty:
        return Outbound(text="\n\n".join(filter(None, (desk.text("memory-empty", call.locale), whose))))
    if is_summary(keyword, desk) and memory.gist:
        return Outbound(text=inert(memory.gist))
    gist = memory.gist if not keyword else ""
    items = in_order(wanted_items(memory.items, keyword, desk))
    if not (items or gist):
        meant = near_action(keyword, "memory", desk)
        raise UserError("command-meant", near=meant) if meant else UserError("memory-none-found", keyword=keyword)
    page = page_of(items, call)
    body = await listing(page.entries, call, desk)
    if gist and page.number == 1:
        summary = desk.text("memory-summary", call.locale)
        shown = gist if len(gist) <= LISTED_GIST_CHARS else gist[:LISTED_GIST_CHARS].rstrip() + "…"
        body = f"**{summary}**\n{inert(shown)}\n\n{body}".rstrip()
    heading, told = desk.text("memory-list", call.locale, count=len(items)), "\n\n".join(filter(None, (body, whose)))
    return paged_text(heading, told, page, "memory list", call, desk)


async def add_item(call: Call, desk: Desk) -> Outbound:
    """`/memory add KIND TEXT [-w who] [-d day] [-o persona]`: what nobody can say for others but an administrator."""
    kind = KINDS[call.options["kind"]]
    new = await _new_item(kind, call, desk)
    author = call.inbound.author.key
    written = await desk.db.read(archive.count_by, call.conversation_id, author)
    if kind is ItemKind.CONSENSUS:
        refusal = "memory-of-all"
    elif new.subject not in (None, author):
        refusal = "memory-not-yours"
    else:
        refusal = "memory-enough" if written >= MOST_BY_HAND else ""
    if refusal and not await desk.may_manage(call):
        raise UserError(refusal, most=MOST_BY_HAND)
    number = await desk.db.run(_add, new, call, desk)
    return desk.say("memory-added", call, item=str(number), text=f"{new.text} ({new.day})" if new.day else new.text)


async def _new_item(kind: ItemKind, call: Call, desk: Desk) -> NewItem:
    author, day = call.inbound.author, _day(call, desk)
    people = await desk.db.read(archive.read_people, call.session.id, call.conversation_id)
    people[author.key] = people.get(author.key, author.name)
    who = call.options.get("who")
    is_personal = kind in (ItemKind.FACT, ItemKind.FOLLOW_UP)
    if who and not is_personal:
        raise UserError("memory-without-who")
    if day and kind in (ItemKind.FACT, ItemKind.CONSENSUS):
        raise UserError("memory-without-day")
    subject = who_is_meant(who, people) if who and is_personal else author.key if is_personal else None
    name = people[subject] if subject else ""
    text = _text(call)
    return NewItem(
        kind=kind,
        text=naming(text, name) if kind is ItemKind.FACT else text,
        subject=subject,
        subject_name=name,
        category=Category.OTHER if kind is ItemKind.FACT else None,
        day=(day or call.local(call.now).date()) if kind is ItemKind.EVENT else day,
        people=(author.key,) if kind is ItemKind.CONSENSUS else (),
        state=FollowUpState.OPEN if kind is ItemKind.FOLLOW_UP else None,
    )


def _text(call: Call) -> str:
    """One line, so that it can forge no heading of the prompt."""
    text = " ".join(call.options["text"].split())
    if len(text) > LONGEST_TEXT:
        raise UserError("memory-text-long", count=len(text), most=LONGEST_TEXT)
    return text


def _day(call: Call, desk: Desk) -> date | None:
    typed = call.options.get("day")
    if typed is None:
        return None
    if meant := desk.names.find_choice(typed, NEAR_DAYS):
        return call.local(call.now).date() + NEAR_DAYS[meant]
    try:
        return date.fromisoformat(typed)
    except ValueError:
        raise UserError("memory-day", day=typed, example=f"{call.local(call.now):%Y-%m-%d}") from None


NEAR_DAYS = {"yesterday": timedelta(days=-1), "today": timedelta(), "tomorrow": timedelta(days=1)}
"""Days that people tell from today, by the clocks here."""


def _add(tx: Tx, new: NewItem, call: Call, desk: Desk) -> int:
    if new.subject and wants_privacy(tx, new.subject):
        raise UserError("memory-private", who=new.subject_name)
    return put(tx, Add(item=new), call, desk)


def put(tx: Tx, add: Add, call: Call, desk: Desk) -> int:
    """Keep a new item, in place of another where it replaces one; returns its number.

    Raises:
        UserError: the conversation was closed, or the other one went, meanwhile.
    """
    ground = memories.read_ground(tx, call.conversation_id)
    live = memories.read_memory(tx, call.conversation_id).by_id()
    if ground is None or (add.replaces is not None and add.replaces not in live):
        raise UserError("answer-has-changed")
    raise_generation(tx, call.conversation_id)
    return memories.insert_item(tx, ground, add, call.inbound.author.key, desk.count, call.now)


async def edit_item(call: Call, desk: Desk) -> Outbound:
    """`/memory edit N TEXT`: the same item in other words."""
    item = (await demand_item(call, desk)).item
    text = _text(call)
    is_fact = item.new.kind is ItemKind.FACT
    new = replace(item.new, text=naming(text, item.new.subject_name) if is_fact else text)
    number = await desk.db.run(put, Add(item=new, replaces=item.id), call, desk)
    return desk.say("memory-edited", call, old=str(item.id), item=str(number), text=new.text)


async def pin_item(call: Call, desk: Desk) -> Outbound:
    """`/memory pin N`: no compaction touches it from now on."""
    return await _pin(call, desk, pinned=True)


async def unpin_item(call: Call, desk: Desk) -> Outbound:
    """`/memory unpin N`."""
    return await _pin(call, desk, pinned=False)


async def _pin(call: Call, desk: Desk, *, pinned: bool) -> Outbound:
    item = (await demand_item(call, desk)).item
    await desk.db.run(_set_pinned, call, item.id, pinned)
    return desk.say("memory-pinned" if pinned else "memory-unpinned", call, item=str(item.id), text=item.new.text)


def _set_pinned(tx: Tx, call: Call, item_id: int, pinned: bool) -> None:
    raise_generation(tx, call.conversation_id)
    if not memories.set_pinned(tx, call.conversation_id, item_id, pinned=pinned):
        raise UserError("answer-has-changed")


async def forget_item(call: Call, desk: Desk) -> Outbound:
    """`/memory forget N`; `/memory undo` takes it back. Whoever forgets something would not have it said again."""
    item = (await demand_item(call, desk)).item
    author = call.inbound.author.key
    if not await desk.db.run(clearing.forget_item, call.conversation_id, item.id, author, call.now):
        raise UserError("answer-has-changed")
    return desk.say("memory-forgotten", call, item=str(item.id))


async def demand_item(call: Call, desk: Desk, if_none: str = "memory-no-item") -> Kept:
    """The live item that the option ITEM names, if it is the caller's to change; `if_none` says that there is none.

    Raises:
        UserError: there is none of that number here, or it concerns somebody else.
    """
    typed = call.options[ITEM.name]
    found = re.match(r"#?(\d{1,15})\b", typed)
    kept = await desk.db.read(archive.find_item, call.conversation_id, int(found[1])) if found else None
    if kept is None:
        raise UserError(if_none, item=typed)
    is_own = call.inbound.author.key in (kept.item.new.subject, kept.made_by)
    if not is_own and not await desk.may_manage(call):
        raise UserError("memory-not-yours")
    return kept


async def suggest_items(desk: Desk, query: ValueQuery) -> Sequence[str]:
    """Numbers of items with their texts, by what is typed of either."""
    return await desk.db.read(_offered, query, (None, *FollowUpState), desk)


def _offered(tx: Tx, query: ValueQuery, states: Sequence[FollowUpState | None], desk: Desk) -> list[str]:
    conversation_id = queried_story(tx, query, desk)
    if conversation_id is None:
        return []
    items = memories.read_memory(tx, conversation_id).items
    offers = [f"{item.id} · {item.new.text}"[:OFFERED_CHARS] for item in items if item.new.state in states]
    wanted = query.typed.lstrip("#").casefold()
    return sorted((one for one in offers if wanted in one.casefold()), key=lambda one: not one.startswith(wanted))


def suggest_follow_ups(*states: FollowUpState) -> Suggest:
    """Completion of follow-ups that stand so."""

    async def suggest(desk: Desk, query: ValueQuery) -> Sequence[str]:
        return await desk.db.read(_offered, query, states, desk)

    return suggest


async def suggest_listed(desk: Desk, query: ValueQuery) -> Sequence[str]:
    """Kinds, and people who are remembered."""
    wanted = query.typed.casefold()
    kinds = [word for word in kind_words(desk, query.author.locale) if wanted in word]
    return [*kinds, *await suggest_people(desk, query)]


async def suggest_for_add(desk: Desk, query: ValueQuery) -> Sequence[str]:
    """People."""
    return await suggest_people(desk, query) if query.option == "who" else ()


KINDS = {
    "fact": ItemKind.FACT,
    "event": ItemKind.EVENT,
    "consensus": ItemKind.CONSENSUS,
    "follow-up": ItemKind.FOLLOW_UP,
}
LISTED = OptionSpec(name=KEYWORD.name, rest=True, completes=True)
ITEM = OptionSpec(name="item", required=True, completes=True)
TEXT = OptionSpec(name="text", required=True, rest=True)
ADD_OPTIONS = (
    OptionSpec(name="kind", kind=OptionKind.CHOICE, required=True, choices=tuple(KINDS)),
    TEXT,
    OptionSpec(name="who", flag="-w", rest=True, completes=True),
    OptionSpec(name="day", flag="-d"),
    OF,
)

MEMORY_COMMANDS = (
    Command(
        spec=CommandSpec(
            path=("memory", "list"), options=(LISTED, PAGE, OF), ephemeral=True, example="memory list facts -p 2"
        ),
        run=list_memory,
        suggest=suggest_listed,
    ),
    Command(
        spec=CommandSpec(
            path=("memory", "add"),
            options=ADD_OPTIONS,
            ephemeral=True,
            example="memory add event Ferry to Bergen -d 2026-12-24",
        ),
        run=add_item,
        suggest=suggest_for_add,
    ),
    Command(
        spec=CommandSpec(
            path=("memory", "edit"),
            options=(ITEM, TEXT, OF),
            ephemeral=True,
            example="memory edit 12 Ann lives in Bergen",
        ),
        run=edit_item,
        suggest=suggest_items,
    ),
    Command(
        spec=CommandSpec(path=("memory", "pin"), options=(ITEM, OF), ephemeral=True, example="memory pin 12"),
        run=pin_item,
        suggest=suggest_items,
    ),
    Command(
        spec=CommandSpec(path=("memory", "unpin"), options=(ITEM, OF), ephemeral=True),
        run=unpin_item,
        suggest=suggest_items,
    ),
    Command(
        spec=CommandSpec(path=("memory", "forget"), options=(ITEM, OF), ephemeral=True, example="memory forget 12"),
        run=forget_item,
        suggest=suggest_items,
    ),
)
