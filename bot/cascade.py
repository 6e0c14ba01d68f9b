"""Which persona answers another one: the first whom a reply calls, so often and no more."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from bot.dispatch import TurnRequest
from bot.gate import first_call, first_word
from bot.turn import Peer, Turn


def follow(turn: Turn, request: TurnRequest, reply_id: int, text: str) -> tuple[TurnRequest, ...]:
    """The turn that follows from a reply, if there is one. It has the rights of whoever began, and nobody waits for it.

    A chain of such turns cannot fork, so that `CAST_CASCADE` bounds what one answer to a human brings.
    """
    if request.cascade >= turn.settings.values.cast_cascade:
        return ()
    names = tuple(name for peer in turn.peers for name in peer.names)
    called = sorted(
        (at, peer.persona_id) for peer in turn.peers if (at := _first_called(peer, text, names)) is not None
    )
    return tuple(
        replace(
            request,
            message_id=None,
            raises=None,
            reply_to=None,
            reply_handle=None,
            persona_id=persona_id,
            follows=reply_id,
            cascade=request.cascade + 1,
            channel=None,
        )
        for _, persona_id in called[:1]
    )


def _first_called(peer: Peer, text: str, others: Iterable[str]) -> int | None:
    places = (first_call(text, peer.names, others), first_word(text, peer.words))
    return min((at for at in places if at is not None), default=None)
