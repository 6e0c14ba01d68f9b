"""What becomes of the schemas of strangers' tools: every model server takes them, and they stay small."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.tools.mcp.schema import MOST_CHARS, MOST_DESCRIBED, MOST_PARTS, fit_schema

TEXT = {"type": "string"}
WORDS = {
    "type", "properties", "required", "items", "enum", "anyOf", "description", "additionalProperties", "minimum",
    "maximum", "minItems", "maxItems",
}  # fmt: skip


def one(part: object, **beside: Any) -> dict[str, Any]:
    """What becomes of a single parameter."""
    fitted = fit_schema({"type": "object", "properties": {"it": part}, **beside})
    found: dict[str, Any] = fitted["properties"]["it"]
    return found


@pytest.mark.parametrize(
    ("given", "fitted"),
    [
        ({"type": "string", "format": "date-time", "default": "now", "title": "When", "examples": ["x"]}, TEXT),
        ({"type": "string", "pattern": "^a+$", "minLength": 1}, TEXT),
        ({"description": "Anything."}, {**TEXT, "description": "Anything."}),
        ({}, TEXT),
        (True, TEXT),
        ({"type": ["integer", "null"]}, {"type": "integer"}),
        ({"type": "null"}, TEXT),
        ({"anyOf": [{"type": "number"}, {"type": "null"}], "default": None}, {"type": "number"}),
        ({"oneOf": [TEXT, {"type": "integer"}]}, {"anyOf": [TEXT, {"type": "integer"}]}),
        ({"const": "yes"}, {"type": "string", "enum": ["yes"]}),
        ({"enum": ["a", "b", None]}, {"type": "string", "enum": ["a", "b"]}),
        ({"enum": [1, 2]}, {"type": "integer"}),
        ({"type": "string", "enum": [str(number) for number in range(500)]}, TEXT),
        ({"type": "array"}, {"type": "array", "items": TEXT}),
        ({"items": {"type": "integer"}, "maxItems": 3}, {"type": "array", "items": {"type": "integer"}, "maxItems": 3}),
        ({"type": "array", "prefixItems": [{"type": "number"}, TEXT]}, {"type": "array", "items": {"type": "number"}}),
        ({"type": "integer", "minimum": 1, "exclusiveMaximum": 9}, {"type": "integer", "minimum": 1}),
        ({"additionalProperties": TEXT}, {"type": "object", "properties": {}}),
        ({"allOf": [{"type": "object", "properties": {"a": TEXT}}, {"properties": {"b": TEXT}}]},
         {"type": "object", "properties": {"b": TEXT, "a": TEXT}}),
    ],
)  # fmt: skip
def test_what_servers_refuse_of_a_parameter_is_left_out(given: object, fitted: dict[str, Any]) -> None:
    assert one(given) == fitted


@pytest.mark.parametrize("place", ["$defs", "definitions"])
def test_references_are_replaced_by_what_they_refer_to(place: str) -> None:
    city = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
    told = one({"$ref": f"#/{place}/City", "description": "Where."}, **{place: {"City": city}})
    assert told == {**city, "description": "Where."}


def test_a_reference_to_nothing_or_to_elsewhere_is_any_text() -> None:
    assert one({"$ref": "#/$defs/Missing"}) == TEXT
    assert one({"$ref": "https://example.org/schema.json"}) == TEXT


def test_a_schema_that_holds_itself_ends() -> None:
    node = {"type": "object", "properties": {"left": {"$ref": "#/$defs/Node"}, "right": {"$ref": "#/$defs/Node"}}}
    fitted = fit_schema({"$ref": "#/$defs/Node", "$defs": {"Node": node}})
    assert sorted(fitted["properties"]) == ["left", "right"]
    assert len(json.dumps(fitted)) <= MOST_CHARS


@pytest.mark.parametrize("word", ["anyOf", "oneOf", "allOf", "$ref"])
def test_a_schema_of_nothing_but_itself_ends(word: str) -> None:
    loop: object = {"$ref": "#"} if word == "$ref" else [{"$ref": "#"}]
    assert fit_schema({word: loop if word != "$ref" else "#"}) == {"type": "object", "properties": {}}
    assert one({word: [{"$ref": "#/properties/it"}] if word != "$ref" else "#/properties/it"}) == TEXT


def test_a_choice_at_the_top_becomes_one_object_that_demands_what_all_demand() -> None:
    by_id = {"properties": {"id": {"type": "integer"}, "how": TEXT}, "required": ["id", "how"]}
    by_name = {"properties": {"name": TEXT, "how": TEXT}, "required": ["name", "how"]}
    fitted = fit_schema({"type": "object", "properties": {"all": {"type": "boolean"}}, "oneOf": [by_id, by_name]})
    assert sorted(fitted["properties"]) == ["all", "how", "id", "name"]
    assert fitted["required"] == ["how"]


@pytest.mark.parametrize("given", [None, {}, [], "x", {"type": "string"}, {"type": "object"}, {"properties": []}])
def test_whatever_is_no_object_takes_nothing(given: object) -> None:
    assert fit_schema(given) == {"type": "object", "properties": {}}


def test_demands_are_those_of_parameters_that_there_are() -> None:
    fitted = fit_schema({"properties": {"a": TEXT}, "required": ["a", "b", "a", 3], "additionalProperties": False})
    assert fitted == {"type": "object", "properties": {"a": TEXT}, "required": ["a"], "additionalProperties": False}


def test_a_huge_schema_loses_its_explanations_before_its_parameters() -> None:
    many = {f"parameter_{number}": {**TEXT, "description": "x" * 1000} for number in range(50)}
    fitted = fit_schema({"type": "object", "properties": many})
    assert len(fitted["properties"]) == 50
    assert len(json.dumps(fitted)) <= MOST_CHARS
    assert one({**TEXT, "description": "x" * 1000})["description"] == "x" * MOST_DESCRIBED


def _schemas() -> st.SearchStrategy[Any]:
    names = st.sampled_from(["a", "b", "it"])
    words = st.sampled_from(["string", "object", "array", "null", "integer", "strange"])
    references = st.sampled_from(["#", "#/$defs/a", "#/$defs/b", "#/properties/a", "#/a/0", "elsewhere"])

    def grown(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
        return st.fixed_dictionaries(
            {},
            optional={
                "type": st.one_of(words, st.lists(words, max_size=3), st.integers()),
                "properties": st.one_of(st.dictionaries(names, inner, max_size=3), inner),
                "items": st.one_of(inner, st.lists(inner, max_size=2)),
                "anyOf": st.lists(inner, max_size=3),
                "oneOf": st.one_of(inner, st.lists(inner, max_size=2)),
                "allOf": st.lists(inner, max_size=3),
                "$defs": st.dictionaries(names, inner, max_size=2),
                "$ref": references,
                "enum": st.lists(st.one_of(st.text(max_size=2), st.integers(), st.none(), st.booleans()), max_size=3),
                "const": st.one_of(st.text(max_size=2), st.floats(allow_nan=False)),
                "required": st.one_of(st.lists(names, max_size=3), inner),
                "minimum": st.one_of(st.integers(), st.text(max_size=1)),
                "description": st.one_of(st.text(max_size=5), st.integers()),
            },
        )

    return st.recursive(st.one_of(st.booleans(), st.none(), st.just({})), grown, max_leaves=12)


@given(_schemas())
def test_every_schema_becomes_one_that_is_whole_and_small_and_stays_as_it_is(schema: Any) -> None:
    fitted = fit_schema(schema)
    assert len(json.dumps(fitted, ensure_ascii=False)) <= MOST_CHARS
    assert fitted["type"] == "object"
    assert "anyOf" not in fitted
    for part in _parts(fitted):
        assert set(part) <= WORDS
        assert ("type" in part) != ("anyOf" in part)
        assert (part.get("type") == "array") == ("items" in part)
        assert (part.get("type") == "object") == ("properties" in part)
        assert set(part.get("required", ())) <= set(part.get("properties", ()))
    assert fit_schema(fitted) == fitted


def _parts(schema: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield schema
    for inner in (*schema.get("properties", {}).values(), *schema.get("anyOf", ()), schema.get("items")):
        if inner is not None:
            yield from _parts(inner)


class _Counted(Mapping[str, Any]):
    """A table that counts how often something of it is looked up."""

    def __init__(self, table: dict[str, Any]) -> None:
        self._table, self.looks = table, 0

    def __getitem__(self, key: str) -> Any:
        self.looks += 1
        return self._table[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._table)

    def __len__(self) -> int:
        return len(self._table)


@pytest.mark.parametrize("word", ["allOf", "anyOf"])
def test_a_schema_that_refers_to_a_large_one_many_times_makes_no_endless_work(word: str) -> None:
    names = [f"p{number}" for number in range(2_000)]
    large = _Counted({name: {word: [{"$ref": "#/$defs/large"}] * 2_000} for name in names})
    shared = {"type": "object", "properties": large, "required": names}
    root = {word: [{"$ref": "#/$defs/large"}] * 2_000, "$defs": {"large": shared}}
    fitted = fit_schema(root)
    assert len(json.dumps(fitted)) <= MOST_CHARS
    assert large.looks <= 8 * MOST_PARTS**2  # four runs, each with so many parts that have so many properties
