"""Merging: valid revisions become one record, with a report on every field."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, Any

from .._errors import SettingsError
from .._signatures import spell_out_options
from .._stack import nesting, with_room
from ..voting._details import most_often
from ..voting._display import result_line, sample_line
from ..voting._excerpts import excerpt, plural
from ..voting._reasons import Failure
from ..voting._sample import Sample
from ..voting._summary import usage
from ..voting._weights import UnusableWeight
from ._comparators import Ignore, Unordered
from ._constraints import Constraint, is_met
from ._decision import UNIT, Decider
from ._electorate import Electorate
from ._fields import Fields
from ._fingerprint import fingerprint
from ._intake import as_samples, holds_only_finite
from ._likeness import measured_likeness
from ._mentions import unmatched
from ._options import Branch, Decision, assemble, taken
from ._paths import EACH, Path
from ._reconciliation import Reconciliation, reconcile
from ._report import Report, Witnesses, report
from ._resolvers import OMIT, ConflictResolver, leading_up_to_half
from ._result import ConsensusReason, ConsensusResult
from ._revisions import MAX_DEPTH, plain_json
from ._rules import RuleSet
from ._schema import Built, Cleaned, Schema, as_schema
from ._settings import MERGING_OPTIONS, ConsensusSettings, Weighting, consensus_settings
from ._tree import Node, lay_over
from ._weights import check_number_of_weights, function_weight, ranked, weigh

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._settings import ConsensusOptions

__all__ = ["NO_FIT", "JSONConsensus", "Merger", "log_result", "merge"]

logger = logging.getLogger("consilience")

_ROUNDING = 1e-9
"""What a mean of many shares may be off by."""

NO_FIT = "the revision as a whole does not fit the schema"


def merge(
    revisions: Iterable[Any], *, settings: ConsensusSettings | None = None, **options: Unpack[ConsensusOptions]
) -> ConsensusResult:
    """Merge several revisions of one record, field by field.

    Args:
        revisions: parsed JSON values, pydantic models or dataclasses; or ``Sample`` objects, of which the failed ones
            are left out; or a result whose samples are merged. A str is a JSON string, not a reply to be read.
        settings: the options as one object; those about drawing are ignored.
        options: the options of ``ConsensusSettings`` about merging.

    Returns:
        The result, which does not depend on the order of the revisions.

    Raises:
        SettingsError, TypeError, MissingExtraError: an argument is wrong, or a revision is not JSON, contains itself
            or is nested deeper than 200.
        ConsilienceError: a resolver or comparator raised; the message names the path.

    Source: alignment by optimal assignment (Kuhn 1955); average linkage (Sokal and Michener 1958).

    Example:
        >>> result = merge([{"id": 7, "born": 1815}, {"id": 7, "born": 1851}, {"id": 7, "born": 1815}])
        >>> result.value, round(result.fields["born"].support, 2)
        ({'id': 7, 'born': 1815}, 0.67)
    """
    started = perf_counter()
    merged = consensus_settings("merge", settings, options, MERGING_OPTIONS)
    samples = as_samples(revisions, merged.confidence_field)
    check_number_of_weights(merged.weights, len(samples))
    result = replace(Merger(merged).merge(samples), elapsed=perf_counter() - started)
    if logger.isEnabledFor(logging.DEBUG):
        for sample in result.samples:
            logger.debug("%s", sample_line(sample, "has", sample.record))
    log_result(result)
    return result


def log_result(result: ConsensusResult) -> None:
    """One line for every consensus, and one more if a path in its options was of no use."""
    if result.unmatched and logger.isEnabledFor(logging.WARNING):
        named = ", ".join(map(excerpt, result.unmatched))
        logger.warning("consensus %s: no revision has anything at %s", result.id, named)
    if logger.isEnabledFor(logging.INFO):
        logger.info("%s", result_line("consensus", result))


class JSONConsensus:
    """A reusable form of ``merge``.

    Args:
        consensus_threshold: the least share of the weight that a value needs, above 0 and at most 1.
        conflict_resolver: what to do with a field on which no value meets the threshold.
        weights: as in ``ConsensusSettings``; by default revisions are weighed by trust.
        options: the other options of ``merge``.

    Example:
        >>> JSONConsensus(0.6).get_consensus([{"ram": 16}, {"ram": 16}, {"ram": 32}]).value
        {'ram': 16}
    """

    def __init__(
        self,
        consensus_threshold: float = 0.5,
        conflict_resolver: ConflictResolver = leading_up_to_half,
        *,
        weights: Weighting = "trust",
        **options: Any,
    ) -> None:
        shared = {"min_agreement": consensus_threshold, "conflict_resolver": conflict_resolver, "weights": weights}
        self.settings = consensus_settings("JSONConsensus", None, {**shared, **options}, MERGING_OPTIONS)

    def get_consensus(self, revisions: Iterable[Any]) -> ConsensusResult:
        """Merge revisions; see ``merge``."""
        return merge(revisions, settings=self.settings)


@dataclass(frozen=True, slots=True)
class _Consensus:
    """The decision on the whole record, and what the constraints made of it."""

    root: Decision
    choices: dict[int, int]
    built: Built
    merged: Any
    met: bool | None
    search: Reconciliation


class Merger:
    """Merges samples by one set of settings; a pure function of the samples."""

    def __init__(self, settings: ConsensusSettings) -> None:
        self._settings = settings
        self._schema: Schema | None = as_schema(settings.schema)
        self.rules = RuleSet(self._schema.rules if self._schema else {}, settings.compare or {})
        self._constraints: tuple[Constraint, ...] = settings.constraints

    def merge(self, samples: Sequence[Sample]) -> ConsensusResult:
        """Merge the valid ones among these samples."""
        return with_room(_frames(samples), partial(self._merge, samples))

    def _merge(self, samples: Sequence[Sample]) -> ConsensusResult:
        samples, revisions, dropped = self._read(samples)
        share = len(revisions) / len(samples) if samples else 0.0
        if not revisions or share < self._settings.min_valid:
            return self._too_few(samples, share)
        root = lay_over(revisions, self.rules)
        weights = weigh(
            self._settings.weights,
            samples,
            root,
            measured_likeness(root, sorted(revisions)),
            self._satisfies if self._has_constraints else None,
            one_vote_per_source=self._settings.one_vote_per_source,
        )
        if not any(weights.values()):
            return self._weightless(samples)
        sources = {sample.index: sample.source for sample in samples if sample.index in revisions}
        electorate = Electorate(weights, sources, self._settings.min_sources, self._settings.one_vote_per_source)
        result = self._result(samples, electorate, self._decide(root, electorate), dropped)
        names = unmatched(self._settings, self._schema, revisions.values())
        return replace(result, unmatched=names) if names else result

    def _read(self, samples: Sequence[Sample]) -> tuple[list[Sample], dict[int, Any], int]:
        """The samples, the revisions of the valid ones as the schema reads them, and the number of values dropped."""
        kept, revisions, dropped = [], {}, 0
        for sample in samples:
            cleaned = self._clean(sample) if sample.ok else Cleaned(OMIT)
            if sample.ok and cleaned.record is OMIT:
                sample = _failed(sample, NO_FIT)
            elif sample.ok:
                sample = self._weighed(sample)
            if sample.ok:
                revisions[sample.index] = cleaned.record
                dropped += len(cleaned.dropped)
            kept.append(sample)
        return kept, revisions, dropped

    def _weighed(self, sample: Sample) -> Sample:
        """A valid sample with the weight that a function gives it; failed, if the function fails on it."""
        if not callable(self._settings.weights):
            return sample
        try:
            return replace(sample, weight=function_weight(self._settings.weights, sample))
        except UnusableWeight as error:
            return _failed(sample, str(error))

    def clean(self, sample: Sample) -> Cleaned:
        """The plain JSON of a valid sample's record, without the fields that do not fit the schema."""
        return with_room(_frames([sample]), partial(self._clean, sample))

    def _clean(self, sample: Sample) -> Cleaned:
        record = plain_json(sample.record, f"revisions[{sample.index}]")
        if not self._settings.allow_nan and not holds_only_finite(record):
            raise SettingsError(f"revisions[{sample.index}] holds NaN or infinity, which allow_nan=False does not take")
        return Cleaned(record) if self._schema is None else self._schema.clean(record)

    @property
    def can_settle(self) -> bool:
        """Whether the outcome follows from that of the fields, whatever weight is behind each."""
        by_trust = any(isinstance(rule, Unordered) for rule in self.rules.values())
        return not (self._has_constraints or self._settings.min_confidence or by_trust)

    @property
    def _asks_for_trust(self) -> bool:
        """Whether some rule asks which revision is trusted most."""
        return any(isinstance(rule, Ignore | Unordered) for rule in self.rules.values())

    @property
    def _has_constraints(self) -> bool:
        return bool(self._constraints) or (self._schema is not None and self._schema.has_constraints)

    def _build(self, merged: Any) -> Built:
        return Built(merged) if self._schema is None or merged is OMIT else self._schema.build(merged)

    def _satisfies(self, merged: Any) -> bool:
        """Whether a record meets the constraints and, if validators of its schema are among them, the schema."""
        if not is_met(self._constraints, merged):
            return False
        return self._schema is None or not self._schema.has_constraints or self._schema.build(merged).ok

    def _decide(self, root: Node, electorate: Electorate) -> _Consensus:
        settings = self._settings
        decider = Decider(
            electorate,
            ranked(electorate.weights, root) if self._asks_for_trust else (),
            settings.min_agreement,
            settings.min_support,
            settings.conflict_resolver,
        )
        decision = decider.decide(root, electorate.poll(sorted(root.values)))
        merged = _record(decision, {})
        if not self._has_constraints or merged is OMIT:
            return _Consensus(decision, {}, self._build(merged), merged, None, Reconciliation(None, 0, False))
        if self._satisfies(merged):
            return _Consensus(decision, {}, self._build(merged), merged, True, Reconciliation({}, 0, False))
        fields = [path for each in self._constraints for path in each.fields]
        search = reconcile(decision, self._satisfies, electorate.is_supported, fields, settings.max_repairs)
        choices = search.choices or {}
        merged = _record(decision, choices)
        return _Consensus(decision, choices, self._build(merged), merged, search.choices is not None, search)

    def _result(
        self, samples: Sequence[Sample], electorate: Electorate, consensus: _Consensus, dropped: int
    ) -> ConsensusResult:
        weights = electorate.weights
        named = {index: source for index, source in electorate.sources.items() if source is not None}
        confidences = {each.index: each.confidence for each in samples if each.ok and each.confidence is not None}
        told = report(consensus.root, consensus.choices, Witnesses(electorate, named, confidences))
        merged = None if consensus.merged is OMIT else consensus.merged
        missing = tuple(dict.fromkeys([*consensus.built.missing, *self._lacking(consensus.merged)]))
        reason, detail = self._reason(consensus, missing, told.confidence)
        return ConsensusResult(
            value=_own(consensus.built.value, consensus.merged) if reason is None else None,
            partial=merged,
            missing=missing,
            abstained=reason is not None,
            reason=reason,
            detail=detail or self._summary(told, len(weights)),
            fields=told.fields,
            weights=tuple(weights.get(sample.index, 0) / UNIT for sample in samples),
            samples=tuple(samples),
            n_planned=len(samples),
            usage=usage(samples),
            settings_hash=fingerprint(self._settings),
            revisions_processed=len(weights),
            unique_paths_considered=told.considered,
            paths_in_consensus_output=told.in_output,
            paths_agreed_by_threshold=told.agreed,
            paths_resolved_by_conflict_resolver=told.resolved,
            paths_omitted=told.omitted,
            consensus_confidence_score=told.confidence,
            average_string_similarity=told.string_similarity,
            fields_dropped=dropped,
            constraints_met=consensus.met,
            repairs_tried=consensus.search.tried,
            repair_limit_hit=consensus.search.hit_limit,
        )

    def _summary(self, told: Report, revisions: int) -> str:
        agreed = f"{plural(revisions, 'revision')} merged: {told.agreed} of {plural(told.considered, 'field')} agreed"
        if not told.lacking_sources:
            return agreed
        return f"{agreed}, {told.lacking_sources} met min_agreement but not min_sources {self._settings.min_sources}"

    def _lacking(self, merged: Any) -> list[Path]:
        """The required paths that the merged record lacks."""
        return [path for path in self._settings.required if not _has(merged, path)]

    def _reason(self, consensus: _Consensus, missing: tuple[Path, ...], confidence: float) -> tuple[str | None, str]:
        settings = self._settings
        if consensus.merged is OMIT and consensus.root.lacks_sources:
            few = f"fewer sources than min_sources {settings.min_sources}"
            return ConsensusReason.TOO_FEW_SOURCES, f"the record as a whole is supported by {few}"
        if consensus.merged is OMIT:
            return ConsensusReason.LOW_AGREEMENT, "the revisions do not agree on the record as a whole"
        if missing:
            listed = excerpt(", ".join(map(str, missing)), 300)
            message = f" ({excerpt(consensus.built.message, 300)})" if consensus.built.message else ""
            return ConsensusReason.INCOMPLETE, f"no agreement on a value that fits for {listed}{message}"
        if consensus.built.inconsistent or (consensus.met is False and settings.on_unmet == "abstain"):
            tried = f"none of {consensus.search.tried} combinations"
            limit = ", the limit," if consensus.search.hit_limit else ""
            return ConsensusReason.INCONSISTENT, f"{tried}{limit} satisfies the constraints"
        if confidence < settings.min_confidence - _ROUNDING:
            shown = f"{confidence:.2f} is below min_confidence {settings.min_confidence:g}"
            return ConsensusReason.LOW_CONFIDENCE, f"consensus_confidence_score {shown}"
        return None, ""

    def _too_few(self, samples: Sequence[Sample], share: float) -> ConsensusResult:
        valid = sum(sample.ok for sample in samples)
        if valid:
            reason, detail = ConsensusReason.TOO_FEW_VALID, f"only {valid} of {len(samples)} revisions were valid "
            detail += f"({share:.2f} is below min_valid {self._settings.min_valid:g})"
        else:
            reason, detail = ConsensusReason.NO_VALID, f"none of {len(samples)} revisions was valid"
        return self._nothing(samples, reason, detail + most_often(samples))

    def _weightless(self, samples: Sequence[Sample]) -> ConsensusResult:
        which = "reports a confidence above 0" if self._settings.weights == "confidence" else "has any weight"
        detail = f"none of {sum(sample.ok for sample in samples)} valid revisions {which}"
        return self._nothing(samples, ConsensusReason.NO_VALID, detail)

    def _nothing(self, samples: Sequence[Sample], reason: str, detail: str) -> ConsensusResult:
        """The result when there is nothing to merge."""
        return ConsensusResult(
            value=None,
            partial=None,
            abstained=True,
            reason=reason,
            detail=detail,
            fields=Fields({}),
            weights=(0.0,) * len(samples),
            samples=tuple(samples),
            n_planned=len(samples),
            usage=usage(samples),
            settings_hash=fingerprint(self._settings),
        )


_FRAMES = 120
_FRAMES_A_LEVEL = 6


def _frames(samples: Iterable[Sample]) -> int:
    """How many functions may be called within each other to merge these samples, those of the user not counted."""
    return _FRAMES + _FRAMES_A_LEVEL * nesting([sample.record for sample in samples if sample.ok], MAX_DEPTH + 1)


def _failed(sample: Sample, message: str) -> Sample:
    error = f"{Failure.INVALID}: {message}"
    return replace(sample, ok=False, vote=None, record=None, confidence=None, error=error)


def _record(decision: Decision, choices: Mapping[int, int]) -> Any:
    """The merged record; one on whose kind all agree is there even if nothing in it found agreement."""
    merged = assemble(decision, choices)
    value = taken(decision, choices).value
    if merged is OMIT and isinstance(value, Branch):
        return {} if value.kind == "object" else []
    return merged


def _own(value: Any, merged: Any) -> Any:
    """The value as an object of its own: whoever changes it must not change what the result says was agreed."""
    return plain_json(value) if value is merged else value


def _has(value: Any, path: Path) -> bool:
    """Whether a record has something at a path; for a pattern, in every item."""
    for index, step in enumerate(path):
        if step == EACH:
            rest = Path(path[index + 1 :])
            return isinstance(value, list) and all(_has(item, rest) for item in value)
        if not (step in value if isinstance(value, dict) else isinstance(value, list) and step in range(len(value))):
            return False
        value = value[step]
    return value is not OMIT


spell_out_options(merge, MERGING_OPTIONS, ConsensusSettings, ConsensusResult)
