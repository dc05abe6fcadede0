"""The consensus as a runnable."""

from __future__ import annotations

import warnings
from typing import Any, ClassVar, Literal

from consilience import ConsensusResult, ConsensusSettings, aconsensus, consensus

from ._sampled import SampledRunnable
from ._samples import Samples

__all__ = ["ConsensusRunnable"]

_CONFLICT_RESOLVER = ConsensusSettings().conflict_resolver  # whatever the core's default is

with warnings.catch_warnings():
    # Pydantic warns that ``schema`` hides a method of its own that it deprecated long ago; the option has that name.
    warnings.filterwarnings("ignore", message='Field name "schema"', category=UserWarning)

    class ConsensusRunnable(SampledRunnable):
        """Runs a chain n times on the same input and merges what it says into one record, field by field.

        Its output is the core's ``ConsensusResult``. It works wherever a Runnable does.

        Args:
            bound: what is sampled, the first argument: ``ConsensusRunnable(model, n=5)``; often
                ``model.with_structured_output(Invoice)``.
            settings: the core's ``ConsensusSettings``; key words replace its values.
            output: "result" for the whole ``ConsensusResult``, "value" for the merged record.
            on_abstain, vary, nostream, concurrency, name: as in ``VoteRunnable``.
            n, schema, min_agreement, required, …: every other option of ``ConsensusSettings``, by the same name.

        Raises:
            TypeError: there is nothing to sample, or a key word that does not exist.
            SettingsError: a value that is not allowed; before the first call.

        Source: Wang et al. 2023, Self-Consistency Improves Chain of Thought Reasoning in Language Models, applied to
        each field of a record.

        Example:
            >>> from langchain_core.language_models import FakeListChatModel
            >>> replies = ['{"to": "Bern", "qty": 2}', '{"to": "Bern", "qty": 3}', '{"to": "Bern", "qty": 2}']
            >>> ConsensusRunnable(FakeListChatModel(responses=replies), n=3).invoke("Two mugs to Bern.").value
            {'to': 'Bern', 'qty': 2}
        """

        _settings_type: ClassVar[Any] = ConsensusSettings
        _result_type: ClassVar[Any] = ConsensusResult

        n: int = 5
        schema: Any = None
        validator: Any = None
        min_valid: float = 0.5
        min_agreement: float = 0.5
        min_support: float | None = None
        min_sources: int = 1
        one_vote_per_source: bool = False
        min_confidence: float = 0.0
        required: Any = ()
        conflict_resolver: Any = _CONFLICT_RESOLVER
        compare: Any = None
        weights: Any = "trust"
        constraints: Any = ()
        max_repairs: int = 2000
        on_unmet: Literal["keep", "abstain"] = "keep"
        confidence_field: str | None = None
        repair: Any = False
        allow_nan: bool = True
        prefer: Literal["first", "last"] = "first"
        early_stop: bool = False
        timeout: float | None = None
        deadline: float | None = None
        raise_on: Any = ()
        limiter: Any = None
        on_sample: Any = None

        def _draw(self, samples: Samples, prompt: Any, settings: ConsensusSettings) -> ConsensusResult:
            return consensus(samples.draw, prompt, settings=settings)

        async def _adraw(self, samples: Samples, prompt: Any, settings: ConsensusSettings) -> ConsensusResult:
            return await aconsensus(samples.adraw, prompt, settings=settings)
