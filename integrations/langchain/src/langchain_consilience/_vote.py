"""The vote as a runnable."""

from __future__ import annotations

from typing import Any, ClassVar

from consilience import VoteResult, VoteSettings, avote, vote

from ._judging_options import JudgingOptions
from ._sampled import SampledRunnable
from ._samples import Samples

__all__ = ["VoteRunnable"]


class VoteRunnable(JudgingOptions, SampledRunnable):
    """Runs a chain n times on the same input and decides by quorum, or abstains with a reason.

    Its output is the core's ``VoteResult``. It works wherever a Runnable does.

    Args:
        bound: what is sampled, the first argument: ``VoteRunnable(model | parser, n=5)``. A runnable, a function, or
            a dict of them.
        settings: the core's ``VoteSettings``; key words replace its values.
        output: "result" for the whole ``VoteResult``, "value" for the bare winner.
        on_abstain: what happens without a decision: "return" gives the result, "raise" raises ``AbstainError``, and a
            Runnable takes over, with ``{"input": …, "result": …}`` as its input. By default "return", and "raise" with
            ``output="value"``, where nothing else could tell an abstention from a winner.
        vary: what makes samples differ where LangChain's cache would make them copies: "seed" binds ``seed=i`` to
            every language model in the chain, "cache" keeps a cache entry for each sample; None does nothing.
        nostream: tag the runs of samples so that LangGraph streams none of their tokens.
        concurrency: calls at once, at least 1; by default all n (32 at most). ``max_concurrency`` of the config is a
            limit for a whole batch.
        n, key, validator, min_valid, …: every other option of ``VoteSettings``, by the same name.
        name: the name in traces.

    Raises:
        TypeError: there is nothing to sample, or a key word that does not exist.
        SettingsError: a value that is not allowed; before the first call.

    Source: Wang et al. 2023, Self-Consistency Improves Chain of Thought Reasoning in Language Models.

    Example:
        >>> from langchain_core.language_models import FakeListChatModel
        >>> model = FakeListChatModel(responses=['{"team": "billing"}', '{"team": "shipping"}', '{"team": "billing"}'])
        >>> result = VoteRunnable(model, n=3, key="team", concurrency=1).invoke("I was charged twice.")
        >>> result.value, result.detail
        ('billing', "'billing' won with 2 of 3 votes")
    """

    _settings_type: ClassVar[Any] = VoteSettings
    _result_type: ClassVar[Any] = VoteResult

    n: int = 5
    early_stop: bool = False
    stop: Any = ()
    eager: bool = False
    timeout: float | None = None
    deadline: float | None = None
    raise_on: Any = ()
    limiter: Any = None

    def _draw(self, samples: Samples, prompt: Any, settings: VoteSettings) -> VoteResult:
        return vote(samples.draw, prompt, settings=settings)

    async def _adraw(self, samples: Samples, prompt: Any, settings: VoteSettings) -> VoteResult:
        return await avote(samples.adraw, prompt, settings=settings)
