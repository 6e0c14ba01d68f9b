"""What a card asks for besides text, in `extensions.familiar`: a model and tool groups. Asking grants nothing (P24).

Knows no rights: who accepts it is the business of commands.
"""

from __future__ import annotations

from dataclasses import dataclass

from bot.personas.card import PersonaCard

MAX_GROUPS = 20
MAX_LENGTH = 100
"""Of one name. Both ours to choose: what is asked for is shown in a question that people can read."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Proposals:
    """A model by its full name, "" for none, and groups of tools."""

    model: str = ""
    tool_groups: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.model or self.tool_groups)


NO_PROPOSALS = Proposals()


def proposals_of(card: PersonaCard) -> Proposals:
    """What a card asks for; a value that is no name, or is longer than one, is none."""
    model, groups = own_extension(card, "model"), own_extension(card, "tool_groups")
    named = (_name(group) for group in groups[:MAX_GROUPS]) if isinstance(groups, list) else ()
    return Proposals(model=_name(model), tool_groups=tuple(dict.fromkeys(filter(None, named))))


def own_extension(card: PersonaCard, key: str) -> object:
    """A value of `extensions.familiar`, the part of a card that is ours by the specification's custom."""
    own = card.extensions.get("familiar")
    return own.get(key) if isinstance(own, dict) else None


def _name(value: object) -> str:
    name = " ".join(value.split()) if isinstance(value, str) else ""
    return name if len(name) <= MAX_LENGTH and name.isprintable() else ""
