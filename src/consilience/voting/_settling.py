"""Settling: a vote whose replies are drawn elsewhere, decided as soon as no more of them are needed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from .._errors import SettingsError, received
from ..drawing._calls import Call, Drawing, Outcome
from ._ledger import VoteLedger
from ._result import VoteResult
from ._settings import JUDGING_OPTIONS, VoteSettings, merged_settings
from ._turns import Turns

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._settings import VoteOptions

__all__ = ["settle"]

_OPTIONS = (*JUDGING_OPTIONS, "n", "early_stop", "stop")


def settle(
    replies: Mapping[int, Any], *, settings: VoteSettings | None = None, **options: Unpack[VoteOptions]
) -> VoteResult | None:
    """Decide a vote whose replies come in one by one from elsewhere, once no more of them are needed; makes no calls.

    For programs that draw themselves, in workers of a queue or the steps of a workflow: ask after each reply, and stop
    drawing when there is a result. Without ``early_stop=True`` or ``stop=`` that is when all ``n`` are in.

    Args:
        replies: what has come in so far, in the order in which it came: the number of the sample, from 0 to ``n`` - 1,
            to a text, a parsed object, a ``Reply`` or an exception (a failed sample). What came after the vote was
            settled is left out of the result, as ``vote`` leaves it out.
        settings: the options as one object; those about calls are ignored, and so is ``on_sample``.
        options: the options of ``VoteSettings`` about judging, deciding and stopping.

    Returns:
        The result that ``vote`` would have come to; None while replies still to come can matter.

    Raises:
        SettingsError, TypeError, MissingExtraError: an argument is wrong.

    Example:
        >>> options = {"n": 3, "key": "team", "early_stop": True}
        >>> settle({2: '{"team": "billing"}'}, **options) is None
        True
        >>> settle({2: '{"team": "billing"}', 0: '{"team": "billing"}'}, **options).detail
        "'billing' won with 2 of 2 votes"
    """
    merged = replace(merged_settings("settle", settings, options, _OPTIONS), on_sample=None, eager=True)
    if not isinstance(replies, Mapping):
        raise TypeError(
            f"replies must be a mapping from the number of the sample to the reply, got {received(replies)}"
        )
    ledger = VoteLedger(merged, Turns(_drawn_elsewhere, None))
    calls = _all_calls(ledger)
    for position, (index, reply) in enumerate(replies.items(), 1):
        if isinstance(index, bool) or not isinstance(index, int) or index not in calls:
            raise SettingsError(
                f"replies must have numbers of samples from 0 to {merged.n - 1} (n={merged.n}), got {received(index)}"
            )
        # Whoever asks after each reply has been told of those before it.
        ledger.receive(_outcome(calls[index], reply), known=position < len(replies))
    return ledger.result(Drawing(abandoned=0, hit_deadline=False, elapsed=0.0)) if ledger.finished else None


def _all_calls(ledger: VoteLedger) -> dict[int, Call]:
    """Every call of the run, as if all had been started at once: here none is saved by starting it later."""
    calls = {}
    while (call := ledger.next_call()) is not None:
        calls[call.index] = call
    return calls


def _outcome(call: Call, reply: Any) -> Outcome:
    return Outcome(call, error=reply) if isinstance(reply, Exception) else Outcome(call, content=reply)


def _drawn_elsewhere(_: Any) -> Any:
    raise AssertionError("no call is made here")  # pragma: no cover
