"""Which images go with a request: follow-up questions see them, few are sent, and none are kept that never will be."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import pytest
from sqlalchemy import select

from bot.app import App
from bot.chat import Attachment, AttachmentKind, InboundKind
from bot.llm.model import ModelRequest
from bot.prompt.build import PromptBuilder
from bot.prompt.pictures import IMAGE_TOKENS, MOST_IMAGES, choose_images
from bot.store.images import KEPT_IMAGES, ImageKey, ImageRow
from bot.store.tables import images
from bot.testing import ScriptedModel, make_inbound, make_row, make_turn
from tests.conftest import MakeApp

SEEING = {"persona": "none", "models": {"test/scripted": {"vision": True, "context_window": 32_768}}}


def picture(name: str) -> Attachment:
    return Attachment(kind=AttachmentKind.IMAGE, name=f"{name}.png", media_type="image/png", data=name.encode())


def seen(request: ModelRequest) -> list[str]:
    """The images of a request, by name."""
    return [image.data.decode() for message in request.messages for image in message.images]


async def show(app: App, text: str, *names: str, message_id: str | None = None) -> None:
    attachments = tuple(map(picture, names))
    await app.pipeline.deliver(make_inbound(text, attachments=attachments, message_id=message_id))
    await app.dispatcher.idle()


async def stored(app: App) -> list[str]:
    """The names of all images in the store, without their endings."""
    names = await app.core.db.read(lambda tx: tx.execute(select(images.c.name).order_by(images.c.id)).scalars().all())
    return [name.removesuffix(".png") for name in names]


async def test_a_later_question_about_a_picture_sees_it_and_extends_the_request_before(make_app: MakeApp) -> None:
    model = ScriptedModel()
    app = await make_app(model=model, **SEEING)
    await show(app, "look", "cat")
    await show(app, "what colour is it?")
    first, second = model.requests
    assert (seen(first), seen(second)) == (["cat"], ["cat"])
    assert second.messages[: len(first.messages)] == first.messages


async def test_of_many_pictures_the_newest_are_sent_and_between_cuts_requests_extend_each_other(
    make_app: MakeApp,
) -> None:
    model = ScriptedModel()
    app = await make_app(model=model, **SEEING)
    for number in range(12):
        await show(app, "look", str(number))
        await show(app, "nice?")
    sent = [seen(request) for request in model.requests]
    assert max(map(len, sent)) == MOST_IMAGES
    assert [names[-1] for names in sent] == [str(number // 2) for number in range(24)]
    breaks = [old.messages != new.messages[: len(old.messages)] for old, new in pairwise(model.requests)].count(True)
    assert breaks == 3  # at the fifth picture and at every third after it


async def test_all_pictures_of_one_question_are_sent_and_stay_for_the_next(make_app: MakeApp) -> None:
    model = ScriptedModel()
    app = await make_app(model=model, **SEEING)
    await show(app, "an old one", "old")
    await show(app, "which is best?", *"abcdef")
    await show(app, "and which is worst?")
    assert [seen(request) for request in model.requests] == [["old"], [*"abcdef"], [*"abcdef"]]


async def test_pictures_that_no_request_will_carry_leave_the_store(make_app: MakeApp) -> None:
    app = await make_app(**SEEING)
    for number in range(KEPT_IMAGES + 3):
        await show(app, "look", str(number), message_id=f"m{number}")
    assert await stored(app) == [str(number) for number in range(3, KEPT_IMAGES + 3)]
    await app.pipeline.deliver(make_inbound("", kind=InboundKind.DELETE, message_id="m5"))
    assert "5" not in await stored(app)


def keys(*ids: int) -> list[ImageKey]:
    """Images of messages of the same number."""
    return [ImageKey(id=number, message_id=number) for number in ids]


@pytest.mark.parametrize(
    ("found", "burst", "sent", "chosen"),
    [
        ((), (), (), ()),
        ((1, 2, 3, 4), (4,), (), (1, 2, 3, 4)),
        ((1, 2, 3, 4, 5), (), (), (4, 5)),
        ((1, 2, 3, 4, 5), (5,), (1, 2, 3, 4), (4, 5)),
        ((1, 2, 3, 4, 5), (3, 4, 5), (1, 2), (3, 4, 5)),
        ((1, 2, 3, 4, 5), (9,), (4, 5), (4, 5)),
        ((1, 2, 3, 4, 5, 6), (9,), (1, 2, 3, 4, 5, 6), (1, 2, 3, 4, 5, 6)),
        ((1, 2, 3, 4, 5, 6), (9,), (2, 3), (5, 6)),
        ((5, 6), (9,), (1, 2), (5, 6)),
    ],
)
def test_what_was_sent_stays_until_new_pictures_make_too_many(
    found: Sequence[int], burst: Sequence[int], sent: Sequence[int], chosen: Sequence[int]
) -> None:
    assert [image.id for image in choose_images(keys(*found), burst, sent)] == list(chosen)


@pytest.mark.parametrize(
    ("budget", "sent"), [(600, ""), (2 * IMAGE_TOKENS, "c"), (3 * IMAGE_TOKENS, "bc"), (8 * IMAGE_TOKENS, "abc")]
)
async def test_in_a_small_window_words_come_before_pictures(budget: int, sent: str) -> None:
    row = make_row("look " * 50)
    rows = [
        ImageRow(id=number, message_id=row.id, media_type="image/png", data=name.encode())
        for number, name in enumerate("abc")
    ]
    builder = PromptBuilder(sections=(), count=len, section_timeout_ms=0)
    prompt = await builder.build(make_turn(row, images=tuple(rows), budget=budget), factor=1)
    assert [image.data.decode() for image in prompt.messages[0].images] == list(sent)
    assert prompt.messages[0].text == row.text
    assert prompt.tokens <= budget
