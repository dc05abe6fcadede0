"""The pydantic model as a schema: it reads every revision itself, and what it objects to is dropped."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from ._annotations import alternatives, below, models_in
from ._declared import Declared
from ._forms import comparable_form
from ._incomplete import incomplete_validator
from ._layout import Layout, ModelLayout
from ._paths import Path
from ._resolvers import OMIT
from ._revisions import plain_json
from ._schema import Built, Cleaned, outermost, without

__all__ = ["PydanticModel", "model_schema"]

_UNREAD: Final = object()
_ABOUT_ABSENCE = frozenset({"missing", "too_short"})


class PydanticModel:
    """A pydantic model class; a field that it rejects does not cost the whole revision."""

    def __init__(self, model: Any) -> None:
        self._model = model
        self.layout: Layout = ModelLayout(model)
        self.rules = Declared(model)
        self.has_constraints = any(map(_validates_as_a_whole, (model, *models_in(model))))

    def clean(self, record: Any) -> Cleaned:
        """Drop the values that the model rejects until it accepts the rest, and write that in comparable form."""
        dropped: list[Path] = []
        read, wrong = self._attempt(record)
        while wrong:
            dropped += wrong
            record = without(record, wrong)
            if record is OMIT:
                return Cleaned(OMIT, tuple(dropped))
            read, wrong = self._attempt(record)
        if read is _UNREAD:
            read = self._read_incomplete(record)
        if read is not _UNREAD:
            record = comparable_form(read, record, self._read)
        return Cleaned(record, tuple(dropped))

    def build(self, merged: Any) -> Built:
        """The model's instance, if the merged record makes one."""
        from pydantic import ValidationError

        try:
            return Built(self._validated(merged))
        except ValidationError as error:
            errors = error.errors(include_url=False, include_context=False, include_input=False)
        except Exception as error:
            return Built(None, inconsistent=True, message=f"a validator raised {type(error).__name__}: {error}")
        traces = [_trace(self._model, merged, each) for each in errors]
        missing = sorted({trace.place for trace in traces if not trace.is_model_wide}, key=str)
        return Built(None, tuple(missing), not missing, str(errors[0]["msg"]))

    def _validated(self, record: Any) -> Any:
        # Validators may change what they are given.
        return self._model.model_validate(plain_json(record))

    def _attempt(self, record: Any) -> tuple[Any, list[Path]]:
        """What the model makes of a record, or the values that it objects to (none if it objects to the whole)."""
        from pydantic import ValidationError

        try:
            return self._validated(record), []
        except ValidationError as error:
            errors = error.errors(include_url=False, include_context=False, include_input=False)
            return _UNREAD, outermost(_to_drop([_trace(self._model, record, each) for each in errors]))
        except Exception:
            breaking = self._breaking(record, lambda part: part, Path())
            return _UNREAD, outermost(_to_drop([_trace(self._model, record, {"loc": path}) for path in breaking]))

    def _breaking(self, value: Any, around: Callable[[Any], Any], path: Path) -> Iterator[Path]:
        """The innermost values that are enough to make a validator raise what is no validation error.

        ``around`` gives the record in which a value stands alone, with nothing beside it.
        """
        parts: list[tuple[str | int, Any]] = []
        if type(value) is dict:
            parts = list(value.items())
        elif type(value) is list:
            parts = list(enumerate(value))
        if parts and self._breaks(around(type(value)())):
            return

        def around_part(step: str | int, part: Any) -> Any:
            return around({step: part} if type(value) is dict else [part])

        breaking = [(step, part) for step, part in parts if self._breaks(around_part(step, part))]
        for step, part in breaking:
            yield from self._breaking(part, functools.partial(around_part, step), Path((*path, step)))
        if not breaking and path:
            yield path

    def _breaks(self, record: Any) -> bool:
        """Whether a validator raises what is no validation error, other than one of a whole model."""
        from pydantic import ValidationError

        try:
            self._incomplete.validate_python(plain_json(record))
        except ValidationError:
            return False
        except Exception:
            return True
        return False

    def _read(self, record: Any) -> Any:
        """What the model makes of a record, in which fields may be missing."""
        read, _ = self._attempt(record)
        return self._read_incomplete(record) if read is _UNREAD else read

    def _read_incomplete(self, record: Any) -> Any:
        try:
            return self._incomplete.validate_python(plain_json(record))
        except Exception:
            return _UNREAD

    @functools.cached_property
    def _incomplete(self) -> Any:
        return incomplete_validator(self._model)


@functools.lru_cache(maxsize=64)
def model_schema(model: Any) -> PydanticModel:
    """The schema of a pydantic model class; made once, because its validators take longer to build than to run."""
    return PydanticModel(model)


@dataclass(frozen=True, slots=True)
class _Trace:
    """An error of a model, traced to the value in the record that it is about.

    ``place`` is where a value would have to change: below ``path`` if something is missing there. ``branches`` are the
    alternatives of unions that were tried on the way: where, and which. ``absent`` says that the error is about
    something that is not there.
    """

    path: Path
    place: Path
    branches: tuple[tuple[Path, str | int], ...]
    absent: bool
    is_model_wide: bool


def _trace(model: Any, record: Any, error: Mapping[str, Any]) -> _Trace:
    location, kind = error["loc"], error.get("type", "")
    path, value, annotation = Path(), record, model
    branches: list[tuple[Path, str | int]] = []
    absent, lacking = kind in _ABOUT_ABSENCE, location[-1:] if kind == "missing" else ()
    for step in location[:-1] if kind == "missing" else location:
        if type(value) is list and isinstance(step, int) and step < len(value):
            if not _drops_items(annotation):
                break
        elif type(value) is not dict or step not in value:
            types = list(alternatives(annotation))
            if len(types) > 1:
                branches.append((path, step))
            elif step != "[key]" and type(value) is dict and types and hasattr(types[0], "model_fields"):
                absent, lacking = True, (step,)
            continue
        path, value, annotation = Path((*path, step)), value[step], below(annotation, step)
    on_model = type(value) is dict and any(hasattr(each, "model_fields") for each in alternatives(annotation))
    is_model_wide = on_model and not absent and not kind.startswith("union_tag")
    return _Trace(path, Path((*path, *lacking)), tuple(branches), absent, is_model_wide)


def _drops_items(annotation: Any) -> bool:
    """Whether the items of a list may be dropped: not from a tuple, where each position has its meaning."""
    return any(below(each, 0) is not None for each in alternatives(annotation))


def _to_drop(traces: Sequence[_Trace]) -> Iterator[Path]:
    """The values that have to go; where every alternative of a union failed, the value as a whole."""
    tried: dict[Path, set[str | int]] = {}
    for trace in traces:
        for place, branch in trace.branches:
            tried.setdefault(place, set()).add(branch)
    for trace in traces:
        failed = next((place for place, _ in trace.branches if len(tried[place]) > 1), None)
        if failed is not None:
            yield failed
        elif not (trace.absent or trace.is_model_wide):
            yield trace.path


def _validates_as_a_whole(model: Any) -> bool:
    return bool(model.__pydantic_decorators__.model_validators or model.__pydantic_decorators__.root_validators)
