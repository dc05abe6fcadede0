"""The router: the reason of an abstention chooses what happens next."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any

from langchain_core.callbacks.manager import AsyncCallbackManagerForChainRun, CallbackManagerForChainRun
from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.runnables.config import patch_config
from langchain_core.runnables.utils import ConfigurableFieldSpec, get_unique_config_specs
from pydantic import ConfigDict

from consilience import ConsensusReason, ConsensusResult, Reason, SettingsError, VoteResult

from ._arguments import check_names, checked_on_abstain, checked_runnable
from ._serialization import Component

__all__ = ["AbstainRouter"]

_REASONS = sorted({code for each in (Reason, ConsensusReason) for name, code in vars(each).items() if name.isupper()})


class AbstainRouter(Component):
    """Sends an abstention to the branch for its reason.

    Give it as ``on_abstain=``, or put it behind a vote or a consensus whose output is the result; a decided result
    passes unchanged.

    Args:
        branches: reason (see ``consilience.Reason`` and ``ConsensusReason``) -> a Runnable, which gets
            ``{"input": …, "result": …}``, as every branch of ``on_abstain`` does (behind a vote the input is not known
            any more, and None).
        default: what happens for other reasons: a Runnable, "return" to pass the result on, or "raise" (the default)
            to raise ``AbstainError``.
        name: the name in traces.

    Raises:
        SettingsError: a reason that does not exist, or no branch.
        TypeError: an argument of the wrong type; when invoked, an input without a result.
        AbstainError: when invoked: the result abstained for a reason that has no branch.

    Example:
        >>> from langchain_core.language_models import FakeListChatModel
        >>> from langchain_consilience import VoteRunnable
        >>> router = AbstainRouter({"tie": lambda abstention: f"a human reads {abstention['input']!r}"})
        >>> model = FakeListChatModel(responses=['{"team": "billing"}', '{"team": "shipping"}'])
        >>> VoteRunnable(model, n=2, key="team", on_abstain=router).invoke("Where is my refund?")
        "a human reads 'Where is my refund?'"
    """

    model_config = ConfigDict(extra="forbid", arbitrary_types_allowed=True)

    branches: dict[str, Any]
    default: Any = "raise"

    def __init__(self, *args: Any, **options: Any) -> None:
        if len(args) > 1 or (args and "branches" in options):
            raise TypeError(f"AbstainRouter takes one positional argument, the branches; got {len(args)}")
        given = {"branches": args[0], **options} if args else options
        check_names("AbstainRouter", given, [*type(self).model_fields])
        branches = {reason: _branch(reason, each) for reason, each in _checked_reasons(given.get("branches")).items()}
        default = checked_on_abstain(given.get("default", "raise"), "default")
        super().__init__(**{**given, "branches": branches, "default": "raise" if default is None else default})

    def invoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:  # noqa: A002
        """Pass a decided result on, or run the branch for the reason of an abstention."""
        return self._call_with_config(self._route, input, config, **kwargs)

    async def ainvoke(self, input: Any, config: RunnableConfig | None = None, **kwargs: Any) -> Any:  # noqa: A002
        """``invoke`` for asyncio."""
        return await self._acall_with_config(self._aroute, input, config, **kwargs)

    def _route(
        self,
        input: Any,  # noqa: A002
        run_manager: CallbackManagerForChainRun,
        config: RunnableConfig,
        **kwargs: Any,
    ) -> Any:
        abstention = _abstention(input)
        branch = self._chosen(abstention["result"])
        child = patch_config(config, callbacks=run_manager.get_child())
        return branch.invoke(abstention, child, **kwargs) if branch is not None else abstention["result"]

    async def _aroute(
        self,
        input: Any,  # noqa: A002
        run_manager: AsyncCallbackManagerForChainRun,
        config: RunnableConfig,
        **kwargs: Any,
    ) -> Any:
        abstention = _abstention(input)
        branch = self._chosen(abstention["result"])
        child = patch_config(config, callbacks=run_manager.get_child())
        return await branch.ainvoke(abstention, child, **kwargs) if branch is not None else abstention["result"]

    def _chosen(self, result: Any) -> Runnable[Any, Any] | None:
        """The branch to run; None passes the result on."""
        if not result.abstained:
            return None
        branch = self.branches.get(result.reason, self.default)
        if branch == "raise":
            result.unwrap()
        return branch if isinstance(branch, Runnable) else None

    @property
    def config_specs(self) -> list[ConfigurableFieldSpec]:
        """What can be configured in the branches."""
        runnables = [each for each in (*self.branches.values(), self.default) if isinstance(each, Runnable)]
        return get_unique_config_specs(spec for each in runnables for spec in each.config_specs)


def _checked_reasons(branches: Any) -> Mapping[str, Any]:
    if not isinstance(branches, Mapping) or isinstance(branches, Runnable):
        raise TypeError(f"branches must be a mapping from reason to Runnable, got {type(branches).__name__}")
    if not branches:
        raise SettingsError(f"branches must hold at least one reason ({', '.join(_REASONS)}), got none")
    for reason in branches:
        if reason not in _REASONS:
            close = get_close_matches(str(reason), _REASONS, n=1)
            hint = f"; did you mean {close[0]!r}?" if close else f": it is one of {', '.join(_REASONS)}"
            raise SettingsError(f"{reason!r} is no reason to abstain{hint}")
    return branches


def _branch(reason: str, branch: Any) -> Runnable[Any, Any]:
    return checked_runnable(branch, f"branches[{reason!r}]")


def _abstention(given: Any) -> dict[str, Any]:
    """What every branch gets, of what a vote or ``on_abstain`` hands over."""
    result = given.get("result") if isinstance(given, Mapping) else given
    if not isinstance(result, VoteResult | ConsensusResult):
        raise TypeError(
            'AbstainRouter takes the result of a vote or a consensus (output="result"), or a dict with one under '
            f"'result', got {type(given).__name__}"
        )
    return dict(given) if isinstance(given, Mapping) else {"input": None, "result": result}
