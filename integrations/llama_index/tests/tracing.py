"""A span handler and an event handler of LlamaIndex's instrumentation that keep all they see."""

from __future__ import annotations

import inspect
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from llama_index.core.bridge.pydantic import Field, PrivateAttr
from llama_index.core.instrumentation import get_dispatcher
from llama_index.core.instrumentation.event_handlers import BaseEventHandler
from llama_index.core.instrumentation.events.base import BaseEvent
from llama_index.core.instrumentation.span import BaseSpan
from llama_index.core.instrumentation.span_handlers.base import BaseSpanHandler

_LOCK = threading.Lock()


class Spans(BaseSpanHandler[BaseSpan]):
    """Remembers the parent of every span, and which were closed or dropped."""

    _parents: dict[str, str | None] = PrivateAttr(default_factory=dict)
    _closed: list[str] = PrivateAttr(default_factory=list)
    _dropped: list[str] = PrivateAttr(default_factory=list)

    @property
    def parents(self) -> dict[str, str | None]:
        return self._parents

    @property
    def closed(self) -> list[str]:
        return self._closed

    @property
    def dropped(self) -> list[str]:
        return self._dropped

    def new_span(
        self, id_: str, bound_args: inspect.BoundArguments, instance: Any = None, parent_span_id: Any = None, **_: Any
    ) -> BaseSpan:
        with _LOCK:
            self.parents[id_] = parent_span_id
        return BaseSpan(id_=id_, parent_id=parent_span_id)

    def prepare_to_exit_span(self, id_: str, *_: Any, **__: Any) -> BaseSpan | None:
        with _LOCK:
            self.closed.append(id_)
        return self.open_spans[id_]

    def prepare_to_drop_span(self, id_: str, *_: Any, **__: Any) -> BaseSpan | None:
        with _LOCK:
            self.dropped.append(id_)
        return self.open_spans[id_]

    def named(self, name: str) -> list[str]:
        return [id_ for id_ in self.parents if id_.startswith(name + "-")]

    def path(self, id_: str) -> list[str]:
        """The names of a span and of all above it, from the top."""
        names: list[str] = []
        place: str | None = id_
        while place is not None:
            names.insert(0, place.partition("-")[0])
            place = self.parents.get(place)
        return names


class Events(BaseEventHandler):
    """Remembers every event."""

    seen: list[Any] = Field(default_factory=list)

    @classmethod
    def class_name(cls) -> str:
        return "Events"

    def handle(self, event: BaseEvent, **_: Any) -> None:
        with _LOCK:
            self.seen.append(event)

    def named(self, name: str) -> list[Any]:
        return [event for event in self.seen if event.class_name() == name]


@contextmanager
def traced() -> Iterator[tuple[Spans, Events]]:
    """Watch all that happens inside the block."""
    root = get_dispatcher("root")
    spans, events = Spans(), Events()
    before = root.span_handlers, root.event_handlers
    root.span_handlers, root.event_handlers = [*before[0], spans], [*before[1], events]
    try:
        yield spans, events
    finally:
        root.span_handlers, root.event_handlers = before
