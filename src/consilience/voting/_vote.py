"""The verbs: vote, avote and tally."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from .._errors import SettingsError
from .._signatures import spell_out_options
from ..drawing._limiters import check_limiter
from ..drawing._samplers import require_sync_sampler
from ..drawing._threads import draw_in_threads
from ._judging import Judged, Origin
from ._ledger import VoteLedger
from ._result import VoteResult
from ._sample import Sample
from ._settings import JUDGING_OPTIONS, VoteSettings, exceptions_of, merged_settings
from ._tally import Ending, Tally
from ._turns import Samplers, Turns

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._settings import VoteOptions

__all__ = ["avote", "drawing_options", "tally", "vote"]


def vote(
    sampler: Samplers, prompt: Any, *, settings: VoteSettings | None = None, **options: Unpack[VoteOptions]
) -> VoteResult:
    """Draw ``n`` replies to one prompt and decide by quorum, or abstain with a reason.

    Without ``timeout=`` or ``deadline=`` a sampler that hangs hangs the vote.

    Args:
        sampler: a function from prompt to reply (text, an already-parsed object, or a ``Reply``); or several of them,
            as a mapping from name to sampler or as a list, which take turns.
        prompt: whatever the sampler takes. A list of str holds paraphrases that take turns (others: ``Paraphrases``).
        settings: the options as one object; key words replace its values.
        options: the options of ``VoteSettings``.

    Returns:
        The result. Bad replies never raise: they become failed samples.

    Raises:
        SettingsError, TypeError, MissingExtraError: an argument is wrong; before the first call.
        Exception: of a type in ``raise_on``, from the sampler.

    Source: Wang et al. 2023, Self-Consistency Improves Chain of Thought Reasoning in Language Models; abstention as in
    Chow 1970, On Optimum Recognition Error and Reject Tradeoff.

    Example:
        >>> result = vote(lambda prompt: '{"team": "billing"}', "I was charged twice.", n=3, key="team")
        >>> result.value, result.agreement
        ('billing', 1.0)
    """
    merged = merged_settings("vote", settings, options)
    turns = _turns(sampler, prompt, merged)
    for each in turns.samplers:
        require_sync_sampler(each)
    check_limiter(merged.limiter, asynchronous=False)
    ledger = VoteLedger(merged, turns)
    return ledger.result(draw_in_threads(ledger, **drawing_options(merged)))


async def avote(
    sampler: Samplers, prompt: Any, *, settings: VoteSettings | None = None, **options: Unpack[VoteOptions]
) -> VoteResult:
    """``vote`` for asyncio: calls are tasks; a plain sampler runs in worker threads.

    Takes, returns and raises the same as ``vote``. After an early stop, calls in flight are cancelled.

    Example:
        >>> import asyncio
        >>> async def sampler(prompt):
        ...     return '{"team": "billing"}'
        >>> asyncio.run(avote(sampler, "I was charged twice.", n=3, concurrency=3, key="team")).value
        'billing'
    """
    from ..drawing._tasks import draw_in_tasks  # asyncio takes as long to import as all the rest

    merged = merged_settings("avote", settings, options)
    turns = _turns(sampler, prompt, merged)
    check_limiter(merged.limiter, asynchronous=True)
    ledger = VoteLedger(merged, turns)
    return ledger.result(await draw_in_tasks(ledger, **drawing_options(merged)))


def tally(
    replies: Iterable[Any] | VoteResult, *, settings: VoteSettings | None = None, **options: Unpack[VoteOptions]
) -> VoteResult:
    """Decide on replies that are already at hand; makes no calls.

    Args:
        replies: texts, parsed objects, ``Reply`` objects, exceptions (failed samples) and ``Sample`` objects, in order
            of index (samples alone keep their own indices, if these differ); or a ``VoteResult``, whose samples are
            judged anew from their replies.
        settings: the options as one object; those about calls are ignored.
        options: the options of ``VoteSettings`` about judging and deciding.

    Returns:
        The result of a vote that drew exactly these replies.

    Raises:
        SettingsError, TypeError, MissingExtraError: an argument is wrong.

    Example:
        >>> tally(['{"team": "billing"}', '{"team": "billing"}', "Sorry."], key="team").detail
        "'billing' won with 2 of 3 votes"
    """
    merged = merged_settings("tally", settings, options, JUDGING_OPTIONS)
    counted = Tally(merged)
    for index, reply in _numbered(_replies(replies)):
        counted.take(_judged(counted, index, reply))
    return counted.result(Ending(planned=counted.count.drawn))


def _replies(replies: Any) -> Iterable[Any]:
    if isinstance(replies, VoteResult):
        return replies.samples
    if isinstance(replies, (str, bytes, Mapping)) or not isinstance(replies, Iterable):
        raise TypeError(f"replies must be a list of replies or a VoteResult, got {type(replies).__name__}")
    return replies


def _numbered(replies: Iterable[Any]) -> Iterable[tuple[int, Any]]:
    given = list(replies)
    own = {reply.index for reply in given if isinstance(reply, Sample)}
    return ((reply.index, reply) for reply in given) if len(own) == len(given) else enumerate(given)


def _judged(counted: Tally, index: int, reply: Any) -> Judged:
    if isinstance(reply, Sample):
        return counted.judge.again(replace(reply, index=index))
    if isinstance(reply, BaseException):
        return counted.judge.error(Origin(index), reply)
    return counted.judge.reply(Origin(index), reply)


def _turns(sampler: Samplers, prompt: Any, settings: VoteSettings) -> Turns:
    turns = Turns(sampler, prompt)
    if turns.sources is not None and settings.min_sources > len(turns.sources):
        raise SettingsError(
            f"min_sources must be at most the number of samplers ({len(turns.sources)}), got {settings.min_sources}"
        )
    return turns


def drawing_options(settings: VoteSettings) -> dict[str, Any]:
    """What a driver needs to know of the settings."""
    return {
        "concurrency": settings.concurrency,
        "timeout": settings.timeout,
        "deadline": settings.deadline,
        "raise_on": exceptions_of(settings),
        "limiter": settings.limiter,
    }


spell_out_options(vote, VoteSettings.__dataclass_fields__, VoteSettings, VoteResult)
spell_out_options(avote, VoteSettings.__dataclass_fields__, VoteSettings, VoteResult)
spell_out_options(tally, JUDGING_OPTIONS, VoteSettings, VoteResult)
