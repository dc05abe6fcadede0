"""The tally as a runnable: samples that are finished already come in."""

from __future__ import annotations

from typing import Any, ClassVar

from langchain_core.callbacks.manager import AsyncCallbackManagerForChainRun, CallbackManagerForChainRun
from langchain_core.runnables import RunnableConfig

from consilience import Reply, Sample, VoteResult, VoteSettings, tally

from ._deciding import DecidingRunnable
from ._judging_options import JudgingOptions
from ._replies import error_reply_of, reply_of

__all__ = ["TallyRunnable"]


class TallyRunnable(JudgingOptions, DecidingRunnable):
    """Decides on a list of finished samples; makes no calls.

    Its input is a list of what a chain returned: messages, texts, records, None, and exceptions as
    ``batch(..., return_exceptions=True)`` leaves them. It is a type of its own so that one reply that is a JSON array
    is never mistaken for a list of samples.

    Args:
        settings: the core's ``VoteSettings``, of which the options about calls are ignored; key words replace values.
        output, on_abstain: as in ``VoteRunnable``.
        key, validator, min_valid, …: the options of ``VoteSettings`` about judging and deciding, by the same name.
        name: the name in traces.

    Raises:
        TypeError: a key word that does not exist; when invoked, an input that is no list.
        SettingsError: a value that is not allowed.

    Example:
        >>> samples = ['{"team": "billing"}', '{"team": "billing"}', "Sorry."]
        >>> TallyRunnable(key="team").invoke(samples).detail
        "'billing' won with 2 of 3 votes"
    """

    _settings_type: ClassVar[Any] = VoteSettings
    _result_type: ClassVar[Any] = VoteResult

    def __init__(self, *args: Any, settings: Any = None, **options: Any) -> None:
        if args:
            raise TypeError(
                "TallyRunnable takes key words only, because it samples nothing: chain.map() | TallyRunnable(key=…) "
                "decides on a list of finished samples; to sample a chain, write VoteRunnable(chain, n=5)"
            )
        for name in options:
            if name in VoteSettings.__dataclass_fields__ and name not in type(self).model_fields:
                raise TypeError(
                    f"TallyRunnable() got an unexpected keyword argument {name!r}: it makes no calls; "
                    "VoteRunnable takes it"
                )
        super().__init__(settings=settings, **options)

    def invoke(self, input: list[Any], config: RunnableConfig | None = None, **kwargs: Any) -> Any:  # noqa: A002
        """Decide on a list of samples.

        Raises:
            TypeError: ``input`` is no list.
            AbstainError: there is no decision, and ``on_abstain`` is "raise".
        """
        return self._call_with_config(self._decide, input, config, **kwargs)

    async def ainvoke(self, input: list[Any], config: RunnableConfig | None = None, **kwargs: Any) -> Any:  # noqa: A002
        """``invoke`` for asyncio."""
        return await self._acall_with_config(self._adecide, input, config, **kwargs)

    def _decide(self, input: Any, run_manager: CallbackManagerForChainRun, config: RunnableConfig) -> Any:  # noqa: A002
        return self._settle(input, self._result(input), run_manager, config)

    async def _adecide(
        self,
        input: Any,  # noqa: A002
        run_manager: AsyncCallbackManagerForChainRun,
        config: RunnableConfig,
    ) -> Any:
        return await self._asettle(input, self._result(input), run_manager, config)

    def _result(self, samples: Any) -> VoteResult:
        if not isinstance(samples, list):
            raise TypeError(
                f"TallyRunnable takes a list of finished samples, got {type(samples).__name__}: put it behind "
                "chain.map() or what else makes a list; to sample a chain, write VoteRunnable(chain, n=5)"
            )
        return tally([_as_read(each) for each in samples], settings=self.settings)

    @property
    def InputType(self) -> Any:  # noqa: N802 - the framework's spelling
        """A list of samples."""
        return list[Any]


def _as_read(sample: Any) -> Any:
    if isinstance(sample, Reply | Sample):
        return sample
    if isinstance(sample, Exception):
        return error_reply_of(sample) or sample
    return sample if isinstance(sample, BaseException) else reply_of(sample)
