"""Makes of the JSON schema of a stranger's tool one that every model server takes, and that is not too large.

What servers refuse or misread goes: references, formats, defaults, a choice at the top, parts without a type (OpenAI's
guide on function calling; Gemini's reference on Schema). A tool still checks what it is given.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

Schema = dict[str, Any]

MOST_PARTS = 400
"""Parts of one schema that are looked at, and of one of its lists: one that refers to itself would never end."""

DEEPEST = 8
"""How deep parts may stand in parts; OpenAI takes 10 levels, Gemini fewer (their guides on structured output)."""

MOST_CHARS = 6_000
"""Of a whole schema as JSON, about 1,500 tokens: all of them are sent with every request. Ours to choose."""

MOST_DESCRIBED = 300
"""Characters of what is told about one part; ours to choose."""

MOST_CHOICES = 100
"""Values of a choice; a longer one is a text whose values the tool tells. Ours to choose."""

_TYPES = ("string", "number", "integer", "boolean", "array", "object")
_WORDS = (
    "$ref", "allOf", "anyOf", "oneOf", "type", "properties", "required", "additionalProperties", "items",
    "prefixItems", "const", "enum", "description",
)  # fmt: skip
_LIMITS = ("minimum", "maximum", "minItems", "maxItems")


def fit_schema(schema: object) -> Schema:
    """The schema of an object that says the same, as far as it may be said."""
    root = schema if isinstance(schema, Mapping) else {}
    for depth, is_told in ((DEEPEST, True), (DEEPEST, False), (3, False), (1, False)):
        fitted = _Fitting(root, deepest=depth, is_told=is_told).whole()
        if len(json.dumps(fitted, ensure_ascii=False)) <= MOST_CHARS:
            return fitted
    return _object({})


def _object(properties: Schema) -> Schema:
    return {"type": "object", "properties": properties}


class _Fitting:
    """One run over one schema."""

    def __init__(self, root: Mapping[str, Any], *, deepest: int, is_told: bool) -> None:
        self._root, self._deepest, self._is_told = root, deepest, is_told
        self._left = MOST_PARTS

    def whole(self) -> Schema:
        """The schema at the top: an object, its choices laid over one another."""
        merged = self._merged(self._root)
        choices = [self._merged(one) for word in ("anyOf", "oneOf") for one in _parts(merged.get(word))]
        if choices:
            properties = {name: part for one in choices for name, part in _table(one.get("properties")).items()}
            common = set.intersection(*(set(_words(one.get("required"))) for one in choices))
            merged = {
                **merged,
                "properties": {**properties, **_table(merged.get("properties"))},
                "required": [*_words(merged.get("required")), *sorted(common)],
            }
        return self._as_object(merged, 0)

    def _part(self, schema: object, depth: int) -> Schema:
        self._left -= 1
        if not isinstance(schema, Mapping) or self._left < 0:
            return {"type": "string"}
        merged = self._merged(schema)
        told = self._told(merged)
        choices = [*_parts(merged.get("anyOf")), *_parts(merged.get("oneOf"))]
        choices = [one for one in choices if not _is_null(one)]
        if len(choices) == 1:
            return self._part(
                {**{key: merged[key] for key in merged if key not in ("anyOf", "oneOf")}, **choices[0]}, depth
            )
        if choices and depth < self._deepest:
            return {"anyOf": [self._part(one, depth + 1) for one in choices[: max(1, self._left)]], **told}
        match _type_of(merged):
            case "object":
                return {**self._as_object(merged, depth), **told}
            case "array":
                return {**self._as_array(merged, depth), **told}
            case kind:
                return {"type": kind, **_choices_of(merged), **_limits_of(merged), **told}

    def _as_object(self, schema: Mapping[str, Any], depth: int) -> Schema:
        if depth >= self._deepest:
            return _object({})
        properties = {str(name): self._part(part, depth + 1) for name, part in _table(schema.get("properties")).items()}
        required = [name for name in dict.fromkeys(_words(schema.get("required"))) if name in properties]
        closed = {"additionalProperties": False} if schema.get("additionalProperties") is False else {}
        return {**_object(properties), **({"required": required} if required else {}), **closed}

    def _as_array(self, schema: Mapping[str, Any], depth: int) -> Schema:
        items = schema.get("items")
        if not isinstance(items, Mapping):  # true, or one schema for each place
            items = next(_parts(schema.get("prefixItems") or items), {})
        inner = self._part(items, depth + 1) if depth < self._deepest else {"type": "string"}
        return {"type": "array", "items": inner, **_limits_of(schema)}

    def _merged(self, schema: Mapping[str, Any]) -> Schema:
        """A schema with what it refers to and what holds besides laid into it."""
        merged, seen = _known(schema), set[str]()
        while self._left > 0:
            reference, others = merged.pop("$ref", None), [*_parts(merged.pop("allOf", None))]
            if isinstance(reference, str) and reference not in seen:
                seen.add(reference)
                others.insert(0, self._found(reference))
            if not others:
                break
            for other in others[: self._left]:
                self._left -= 1
                merged = _both(merged, _known(other))
        return merged

    def _found(self, reference: str) -> Mapping[str, Any]:
        found: object = self._root
        for step in reference.removeprefix("#").strip("/").split("/") if reference != "#" else ():
            found = found.get(step.replace("~1", "/").replace("~0", "~")) if isinstance(found, Mapping) else None
        return found if isinstance(found, Mapping) else {}

    def _told(self, schema: Mapping[str, Any]) -> Schema:
        told = schema.get("description")
        return {"description": told[:MOST_DESCRIBED]} if self._is_told and isinstance(told, str) and told else {}


def _both(one: Mapping[str, Any], other: Mapping[str, Any]) -> Schema:
    joined = {**other, **one}
    if "properties" in one and "properties" in other:
        joined["properties"] = {**_table(other["properties"]), **_table(one["properties"])}
    if "required" in one and "required" in other:
        joined["required"] = [*dict.fromkeys([*_words(one["required"]), *_words(other["required"])])]
    return joined


def _known(schema: Mapping[str, Any]) -> Schema:
    return {word: schema[word] for word in (*_WORDS, *_LIMITS) if word in schema}


def _type_of(schema: Mapping[str, Any]) -> str:
    """The one type of a part: the first that it tells, or what its other words mean."""
    told = schema.get("type")
    types = [one for one in (told if isinstance(told, list) else [told]) if one in _TYPES]
    if types:
        return str(types[0])
    if "properties" in schema or "additionalProperties" in schema:
        return "object"
    if "items" in schema or "prefixItems" in schema:
        return "array"
    values = _values_of(schema)
    return _kind(values[0]) if values else "string"


def _kind(value: object) -> str:
    match value:
        case bool():
            return "boolean"
        case int():
            return "integer"
        case float():
            return "number"
    return "string"


def _values_of(schema: Mapping[str, Any]) -> list[Any]:
    values = [schema["const"]] if "const" in schema else schema.get("enum")
    return [one for one in values if isinstance(one, str | int | float)] if isinstance(values, list) else []


def _choices_of(schema: Mapping[str, Any]) -> Schema:
    kind = _type_of(schema)
    values = [one for one in _values_of(schema) if _kind(one) == kind and one != ""]
    # Gemini takes a choice of texts alone.
    return {"enum": values} if kind == "string" and 0 < len(values) <= MOST_CHOICES else {}


def _limits_of(schema: Mapping[str, Any]) -> Schema:
    given = {name: schema.get(name) for name in _LIMITS}
    return {name: limit for name, limit in given.items() if isinstance(limit, int) and not isinstance(limit, bool)}


def _is_null(schema: Mapping[str, Any]) -> bool:
    return schema.get("type") == "null"


def _parts(value: object) -> Iterator[Mapping[str, Any]]:
    if isinstance(value, Sequence) and not isinstance(value, str):
        yield from (one for one in islice(value, MOST_PARTS) if isinstance(one, Mapping))


def _table(value: object) -> Mapping[str, Any]:
    return dict(islice(value.items(), MOST_PARTS)) if isinstance(value, Mapping) else {}


def _words(value: object) -> list[str]:
    return [one for one in value[:MOST_PARTS] if isinstance(one, str)] if isinstance(value, list) else []
