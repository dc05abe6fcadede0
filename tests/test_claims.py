"""Reading of claims: objects and mappings of every kind, and what cannot be used."""

from __future__ import annotations

import math
from collections import UserDict, namedtuple
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from pydantic import BaseModel

from consilience import SettingsError
from consilience.evidence._claims import ClaimReader, TripleReader
from consilience.evidence._values import UnusableClaim, confidence_of

PLAIN = {
    "subject": " Ada ",
    "predicate": "born_in",
    "object_value": "London",
    "confidence": 0.8,
    "fragment_key": "page 2",
    "evidence": {"source_iri": "https://example.org/a", "excerpt": "Ada was born in London."},
}
READ = ("Ada", "born_in", "London"), (0.8, "https://example.org/a", "page 2", "Ada was born in London.")


class Evidence(BaseModel):
    source_iri: str
    excerpt: str


class Model(BaseModel):
    subject: str
    predicate: str
    object_value: str
    confidence: float
    fragment_key: str
    evidence: Evidence


@dataclass(frozen=True, slots=True)
class Slotted:
    subject: str
    predicate: str
    object_value: str
    confidence: float
    fragment_key: str
    evidence: Any


Named = namedtuple("Named", list(PLAIN))


@pytest.mark.parametrize(
    "triple",
    [
        PLAIN,
        UserDict(PLAIN),
        SimpleNamespace(**PLAIN),
        Named(**PLAIN),
        Model(**PLAIN),
        Slotted(**{**PLAIN, "evidence": SimpleNamespace(**PLAIN["evidence"])}),
    ],
    ids=lambda triple: type(triple).__name__,
)
def test_a_triple_of_any_kind(triple: Any) -> None:
    assert TripleReader().read(triple) == READ


@pytest.mark.parametrize(
    "evidence", [None, {}, {"source_iri": None}, {"source_iri": "  "}, SimpleNamespace(source_iri=None)], ids=repr
)
def test_a_source_that_is_not_known(evidence: Any) -> None:
    _, sighting = TripleReader().read({**PLAIN, "evidence": evidence, "fragment_key": None})
    assert sighting == (0.8, "", "", "")


def test_members_of_enumerations_of_text_are_their_values() -> None:
    class Source(str, Enum):
        BLOG = "https://example.org/blog"

    _, sighting = TripleReader().read({**PLAIN, "evidence": {"source_iri": Source.BLOG, "excerpt": Source.BLOG}})
    assert sighting == (0.8, "https://example.org/blog", "page 2", "https://example.org/blog")
    assert type(sighting[1]) is type(sighting[3]) is str


def test_what_is_optional_may_be_left_out() -> None:
    bare = {name: PLAIN[name] for name in ("subject", "predicate", "object_value", "confidence")}
    assert TripleReader().read(bare) == (READ[0], (0.8, "", "", ""))


def test_names_and_keys_become_text() -> None:
    evidence = SimpleNamespace(source_iri=17, excerpt=None)
    _, sighting = TripleReader().read({**PLAIN, "fragment_key": 3, "evidence": evidence})
    assert sighting == (0.8, "17", "3", "")


@pytest.mark.parametrize("name", ["subject", "predicate", "object_value", "confidence"])
def test_what_is_needed_and_missing(name: str) -> None:
    for triple in ({**PLAIN, name: None}, {key: value for key, value in PLAIN.items() if key != name}):
        with pytest.raises(UnusableClaim, match=f"^{name} is missing$"):
            TripleReader().read(triple)


@pytest.mark.parametrize("evidence", ["https://example.org/a", [{"source_iri": "a"}], 3])
def test_evidence_without_a_place_for_the_source(evidence: Any) -> None:
    with pytest.raises(UnusableClaim, match="evidence has no source_iri, got"):
        TripleReader().read({**PLAIN, "evidence": evidence})


def test_an_object_value_of_which_equality_cannot_be_asked() -> None:
    components, _ = TripleReader().read({**PLAIN, "object_value": np.array([1, 2])})
    assert list(components[2]) == [1, 2]


# Confidences.


@pytest.mark.parametrize(
    ("value", "confidence"),
    [(1, 1.0), (0, 0.0), (Decimal("0.25"), 0.25), (Fraction(1, 4), 0.25), (np.float32(0.5), 0.5), (5e-324, 5e-324)],
)
def test_numbers_of_every_kind(value: Any, confidence: float) -> None:
    assert confidence_of(value) == confidence
    assert type(confidence_of(value)) is float


def test_zero_has_no_sign() -> None:
    assert math.copysign(1, confidence_of(-0.0)) == 1.0


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (None, "confidence is missing"),
        (math.nan, "confidence is NaN"),
        (Decimal("NaN"), "confidence is NaN"),
        (Decimal("sNaN"), "confidence is NaN"),
        (1.0000001, "confidence is not from 0 to 1"),
        (-1e-300, "confidence is not from 0 to 1"),
        (math.inf, "confidence is not from 0 to 1"),
        (85, "confidence is not from 0 to 1"),
        (10**400, "confidence is not from 0 to 1"),
        (True, "confidence is not a number"),
        ("0.8", "confidence is not a number"),
        ([0.8], "confidence is not a number"),
        (0.5j, "confidence is not a number"),
    ],
    ids=lambda value: str(value)[:20],
)
def test_what_is_no_confidence(value: Any, reason: str) -> None:
    with pytest.raises(UnusableClaim) as caught:
        confidence_of(value)
    assert caught.value.reason == reason
    assert str(caught.value).startswith(reason)


# Claims of any kind.


def read(claim: Any, **parts: Any) -> Any:
    return ClaimReader(
        **{"confidence": "confidence", "source": "source", "fragment": None, "excerpt": None, **parts}
    ).read(claim)


def test_a_claim_by_names() -> None:
    claim = {"team": " Billing", "confidence": 0.8, "source": "large ", "page": 3, "said": "billing!"}
    expected = ("Billing",), (0.8, "large", "3", "billing!")
    assert read(claim, key="team", fragment="page", excerpt="said") == expected
    assert read(SimpleNamespace(**claim), key="team", fragment="page", excerpt="said") == expected


def test_several_keys_and_functions() -> None:
    claim = {"a": "x", "b": None, "confidence": 0.5}
    sighting = (0.5, "", "", "")
    assert read(claim, key=("a", "b")) == (("x", None), sighting)
    assert read(claim, key=lambda each: (each["a"], each["b"])) == (("x", None), sighting)
    assert read(claim, key=("a", lambda each: len(each)), source=None) == (("x", 3), sighting)


def test_what_a_claim_lacks() -> None:
    with pytest.raises(UnusableClaim, match="key is missing"):
        read({"confidence": 0.5}, key="team")
    with pytest.raises(UnusableClaim, match="confidence is missing"):
        read({"team": "a"}, key="team")
    with pytest.raises(UnusableClaim, match="key raised KeyError"):
        read({"confidence": 0.5}, key=lambda claim: claim["team"])
    with pytest.raises(UnusableClaim, match="source raised TypeError"):
        read({"team": "a", "confidence": 0.5}, key="team", source=lambda claim: claim["team"] + 1)


async def later(claim: Any) -> str:
    return "x"


@pytest.mark.parametrize(
    ("parts", "error", "message"),
    [
        ({"key": None}, TypeError, "key must be a name or a plain function of a claim, got None"),
        ({"key": 3}, TypeError, "key must be"),
        ({"key": ("a", 3)}, TypeError, "key must be"),
        ({"key": ()}, SettingsError, "key must hold at least one name"),
        ({"key": later}, TypeError, "key must be a name or a plain function"),
        ({"key": "a", "confidence": None}, TypeError, "confidence must be"),
        ({"key": "a", "confidence": 0.5}, TypeError, "confidence must be"),
        ({"key": "a", "source": 3}, TypeError, "source must be"),
        ({"key": "a", "fragment": 3}, TypeError, "fragment must be"),
        ({"key": "a", "excerpt": 3}, TypeError, "excerpt must be"),
    ],
)
def test_parts_that_cannot_be(parts: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        read({}, **parts)
