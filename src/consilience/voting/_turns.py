"""Turns: which sampler and which wording each sample of a run gets."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from .._errors import SettingsError
from ..drawing._calls import Call

__all__ = ["Paraphrases", "Sampler", "Samplers", "Turns"]

Sampler = Callable[[Any], Any]
Samplers = Sampler | Mapping[str, Sampler] | list[Sampler] | tuple[Sampler, ...]


@dataclass(frozen=True, slots=True, init=False)
class Paraphrases:
    """Several wordings of one prompt, that take turns; for prompts that are not plain text.

    A list of ``str`` given as the prompt means the same; a list of anything else (chat messages) is one prompt.

    Args:
        prompts: the wordings, at least one, each of whatever kind the sampler takes.

    Raises:
        SettingsError: there is none.

    Example:
        >>> Paraphrases([[{"role": "user", "content": "Which team?"}], [{"role": "user", "content": "Who helps?"}]])[0]
        [{'role': 'user', 'content': 'Which team?'}]
    """

    prompts: tuple[Any, ...]

    def __init__(self, prompts: Iterable[Any]) -> None:
        if isinstance(prompts, (str, bytes, Mapping)) or not isinstance(prompts, Iterable):
            raise TypeError(f"prompts must be an iterable of wordings, got {type(prompts).__name__}")
        object.__setattr__(self, "prompts", tuple(prompts))
        if not self.prompts:
            raise SettingsError("prompts must hold at least one wording, got none")

    def __len__(self) -> int:
        return len(self.prompts)

    def __getitem__(self, index: int) -> Any:
        return self.prompts[index]


class Turns:
    """Sample i is drawn from sampler i % S with wording (i // S) % P.

    Args:
        sampler: a function from prompt to reply; or several, as a mapping from name to sampler or as a list (whose
            names are "0", "1", …). The name of a sampler is the source of its votes.
        prompt: whatever the samplers take; a list of str and ``Paraphrases`` are wordings that take turns.

    Raises:
        TypeError, SettingsError: for anything else.

    Example:
        >>> turns = Turns({"a": len, "b": len}, ["x", "y"])
        >>> [(call.source, call.prompt) for call in map(turns.call, range(4))]
        [('a', 'x'), ('b', 'x'), ('a', 'y'), ('b', 'y')]
    """

    def __init__(self, sampler: Samplers, prompt: Any) -> None:
        self._named = _named_samplers(sampler)
        self._prompts = _wordings(prompt)

    @property
    def samplers(self) -> tuple[Sampler, ...]:
        """The samplers, in the order of their turns."""
        return tuple(sampler for _, sampler in self._named)

    @property
    def sources(self) -> tuple[str, ...] | None:
        """The sources in the order of their turns; None when they are only known from the replies."""
        names = tuple(name for name, _ in self._named if name is not None)
        return names or None

    def source(self, index: int) -> str | None:
        """The source of a sample, as far as it is known before the reply."""
        return self._named[index % len(self._named)][0]

    def call(self, index: int) -> Call:
        """The call for sample ``index``."""
        round_number, turn = divmod(index, len(self._named))
        source, sampler = self._named[turn]
        wording = round_number % len(self._prompts)
        return Call(index, wording, source, sampler, self._prompts[wording])


def _named_samplers(sampler: Any) -> tuple[tuple[str | None, Sampler], ...]:
    if callable(sampler):
        return ((None, sampler),)
    if isinstance(sampler, Mapping):
        named = list(sampler.items())
    elif isinstance(sampler, (list, tuple)):
        named = [(str(position), each) for position, each in enumerate(sampler)]
    else:
        raise TypeError(
            "sampler must be a function from prompt to reply, a mapping from name to sampler or a list of samplers, "
            f"got {type(sampler).__name__}"
        )
    if not named:
        raise SettingsError("sampler must hold at least one sampler, got none")
    for name, each in named:
        if not isinstance(name, str):
            raise TypeError(f"the names of samplers must be str, got {type(name).__name__}")
        if not callable(each):
            raise TypeError(f"sampler[{name!r}] must be a function from prompt to reply, got {type(each).__name__}")
    return tuple(named)


def _wordings(prompt: Any) -> tuple[Any, ...]:
    if isinstance(prompt, Paraphrases):
        return prompt.prompts
    if isinstance(prompt, list):
        if not prompt:
            raise SettingsError("prompt must hold at least one wording or message, got []")
        if all(isinstance(wording, str) for wording in prompt):
            return tuple(prompt)
    return (prompt,)
