"""Rollouts: what makes the samples of one prompt different requests, in spite of DSPy's caches."""

from __future__ import annotations

import copy
import hashlib
from typing import Any

__all__ = ["RolloutAdapter", "derived_rollout"]

_STRIDE = 1_000_003
_LARGEST = 2**63 - 1
"""The cache hashes its requests by way of JSON with 64-bit integers; what does not fit there is not cached."""

_HARDLY_VARIES = 0.15
"""Up to this temperature DSPy itself takes another one where it needs several different replies."""

_VARIES = 1.0


def derived_rollout(outer: Any, index: int) -> int:
    """The rollout id of a sample: different for every sample of every outer rollout, and the same in every run.

    Args:
        outer: the rollout id that the program runs under, or None.
        index: the number of the sample, from 0.

    Example:
        >>> [derived_rollout(None, 2), derived_rollout(0, 2), derived_rollout(1, 2)]
        [2, 2, 1000005]
    """
    if outer is not None and type(outer) is not int:
        outer = _digest(repr(outer))
    derived: int = (outer or 0) * _STRIDE + index
    return derived if -_LARGEST <= derived <= _LARGEST else _digest(str(derived))


def _digest(text: str) -> int:
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") >> 1


class RolloutAdapter:
    """Stands in front of the adapter in use while one sample is drawn; its requests carry the sample's rollout id.

    It reports the class of that adapter, because DSPy derives classes from it, and hands on everything else.

    Args:
        adapter: the adapter in use; possibly another ``RolloutAdapter``, where a vote samples a vote.
        index: the number of the sample, from 0.
        temperature: the temperature of each request; None keeps that of the predictor or the LM, if it makes replies
            vary.
    """

    def __init__(self, adapter: Any, index: int, temperature: float | None) -> None:
        self._adapter = adapter
        self._index = index
        self._temperature = temperature

    @property  # type: ignore[misc] # what isinstance asks for
    def __class__(self) -> type:
        reported: type = self._adapter.__class__
        return reported

    def __call__(self, lm: Any, lm_kwargs: dict[str, Any], *args: Any, **kwargs: Any) -> Any:
        return self._adapter(lm, self._varied(lm, lm_kwargs), *args, **kwargs)

    async def acall(self, lm: Any, lm_kwargs: dict[str, Any], *args: Any, **kwargs: Any) -> Any:
        """``__call__`` for asyncio."""
        return await self._adapter.acall(lm, self._varied(lm, lm_kwargs), *args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        # Only names that are not found here come by. Special methods are looked up before __init__ has run, too.
        if name.startswith("__") or "_adapter" not in self.__dict__:
            raise AttributeError(name)
        return getattr(self._adapter, name)

    def __deepcopy__(self, memo: dict[int, Any]) -> RolloutAdapter:
        return RolloutAdapter(copy.deepcopy(self._adapter, memo), self._index, self._temperature)

    def __reduce__(self) -> tuple[type[RolloutAdapter], tuple[Any, int, float | None]]:
        return RolloutAdapter, (self._adapter, self._index, self._temperature)

    def _varied(self, lm: Any, lm_kwargs: dict[str, Any]) -> dict[str, Any]:
        asked = {**(getattr(lm, "kwargs", None) or {}), **lm_kwargs}
        return {
            **lm_kwargs,
            "rollout_id": derived_rollout(asked.get("rollout_id"), self._index),
            "temperature": self._temperature or _varying(asked.get("temperature")),
        }


def _varying(temperature: Any) -> Any:
    return _VARIES if temperature is None or temperature <= _HARDLY_VARIES else temperature
