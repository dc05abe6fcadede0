"""Nested values: merging them raises nothing and changes nothing, however little of its stack the caller has left."""

from __future__ import annotations

import contextvars
import dataclasses
import sys
from collections.abc import Callable
from typing import Annotated, Any

import pytest
from pydantic import BaseModel

from consilience._stack import nesting, on_a_fresh_stack, with_room
from consilience.merging import Keyed, consensus, merge, prefer_most_common_resolver
from consilience.merging._merge import Merger
from consilience.merging._settings import ConsensusSettings

LEAST = 60
"""The frames that a call of merge needs to reach the place where it looks for more."""


def frames_left() -> int:
    """How many functions can be called within each other from here."""

    def descend(number: int) -> int:
        try:
            return descend(number + 1)
        except RecursionError:
            return number

    return descend(0)


def with_frames_left(left: int, work: Callable[[], Any]) -> Any:
    """What some work gives when it is called from so deep that only so many frames are left."""

    def descend(frames: int) -> Any:
        return descend(frames - 1) if frames > 0 else work()

    return descend(frames_left() - left)


def nested(depth: int, leaf: Any, wrap: Callable[[Any], Any]) -> Any:
    for _ in range(depth):
        leaf = wrap(leaf)
    return leaf


WRAPS = {
    "lists": lambda inner: [inner],
    "objects": lambda inner: {"a": inner},
    "both": lambda inner: {"a": [inner, 1]},
    "items": lambda inner: [{"id": "x", "a": inner}, {"id": "y", "b": 1}],
}


class Tree(BaseModel):
    name: str = ""
    kids: Annotated[list[Tree], Keyed("name")] = []


@pytest.mark.parametrize("wrap", WRAPS.values(), ids=WRAPS)
@pytest.mark.parametrize("depth", [1, 20, 50])
def test_a_merge_is_the_same_wherever_it_is_called_from(wrap, depth):
    def work() -> Any:
        options = {"constraints": [lambda record: False], "max_repairs": 5}
        result = merge(revisions, conflict_resolver=prefer_most_common_resolver, **options)
        for path in result.fields:
            assert result.fields[path].candidates
        return result

    revisions = [nested(depth, leaf, wrap) for leaf in (1, 1, [])]
    expected = work()
    for left in (LEAST, 150, 400, 700):
        assert with_frames_left(left, work) == expected


@pytest.mark.parametrize("wrap", [WRAPS["lists"], WRAPS["objects"]], ids=["lists", "objects"])
def test_the_deepest_values_that_are_taken_merge_from_anywhere(wrap):
    def told() -> Any:
        return [(str(path), found.value, found.status) for path, found in merged[-1].fields.items()]

    merged = []
    revisions = [nested(200, leaf, wrap) for leaf in (1, 1, 2)]
    merged.append(merge(revisions, weights=None))
    expected = told()
    for left in (LEAST, 400, 800):
        merged.append(with_frames_left(left, lambda: merge(revisions, weights=None)))
        assert with_frames_left(left, told) == expected
        assert with_frames_left(left, merged[-1].explain) == merged[0].explain()


@pytest.mark.parametrize("depth", [3, 30])
def test_models_read_the_same_from_anywhere(depth):
    def work() -> Any:
        return merge(revisions, schema=Tree, weights=None)

    revisions = [nested(depth, leaf, lambda inner: {"name": "n", "kids": [inner]}) for leaf in ({}, {"name": 5}, {})]
    instances = [Tree.model_validate(revisions[0])]
    expected, depth_of_instances = work(), nesting(instances, 500)
    assert depth_of_instances >= depth
    for left in (LEAST, 200, 400):
        assert with_frames_left(left, work) == expected
        assert with_frames_left(left, lambda: merge(instances)).partial == merge(instances).partial


def test_a_consensus_is_the_same_wherever_it_is_called_from():
    text = "[" * 190 + "1" + "]" * 190

    def work() -> Any:
        return consensus(lambda prompt: text, "?", n=4, weights=None, early_stop=True).partial

    assert with_frames_left(300, work) == work()
    sample = merge([{"a": 1}]).samples[0]
    merger = Merger(ConsensusSettings())
    assert with_frames_left(LEAST, lambda: merger.clean(sample)).record == {"a": 1}


def test_work_is_done_here_if_there_is_room():
    here = sys._getframe()
    assert with_room(100, lambda: sys._getframe(2)) is here
    assert with_room(sys.getrecursionlimit(), lambda: frames_left() > sys.getrecursionlimit() - 50)


def test_a_fresh_stack_knows_the_context_and_gives_back_what_was_raised():
    variable = contextvars.ContextVar("variable", default=0)
    variable.set(5)
    assert on_a_fresh_stack(variable.get) == 5
    with pytest.raises(ZeroDivisionError):
        on_a_fresh_stack(lambda: 1 / 0)
    with pytest.raises(SystemExit):
        on_a_fresh_stack(sys.exit)


def test_nesting():
    @dataclasses.dataclass(slots=True)
    class Holder:
        held: Any

    cyclic: list[Any] = []
    cyclic += [cyclic, cyclic]
    laughs: Any = [1]
    for _ in range(100):
        laughs = [laughs, laughs, laughs]
    assert [nesting([value], 50) for value in (1, [], [1, [2]], {"a": {"b": [1]}}, cyclic, laughs)] == [
        0,
        1,
        2,
        3,
        50,
        50,
    ]
    assert nesting([Holder(Holder([1]))], 50) == 3
    assert nesting([], 50) == 0
