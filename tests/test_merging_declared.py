"""Declared comparators: whatever holds a value in a model, what is noted of it counts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Optional, Union

import pytest
from pydantic import BaseModel, Field, RootModel, create_model
from typing_extensions import NotRequired, TypeAliasType, TypedDict

from consilience import Exact, Ignore, Keyed, SettingsError, Similar, Tolerance, Unordered, merge
from consilience.merging._declared import Declared
from consilience.merging._paths import EACH, EVERY_KEY

Near = Annotated[float, Tolerance(0.1)]
Alias = TypeAliasType("Alias", Near)
WEIGHTS = (1.0, 1.05, 1.02)


class Part(BaseModel):
    v: Near


class Root(RootModel[Near]):
    pass


@dataclass
class Plain:
    v: Near


class Typed(TypedDict):
    v: NotRequired[Near]


class Tree(BaseModel):
    name: Annotated[str, Similar(0.8)]
    kids: Annotated[list[Tree], Keyed("name")] = []
    twin: Optional[Tree] = None  # noqa: UP045 - both ways to write it are read


class Nest(RootModel[list["Nest"]]):
    pass


class Either(RootModel[Union[Near, list["Either"]]]):  # noqa: UP007
    pass


@pytest.mark.parametrize(
    ("annotation", "form"),
    [
        (Near, lambda v: v),
        (Alias, lambda v: v),
        (Root, lambda v: v),
        (list[Alias], lambda v: [v]),
        (Part | None, lambda v: {"v": v}),
        (Plain, lambda v: {"v": v}),
        (Typed, lambda v: {"v": v}),
        (dict[str, Near], lambda v: {"k": v}),
        (Mapping[str, Part], lambda v: {"k": {"v": v}}),
        (dict[str, list[Plain]], lambda v: {"a.b": [{"v": v}], "": []}),
        (dict[str, dict[str, Root]], lambda v: {"a": {"b": v}}),
        (dict[str, tuple[Near, int]], lambda v: {"k": [v, 1]}),
        (list[Part | int], lambda v: [{"v": v}]),
        (Either, lambda v: [v, [[v]]]),
    ],
)
def test_a_comparator_counts_wherever_it_is_noted(annotation, form):
    model = create_model("Record", field=(annotation, ...))
    result = merge([{"field": form(weight)} for weight in WEIGHTS], schema=model, min_agreement=0.9)
    assert result.partial == {"field": form(1.0)}
    apart = merge([{"field": form(weight)} for weight in (1.0, 2.0, 3.0)], schema=model, min_agreement=0.9)
    assert apart.partial != {"field": form(1.0)}


@pytest.mark.parametrize("depth", [1, 2, 5, 20])
@pytest.mark.parametrize("hold", [lambda tree: {"kids": [tree]}, lambda tree: {"twin": tree}])
def test_a_model_within_itself_is_compared_at_every_depth(depth, hold):
    def tree(mark):
        record = {"name": f"leaf of oak {mark}"}
        for _ in range(depth):
            record = {"name": "branch", **hold(record)}
        return record

    result = merge(map(tree, "xyz"), schema=Tree, min_agreement=0.9)
    assert result.partial == tree("x")


def test_root_models_within_themselves():
    record = [[], [[]]]
    assert merge([record] * 3, schema=Nest).partial == record


def test_what_is_given_for_a_path_comes_before_what_is_declared():
    def record(mark):
        return {"name": "oak", "twin": {"name": "oak", "twin": {"name": f"leaf of oak {mark}"}}}

    below = {"twin.twin.name": Exact()}
    assert merge(map(record, "xyz"), schema=Tree, min_agreement=0.9, compare=below).partial == {
        "name": "oak",
        "twin": {"name": "oak"},
    }


def test_the_values_of_a_mapping_can_be_ignored_or_keyed():
    ignoring = create_model("Ignoring", d=(dict[str, Annotated[int, Ignore()]], ...))
    result = merge([{"d": {"x": 1}}, {"d": {"x": 2}}, {"d": {"x": 2}}], schema=ignoring)
    assert not result.fields
    items = create_model("Items", d=(dict[str, Annotated[list[Tree], Keyed("name")]], ...))
    lists = [[{"name": "a"}, {"name": "b"}], [{"name": "b"}, {"name": "a"}], [{"name": "b"}, {"name": "a"}]]
    assert merge([{"d": {"x": each}} for each in lists], schema=items).partial == {"d": {"x": lists[1]}}


def test_a_key_that_the_items_in_a_mapping_cannot_have_is_an_error():
    model = create_model("Wrong", d=(dict[str, Annotated[list[Part], Keyed("sku")]], ...))
    with pytest.raises(SettingsError, match=r"Keyed\('sku'\) of the schema's d\[\*\]: the schema has no room"):
        merge([{"d": {}}], schema=model)


def test_what_is_declared():
    class Shelf(BaseModel):
        books: Annotated[dict[str, list[Near]], Field(alias="b")]
        tags: Annotated[list[str], Unordered] = []

    assert dict(Declared(Shelf)) == {("b", EVERY_KEY, EACH): Tolerance(0.1), ("tags",): Unordered()}
    assert Declared(Shelf).at(("b", "any", EACH)) == Tolerance(0.1)
    assert Declared(Shelf).at(("b", "any")) is None
    assert Declared(Tree).at(("twin", "kids", EACH, "kids")) == Keyed("name")
