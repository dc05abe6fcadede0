"""The output parser: one reply read strictly, or several replies put to the vote."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal

from llama_index.core.base.llms.types import ChatMessage, ChatResponse, CompletionResponse, MessageRole, TextBlock
from llama_index.core.bridge.pydantic import BaseModel

from consilience import VoteResult, VoteSettings, tally

from ._abstaining import ParserAbstainError, check_on_abstain
from ._events import announce
from ._replies import reply_of
from ._settings import vote_settings

if TYPE_CHECKING:
    from llama_index.core.types import BaseOutputParser as _Base
else:
    try:
        # Query pipelines took only such parsers; they went with llama-index-core 0.13.
        from llama_index.core.output_parsers.base import ChainableOutputParser as _Base
    except ImportError:
        from llama_index.core.types import BaseOutputParser as _Base

__all__ = ["ConsilienceOutputParser"]

_ANY_ONE: dict[str, Any] = {
    "n": 1,
    "min_valid": 0.0,
    "min_agreement": 0.0,
    "min_sources": 1,
    "one_vote_per_source": False,
    "weights": None,
}
"""A quorum that any single valid reply meets."""


class ConsilienceOutputParser(_Base):
    """Reads one reply by the rules of a vote, or puts several replies to the vote.

    Reading is strict: the answer is found in prose, in fences and after reasoning, a draft gives way as ``prefer=``
    says, and a reply that was cut off is an error, not half an answer. The parser belongs on an
    ``LLMTextCompletionProgram`` or on ``LLM.output_parser``; LlamaIndex never calls one on a prompt. It has no state:
    a copy is the parser itself.

    Args:
        settings: how to read, judge and decide, as one object.
        on_abstain: what ``parse_many`` does without a decision: "raise" a ``ParserAbstainError``, or "return" the
            result all the same. ``parse`` always raises.
        options: the options of ``consilience.VoteSettings``, which replace those of ``settings``: most of all
            ``key=`` and ``validator=`` (a pydantic model makes ``parse`` return its instances).

    Raises:
        SettingsError, TypeError: an argument is wrong.

    Example:
        >>> parser = ConsilienceOutputParser(key="team")
        >>> parser.parse('Sure! {"team": "billing"} Anything else?')
        'billing'
        >>> parser.parse_many(['{"team": "billing"}', "Hm.", '{"team": "billing"}']).detail
        "'billing' won with 2 of 3 votes"
    """

    def __init__(
        self,
        settings: VoteSettings | None = None,
        *,
        on_abstain: Literal["return", "raise"] = "raise",
        **options: Any,
    ) -> None:
        check_on_abstain(on_abstain, _NoComponent)
        self._settings = vote_settings(type(self).__name__, settings, options)
        self._on_abstain = on_abstain

    @property
    def settings(self) -> VoteSettings:
        """How this parser reads, judges and decides."""
        return self._settings

    @property
    def instructions(self) -> str:
        """What ``format`` tells the model; empty where the validator is no schema."""
        schema = _schema_of(self._settings.validator)
        return "" if schema is None else _instructions(schema)

    def parse(self, output: str) -> Any:
        """What one reply says: the value of ``key``, or the whole record as the validator left it.

        Args:
            output: the reply of a model.

        Raises:
            ParserAbstainError: it holds no valid answer; the message is the sample's error.

        Example:
            >>> ConsilienceOutputParser().parse('```json\\n{"city": "Bern"}\\n```')
            {'city': 'Bern'}
        """
        result = tally([_reply(output)], settings=self._settings.with_options(**_ANY_ONE))
        if result.abstained:
            (sample,) = result.samples
            raise ParserAbstainError(result, sample.error or result.detail)
        return result.value

    def parse_many(self, outputs: Iterable[Any]) -> VoteResult:
        """Put replies to the vote.

        Args:
            outputs: texts or responses of LlamaIndex, one for each sample; exceptions are failed samples.

        Returns:
            The result; its ``value`` is what won.

        Raises:
            ParserAbstainError: no answer won, unless ``on_abstain="return"``.

        Example:
            >>> ConsilienceOutputParser(key="team", on_abstain="return").parse_many(['{"team": 1}', "?", ""]).reason
            'too_few_valid'
        """
        if isinstance(outputs, (str, bytes, Mapping)) or not isinstance(outputs, Iterable):
            raise TypeError(f"outputs must be a list of replies, got {type(outputs).__name__}")
        result = tally([_reply(output) for output in outputs], settings=self._settings)
        announce(type(self).__name__, result)
        if result.abstained and self._on_abstain == "raise":
            raise ParserAbstainError(result, f"the vote abstained ({result.reason}): {result.detail}")
        return result

    def format(self, query: str) -> str:
        """The query, with the JSON Schema that answers must fit where the validator is one or a pydantic model.

        Example:
            >>> from pydantic import BaseModel
            >>> class Ticket(BaseModel):
            ...     team: str
            >>> print(ConsilienceOutputParser(validator=Ticket).format("Which team?"))  # doctest: +ELLIPSIS
            Which team?
            <BLANKLINE>
            Answer with one JSON object and nothing else. It must fit this JSON Schema:
            {"properties": {"team": ...
        """
        return f"{query}\n\n{self.instructions}" if self.instructions else query

    def format_messages(self, messages: list[ChatMessage]) -> list[ChatMessage]:
        """The messages, with the same instructions at the end of the system message or else of the last message.

        The messages given are left as they are: they may be those of a template.
        """
        return _instructed(messages, self.instructions) if self.instructions else messages

    def __copy__(self) -> ConsilienceOutputParser:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> ConsilienceOutputParser:
        return self


class _NoComponent:
    """No parser can be asked instead of this one: there is only the reply that was read."""


def _reply(output: Any) -> Any:
    if isinstance(output, (ChatResponse, CompletionResponse)):
        return reply_of(output, "json")
    return output


def _schema_of(validator: Any) -> Mapping[str, Any] | None:
    if isinstance(validator, type) and issubclass(validator, BaseModel):
        return validator.model_json_schema()
    return validator if isinstance(validator, Mapping) else None


def _instructions(schema: Mapping[str, Any]) -> str:
    text = json.dumps(schema, ensure_ascii=False)
    return f"Answer with one JSON object and nothing else. It must fit this JSON Schema:\n{text}"


def _instructed(messages: list[ChatMessage], instructions: str) -> list[ChatMessage]:
    """The instructions at the end of the last text of the system message, else of the last message."""
    if not messages:
        return messages
    place = 0 if messages[0].role == MessageRole.SYSTEM else len(messages) - 1
    blocks: list[Any] = list(messages[place].blocks)
    texts = [number for number, block in enumerate(blocks) if isinstance(block, TextBlock)]
    if texts:
        blocks[texts[-1]] = TextBlock(text=f"{blocks[texts[-1]].text}\n\n{instructions}")
    else:
        blocks.append(TextBlock(text=instructions))
    changed = messages[place].model_copy(update={"blocks": blocks})
    return [*messages[:place], changed, *messages[place + 1 :]]
