"""The cache: LangChain's cache of model replies, which makes samples identical."""

from __future__ import annotations

import threading
import warnings
from contextvars import ContextVar
from typing import Any

from langchain_core.caches import BaseCache
from langchain_core.globals import get_llm_cache, set_llm_cache

__all__ = ["CachedSamplesWarning", "SaltedCache", "enter_sample", "salt_the_cache", "warn_of_hits"]

_salt: ContextVar[str] = ContextVar("langchain_consilience_salt", default="")
_installing = threading.Lock()


class CachedSamplesWarning(UserWarning):
    """Samples of a vote came from LangChain's cache: they are copies of each other and agree because of that.

    ``vary="seed"`` asks each sample with a seed of its own; ``vary="cache"`` keeps one cache entry for each sample.

    Example:
        >>> issubclass(CachedSamplesWarning, UserWarning)
        True
    """


class SaltedCache(BaseCache):
    """Another cache, with an entry for each sample: samples differ, and running again replays them.

    Outside a vote with ``vary="cache"`` it is the cache that it wraps.

    Args:
        cache: the cache to wrap.

    Example:
        >>> from langchain_core.caches import InMemoryCache
        >>> cache = SaltedCache(InMemoryCache())
        >>> cache.update("prompt", "model", [])
        >>> cache.lookup("prompt", "model")
        []
    """

    def __init__(self, cache: BaseCache) -> None:
        self.cache = cache

    def lookup(self, prompt: str, llm_string: str) -> Any:
        return self.cache.lookup(prompt, llm_string + _salt.get())

    def update(self, prompt: str, llm_string: str, return_val: Any) -> None:
        self.cache.update(prompt, llm_string + _salt.get(), return_val)

    async def alookup(self, prompt: str, llm_string: str) -> Any:
        return await self.cache.alookup(prompt, llm_string + _salt.get())

    async def aupdate(self, prompt: str, llm_string: str, return_val: Any) -> None:
        await self.cache.aupdate(prompt, llm_string + _salt.get(), return_val)

    def clear(self, **kwargs: Any) -> None:
        self.cache.clear(**kwargs)

    async def aclear(self, **kwargs: Any) -> None:
        await self.cache.aclear(**kwargs)

    def __getattr__(self, name: str) -> Any:
        if name == "cache":  # not there yet: while it is copied or unpickled
            raise AttributeError(name)
        return getattr(self.cache, name)


def salt_the_cache() -> None:
    """Put a ``SaltedCache`` in front of LangChain's global cache, if there is one.

    It stays there: calls that a vote has given up may still run, and outside votes it changes nothing.
    """
    with _installing:
        cache = get_llm_cache()
        if cache is not None and not isinstance(cache, SaltedCache):
            set_llm_cache(SaltedCache(cache))


def enter_sample(index: int) -> None:
    """Give the cache entries of the running context to sample ``index``; of votes within votes, to each of both."""
    _salt.set(f"{_salt.get()}|sample:{index}")


def warn_of_hits(hits: int, samples: int) -> None:
    """Warn that samples are copies from a cache.

    Example:
        >>> with warnings.catch_warnings(record=True) as caught:
        ...     warnings.simplefilter("always")
        ...     warn_of_hits(4, 5)
        >>> str(caught[0].message)[:58]
        "4 of 5 samples came from LangChain's cache of model replie"
    """
    warnings.warn(
        f"{hits} of {samples} samples came from LangChain's cache of model replies: they are copies, and their "
        'agreement means nothing. Ask each sample with a seed of its own (vary="seed"), keep a cache entry for each '
        'sample (vary="cache"), or switch the cache off for this model (cache=False when it is made).',
        CachedSamplesWarning,
        stacklevel=2,
    )
