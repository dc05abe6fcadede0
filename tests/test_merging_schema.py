"""The schema: fields that do not fit are dropped one by one, and nothing else is."""

from __future__ import annotations

import pytest

from consilience.merging import merge
from consilience.merging._paths import Path
from consilience.merging._schema import JsonSchema

CITY = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "zip": {"type": "string"}},
    "additionalProperties": False,
}
OPTIONAL = {
    "type": "object",
    "properties": {"a": {"anyOf": [{"$ref": "#/$defs/City"}, {"type": "null"}]}},
    "$defs": {"City": {**CITY, "required": ["city"]}},
}


def texts(paths: tuple[Path, ...]) -> list[str]:
    return [str(path) for path in paths]


@pytest.mark.parametrize("keyword", ["additionalProperties", "unevaluatedProperties"])
def test_only_the_extra_key_goes(keyword):
    city = {"type": "object", "properties": {"city": {"type": "string"}}, keyword: False}
    nested = {"type": "object", "properties": {"a": city}}
    result = merge([{"a": {"city": "X", f"e{number}": 1}} for number in range(3)], schema=nested)
    assert (result.value, result.fields_dropped) == ({"a": {"city": "X"}}, 3)
    result = merge([{"city": "X", "e": 1}] * 3, schema=city)
    assert (result.value, result.fields_dropped) == ({"city": "X"}, 3)


def test_a_key_whose_name_is_not_allowed_goes():
    cleaned = JsonSchema({"propertyNames": {"pattern": "^a"}}).clean({"a": 1, "b": 2, "ab": 3})
    assert (cleaned.record, texts(cleaned.dropped)) == ({"a": 1, "ab": 3}, ["b"])


@pytest.mark.parametrize("keyword", ["anyOf", "oneOf"])
def test_alternatives_lose_the_bad_field_and_not_the_object(keyword):
    schema = {"type": "object", "properties": {"a": {keyword: [{**CITY, "required": ["city"]}, {"type": "null"}]}}}
    cleaned = JsonSchema(schema).clean({"a": {"city": "X", "zip": 1, "more": 2}})
    assert (cleaned.record, texts(cleaned.dropped)) == ({"a": {"city": "X"}}, ["a.more", "a.zip"])
    assert JsonSchema(schema).clean({"a": 5}).record == {}
    assert JsonSchema(schema).clean({"a": None}).record == {"a": None}


def test_an_optional_object_by_reference():
    revisions = [{"a": {"city": "X", "zip": 1}}, {"a": {"city": "X", "zip": "9"}}, {"a": {"city": "X", "zip": 2}}]
    result = merge(revisions, schema=OPTIONAL, weights=None, min_agreement=1 / 3)
    assert result.fields["a.city"].support == 1.0
    assert result.fields_dropped == 2
    absent = merge([{"a": {"zip": "9"}}] * 2, schema=OPTIONAL)
    assert (absent.reason, texts(absent.missing), absent.partial) == ("incomplete", ["a.city"], {"a": {"zip": "9"}})


def test_a_constant_tells_which_alternative_was_meant():
    def kind(name: str, **fields: str) -> dict:
        types = {key: {"type": value} for key, value in fields.items()}
        return {"type": "object", "properties": {"kind": {"const": name}, **types}}

    schema = JsonSchema({"properties": {"pet": {"oneOf": [kind("dog", b="string"), kind("cat", n="integer")]}}})
    cleaned = schema.clean({"pet": {"kind": "cat", "n": "x"}})
    assert (cleaned.record, texts(cleaned.dropped)) == ({"pet": {"kind": "cat"}}, ["pet.n"])


def test_a_record_of_another_kind_is_no_revision():
    result = merge([{"city": "X"}, {"city": "X"}, 3], schema=CITY)
    assert result.value == {"city": "X"}
    assert [sample.ok for sample in result.samples] == [True, True, False]
