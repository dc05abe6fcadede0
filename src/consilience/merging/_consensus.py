"""The verbs that draw: consensus and aconsensus."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .._signatures import spell_out_options
from ..drawing._limiters import check_limiter
from ..drawing._samplers import require_sync_sampler
from ..drawing._threads import draw_in_threads
from ..voting._turns import Samplers, Turns
from ..voting._vote import drawing_options
from ._ledger import ConsensusLedger
from ._result import ConsensusResult
from ._settings import ConsensusSettings, consensus_settings, reading_settings
from ._weights import check_number_of_weights

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._settings import ConsensusOptions

__all__ = ["aconsensus", "consensus"]


def consensus(
    sampler: Samplers,
    prompt: Any,
    *,
    settings: ConsensusSettings | None = None,
    **options: Unpack[ConsensusOptions],
) -> ConsensusResult:
    """Draw ``n`` replies to one prompt and merge them into one record, field by field.

    Without ``timeout=`` or ``deadline=`` a sampler that hangs hangs the consensus.

    Args:
        sampler: a function from prompt to reply (text, an already-parsed object, or a ``Reply``); or several of them,
            as a mapping from name to sampler or as a list, which take turns.
        prompt: whatever the sampler takes. A list of str holds paraphrases that take turns (others: ``Paraphrases``).
        settings: the options as one object; key words replace its values.
        options: the options of ``ConsensusSettings``.

    Returns:
        The result. Bad replies never raise: they become failed samples, outside the merge's denominator.

    Raises:
        SettingsError, TypeError, MissingExtraError: an argument is wrong; before the first call.
        ConsilienceError: a resolver or comparator raised; the message names the path.
        Exception: of a type in ``raise_on``, from the sampler.

    Source: Wang et al. 2023, Self-Consistency Improves Chain of Thought Reasoning in Language Models, applied to each
    field of a record.

    Example:
        >>> replies = iter(['{"to": "Bern", "qty": 2}', '{"to": "Bern", "qty": 3}', '{"to": "Bern", "qty": 2}'])
        >>> consensus(lambda prompt: next(replies), "Two mugs to Bern.", n=3).value
        {'to': 'Bern', 'qty': 2}
    """
    merged = consensus_settings("consensus", settings, options)
    check_number_of_weights(merged.weights, merged.n)
    turns = Turns(sampler, prompt)
    for each in turns.samplers:
        require_sync_sampler(each)
    check_limiter(merged.limiter, asynchronous=False)
    ledger = ConsensusLedger(merged, turns)
    return ledger.result(draw_in_threads(ledger, **drawing_options(reading_settings(merged))))


async def aconsensus(
    sampler: Samplers,
    prompt: Any,
    *,
    settings: ConsensusSettings | None = None,
    **options: Unpack[ConsensusOptions],
) -> ConsensusResult:
    """``consensus`` for asyncio: calls are tasks; a plain sampler runs in worker threads.

    Takes, returns and raises the same as ``consensus``. After an early stop, calls in flight are cancelled.

    Example:
        >>> import asyncio
        >>> async def sampler(prompt):
        ...     return '{"city": "Turin"}'
        >>> asyncio.run(aconsensus(sampler, "To Turin.", n=3, concurrency=3)).value
        {'city': 'Turin'}
    """
    from ..drawing._tasks import draw_in_tasks  # here, because importing asyncio takes as long as all the rest

    merged = consensus_settings("aconsensus", settings, options)
    check_number_of_weights(merged.weights, merged.n)
    turns = Turns(sampler, prompt)
    check_limiter(merged.limiter, asynchronous=True)
    ledger = ConsensusLedger(merged, turns)
    return ledger.result(await draw_in_tasks(ledger, **drawing_options(reading_settings(merged))))


spell_out_options(consensus, ConsensusSettings.__dataclass_fields__, ConsensusSettings, ConsensusResult)
spell_out_options(aconsensus, ConsensusSettings.__dataclass_fields__, ConsensusSettings, ConsensusResult)
