"""Cards written by hand, as YAML cut down to what JSON can say: no tags that build objects, no aliases (X12)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import yaml

from bot.personas.card import CardError
from bot.personas.formats.text import as_card_mapping, decode, too_deep
from bot.sentences import Sentence, sentence

MAX_BYTES = 128 * 1024
"""Ours to choose: people write a few KiB by hand, and the parser needs about a second for this much."""


class _PlainLoader(yaml.SafeLoader):
    """The safe loader without aliases, which can blow a small file up, and without dates, sets and binary data."""

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            alias = self.peek_event()  # type: ignore[no-untyped-call]  # its stub has no annotation
            line = alias.start_mark.line + 1
            raise CardError("card-yaml-alias", "card-yaml-alias-remedy", line=line)
        return super().compose_node(parent, index)


def read_yaml(data: bytes) -> Mapping[Any, Any]:
    """Read a YAML mapping.

    Raises:
        CardError: too large, damaged, nested too deeply, uses an alias or a tag, or is no mapping.
    """
    text = decode(data, max_bytes=MAX_BYTES)
    try:
        return as_card_mapping(yaml.load(text, Loader=_PlainLoader))  # noqa: S506 - a subclass of SafeLoader
    except yaml.constructor.ConstructorError as error:
        raise CardError("card-yaml-tag", "card-yaml-tag-remedy", problem=_problem(error)) from error
    except yaml.YAMLError as error:
        raise CardError("card-yaml-damaged", "card-yaml-damaged-remedy", problem=_problem(error)) from error
    except RecursionError as error:
        raise too_deep() from error


def _problem(error: yaml.YAMLError) -> Sentence | str:
    """In the parser's own words."""
    if isinstance(error, yaml.MarkedYAMLError) and error.problem_mark:
        return sentence("card-line", line=error.problem_mark.line + 1, problem=str(error.problem))
    return str(getattr(error, "reason", error))


_JSON_TAGS = tuple(f"tag:yaml.org,2002:{name}" for name in ("null", "bool", "int", "float", "str", "seq", "map"))
_PlainLoader.yaml_constructors = {tag: yaml.SafeLoader.yaml_constructors[tag] for tag in (*_JSON_TAGS, None)}

# Only what JSON writes without quotes becomes more than text: a persona may be called No, 007 or 2026-01-01.
_PlainLoader.yaml_implicit_resolvers = {}
for _tag, _pattern, _first in (
    (_JSON_TAGS[0], r"null|~|", ["n", "~", ""]),
    (_JSON_TAGS[1], r"true|false", ["t", "f"]),
    (_JSON_TAGS[2], r"-?(?:0|[1-9][0-9]{0,18})", list("-0123456789")),
    (_JSON_TAGS[3], r"-?(?:0|[1-9][0-9]{0,18})\.[0-9]{1,18}(?:[eE][-+]?[0-9]{1,3})?", list("-0123456789")),
):
    _PlainLoader.add_implicit_resolver(_tag, re.compile(rf"(?:{_pattern})\Z"), _first)
