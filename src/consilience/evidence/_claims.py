"""Claims: reading one sighting, its components and its provenance, from objects of any kind."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from inspect import iscoroutinefunction
from sys import intern
from typing import Any, ClassVar, Protocol

from .._errors import SettingsError, received
from ._identity import Components, spelled
from ._provenance import Sighting
from ._values import UnusableClaim, confidence_of, text_of

__all__ = ["ClaimReader", "Reader", "TripleReader"]

_MISSING: Any = object()


class Reader(Protocol):
    """Reads claims of one kind."""

    noun: ClassVar[str]
    """What messages call a claim of this kind."""

    def read(self, claim: Any) -> tuple[Components, Sighting]:
        """What is claimed, and by whom.

        Raises:
            UnusableClaim: a part that is needed is missing or cannot be used.
        """
        ...

    def show(self, claim: Any) -> str:
        """The claim for a message."""
        ...


class TripleReader:
    """Reads objects and mappings with the names of a triple."""

    noun: ClassVar[str] = "triple"

    _COMPONENTS = ("subject", "predicate", "object_value")

    def read(self, claim: Any) -> tuple[Components, Sighting]:
        get = _getter(claim)
        components = spelled(
            (get("subject", None), get("predicate", None), get("object_value", None)), self._COMPONENTS
        )
        source, excerpt = _evidence(get("evidence", None))
        return components, (confidence_of(get("confidence", None)), source, text_of(get("fragment_key", None)), excerpt)

    def show(self, claim: Any) -> str:
        get = _getter(claim)
        return f"({', '.join(received(get(name, None)) for name in self._COMPONENTS)})"


class ClaimReader:
    """Reads claims by the parts that it is given: names of fields or attributes, or functions of a claim.

    Raises:
        TypeError: a part is neither.
        SettingsError: ``key`` is an empty tuple.
    """

    noun: ClassVar[str] = "claim"

    def __init__(self, *, key: Any, confidence: Any, source: Any, fragment: Any, excerpt: Any) -> None:
        if isinstance(key, tuple) and not key:
            raise SettingsError("key must hold at least one name, got ()")
        self._key = [_part("key", part) for part in (key if isinstance(key, tuple) else (key,))]
        self._confidence = _part("confidence", confidence)
        self._source = _optional_part("source", source)
        self._fragment = _optional_part("fragment", fragment)
        self._excerpt = _optional_part("excerpt", excerpt)

    def read(self, claim: Any) -> tuple[Components, Sighting]:
        return self._components(claim), (
            confidence_of(self._confidence(claim, None)),
            _source_name(self._source(claim, None)),
            text_of(self._fragment(claim, None)),
            text_of(self._excerpt(claim, None)),
        )

    def show(self, claim: Any) -> str:
        return received(claim)

    def _components(self, claim: Any) -> Components:
        values = [part(claim, _MISSING) for part in self._key]
        if any(value is _MISSING for value in values):
            raise UnusableClaim("key is missing")
        several = values[0] if len(values) == 1 and isinstance(values[0], tuple) else values
        return spelled(several)


_Part = Callable[[Any, Any], Any]
"""What gives one part of a claim, or a default."""


def _part(argument: str, part: Any) -> _Part:
    if isinstance(part, str):
        return lambda claim, default: _getter(claim)(part, default)
    if not callable(part) or iscoroutinefunction(part):
        raise TypeError(f"{argument} must be a name or a plain function of a claim, got {received(part)}")

    def guarded(claim: Any, _default: Any) -> Any:
        try:
            return part(claim)
        except Exception as error:
            raise UnusableClaim(f"{argument} raised {type(error).__name__}") from error

    return guarded


def _optional_part(argument: str, part: Any) -> _Part:
    return _part(argument, part) if part is not None else lambda _claim, default: default


def _getter(holder: Any) -> Callable[[str, Any], Any]:
    """What gives a named part of an object or mapping, or a default."""
    if type(holder) is dict or isinstance(holder, Mapping):  # the first test is for speed
        get: Callable[[str, Any], Any] = holder.get
        return get
    return lambda name, default: getattr(holder, name, default)


def _evidence(evidence: Any) -> tuple[str, str]:
    """Source and excerpt."""
    if evidence is None:
        return "", ""
    get = _getter(evidence)
    source = get("source_iri", _MISSING)
    if source is _MISSING:
        if not isinstance(evidence, Mapping):  # text or a list, say, of which the source would silently be unknown
            raise UnusableClaim("evidence has no source_iri", evidence)
        source = ""
    return _source_name(source), text_of(get("excerpt", ""))


def _source_name(source: Any) -> str:
    """The name without outer space, kept once however many sightings have it."""
    return intern(text_of(source).strip())
