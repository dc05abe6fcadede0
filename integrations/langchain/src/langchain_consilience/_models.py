"""Models in chains: finding them, to ask each sample of them with a seed, or behind a cache, of its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from langchain_core.caches import BaseCache
from langchain_core.language_models import BaseLanguageModel, BaseLLM
from langchain_core.runnables import Runnable, RunnableBinding
from langchain_core.runnables.configurable import RunnableConfigurableAlternatives, RunnableConfigurableFields
from pydantic import BaseModel

from ._cache import SaltedCache

__all__ = ["has_language_model", "has_text_model", "salted", "seeded"]

_SPREAD = 1_000_003
"""How far apart the seeds of two samples' own samples are, in votes within votes."""

_LARGEST = 2**31
"""What every provider takes for a seed."""


def seeded(chain: Any, index: int) -> Any:
    """The chain with ``seed=index`` bound to every language model in it.

    Binding the chain itself would reach its first step only. What is walked: the fields of sequences, parallel steps,
    branches, retries, fallbacks, assignments, maps and bindings, and whatever else keeps runnables in pydantic fields.
    What a function calls cannot be seen. A seed that is bound already is the start that the samples count from.

    Args:
        chain: a runnable.
        index: the number of the sample.

    Returns:
        A new chain; the given one where it holds no language model.

    Example:
        >>> from langchain_core.language_models import FakeListChatModel
        >>> seeded(FakeListChatModel(responses=["{}"]), 3).kwargs
        {'seed': 3}
    """
    return _walked(chain, lambda model, given: model.bind(**{**given, "seed": _seed(model, given, index)}))


def salted(chain: Any) -> Any:
    """The chain with a ``SaltedCache`` in front of every cache that a language model in it has for itself.

    Example:
        >>> from langchain_core.caches import InMemoryCache
        >>> from langchain_core.language_models import FakeListChatModel
        >>> type(salted(FakeListChatModel(responses=["{}"], cache=InMemoryCache())).bound.cache).__name__
        'SaltedCache'
    """

    def salt(model: Any, _: Mapping[str, Any]) -> Any:
        cache = getattr(model, "cache", None)
        if isinstance(cache, BaseCache) and not isinstance(cache, SaltedCache):
            model = model.model_copy(update={"cache": SaltedCache(cache)})
        return model.bind()

    return _walked(chain, salt)


def has_language_model(chain: Any) -> bool:
    """Whether the walk of ``seeded`` finds a language model.

    Example:
        >>> from langchain_core.runnables import RunnableLambda
        >>> has_language_model(RunnableLambda(len))
        False
    """
    return bool(_models_in(chain))


def has_text_model(chain: Any) -> bool:
    """Whether the walk finds a model for plain text: of its cache hits LangChain announces nothing.

    Example:
        >>> from langchain_core.language_models import FakeListLLM
        >>> has_text_model(FakeListLLM(responses=["{}"]))
        True
    """
    return any(isinstance(model, BaseLLM) for model in _models_in(chain))


def _models_in(chain: Any) -> list[Any]:
    found: list[Any] = []

    def note(model: Any, _: Mapping[str, Any]) -> Any:
        found.append(model)
        return model.bind()

    _walked(chain, note)
    return [each.default if isinstance(each, RunnableConfigurableFields) else each for each in found]


def _seed(model: Any, given: Mapping[str, Any], index: int) -> int:
    start = given.get("seed", getattr(model, "seed", None))
    return (start * _SPREAD + index) % _LARGEST if isinstance(start, int) else index


Bind = Callable[[Any, Mapping[str, Any]], Any]


def _walked(part: Any, bind: Bind) -> Any:
    """``part`` with every language model in it replaced by what ``bind`` makes of it; ``part`` itself if none is."""
    if _is_model(part):
        return bind(part, {})
    if isinstance(part, RunnableBinding) and _is_model(part.bound):
        bound = bind(part.bound, part.kwargs)
        return part.model_copy(update={"bound": bound.bound, "kwargs": {**part.kwargs, **bound.kwargs}})
    if isinstance(part, RunnableConfigurableAlternatives):
        return _walked_alternatives(part, bind)
    if isinstance(part, RunnableConfigurableFields):
        # Its default is rebuilt from its fields for each call; only those of a chain can be walked.
        default = _walked(part.default, bind)
        return part if default is part.default else part.model_copy(update={"default": default})
    if isinstance(part, Runnable) and isinstance(part, BaseModel):
        return _walked_fields(part, bind)
    return part


def _is_model(part: Any) -> bool:
    """Whether seeds are bound to ``part`` from outside: a language model, also one with configurable fields."""
    return isinstance(part.default if isinstance(part, RunnableConfigurableFields) else part, BaseLanguageModel)


def _walked_fields(part: Any, bind: Bind) -> Any:
    fields = {name: getattr(part, name) for name in type(part).model_fields}
    walked = {name: _walked_inside(value, bind) for name, value in fields.items()}
    changes = {name: value for name, value in walked.items() if value is not fields[name]}
    return part.model_copy(update=changes) if changes else part


def _walked_inside(value: Any, bind: Bind) -> Any:
    """A field's value with the runnables in its lists, tuples and dicts walked."""
    if isinstance(value, Runnable):
        return _walked(value, bind)
    if isinstance(value, Mapping):
        walked = {name: _walked_inside(each, bind) for name, each in value.items()}
        return walked if any(walked[name] is not value[name] for name in value) else value
    if isinstance(value, list | tuple):
        items = [_walked_inside(each, bind) for each in value]
        return type(value)(items) if any(a is not b for a, b in zip(items, value, strict=True)) else value
    return value


def _walked_alternatives(part: Any, bind: Bind) -> Any:
    """The alternatives that a config chooses from; those given as functions are made, and walked, when chosen."""

    def alternative(given: Any) -> Any:
        return _walked(given, bind) if isinstance(given, Runnable) else lambda: _walked(given(), bind)

    default = _walked(part.default, bind)
    alternatives = {name: alternative(given) for name, given in part.alternatives.items()}
    return part.model_copy(update={"default": default, "alternatives": alternatives})
