"""End to end: votes on, and consensus of, real replies of a real small model, in this process."""

from __future__ import annotations

import dataclasses
import io
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from consilience import ConsensusReason, Reason, Reply, Sample, VoteResult, ballot, flatten, tally

EXAMPLES = Path(__file__).parents[1] / "examples"


@pytest.fixture(scope="module")
def demo() -> Iterator[Any]:
    """The names of the demo's modules."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(EXAMPLES)
        import local_model
        import small_model

        yield SimpleNamespace(run=local_model.run, main=local_model.main, **vars(small_model))
        sys.modules.pop("local_model")


@pytest.fixture(scope="module")
def model(demo: Any) -> Iterator[Any]:
    with demo.LocalModel() as loaded:
        yield loaded


def shorter(task: Any, *, cases: int) -> Any:
    return dataclasses.replace(task, cases=task.cases[:cases])


def run(demo: Any, model: Any, task: Any) -> tuple[list[VoteResult], str]:
    """The results on a task, and what the demo shows meanwhile."""
    stream = io.StringIO()
    with demo.open_screen(stream) as screen:
        results = demo.run(task, model, screen)
    return results, stream.getvalue()


@pytest.fixture(scope="module")
def reviews(demo: Any, model: Any) -> Any:
    task = shorter(demo.REVIEWS, cases=4)
    return task, *run(demo, model, task)


@pytest.fixture(scope="module")
def orders(demo: Any, model: Any) -> Any:
    task = shorter(demo.ORDERS, cases=3)
    return task, *run(demo, model, task)


@pytest.fixture(params=["reviews", "orders"])
def outcome(request: pytest.FixtureRequest) -> Any:
    """Task, results and what was shown, for each task."""
    return request.getfixturevalue(request.param)


def test_replies_are_real_and_counted(outcome: Any, model: Any) -> None:
    task, results, _ = outcome
    assert len(results) == len(task.cases)
    for result in results:
        assert 2 < result.num_samples <= task.settings.n == result.n_planned
        assert [sample.index for sample in result.samples] == list(range(result.num_samples))
        written = [sample.raw for sample in result.samples if sample.raw.content.strip()]
        assert len(written) > result.num_samples / 2
        assert all(0 < reply.confidence <= 1 for reply in written)
        assert all("\n" not in sample.raw.content for sample in result.samples)
        assert {sample.raw.source for sample in result.samples} == {model.name}
        assert result.usage["output_tokens"] >= result.num_samples
        assert result.usage["input_tokens"] > result.usage["output_tokens"]


def test_decisions_and_abstentions_follow_from_the_replies(outcome: Any) -> None:
    task, results, _ = outcome
    for result in results:
        votes = sum(number for _, number in result.counts)
        assert votes == result.num_valid
        if result.decided:
            winner, number = result.counts[0]
            assert ballot(winner) == ballot(result.value)
            assert number / task.settings.n > 0.5
            assert result.agreement >= task.settings.min_agreement
        else:
            assert result.reason in vars(Reason).values()
            assert result.value is None


def test_labels_are_labels(reviews: Any) -> None:
    _, results, _ = reviews
    assert {result.value for result in results if result.decided} <= {"positive", "negative"}
    assert any(result.decided for result in results)


def test_orders_are_nested_records_with_an_agreement_for_each_field(orders: Any, demo: Any) -> None:
    task, results, _ = orders
    for result in results:
        records = [sample.record for sample in result.samples if sample.ok]
        assert records
        assert all(isinstance(record, demo.Order) and record.customer.name for record in records)
        assert set(result.field_agreement) == set(task.fields)
        assert all(share >= result.agreement - 1e-9 for share in result.field_agreement.values())
    assert any(result.decided for result in results)


def test_the_model_is_mostly_right(outcome: Any, demo: Any) -> None:
    """Measured: all decided reviews and orders right. Other processors round differently, so the bound is low."""
    task, results, _ = outcome
    score = demo.Score.of(
        ballot(result.value) == ballot(case.gold) if result.decided else None
        for case, result in zip(task.cases, results, strict=True)
    )
    assert score.right >= 1
    assert score.right >= score.wrong


def test_early_stop_saves_calls_and_decides_as_the_full_count_would(outcome: Any) -> None:
    task, results, _ = outcome
    assert any(result.stopped_early for result in results)
    assert sum(result.num_samples for result in results) < sum(result.n_planned for result in results)
    for result in results:
        missing = [ValueError("not drawn")] * (result.n_planned - result.num_samples)
        worst = tally([*result.samples, *missing], settings=task.settings)
        assert worst.decided == result.decided
        assert ballot(worst.value) == ballot(result.value)


def test_the_demo_shows_every_part(outcome: Any, demo: Any) -> None:
    task, results, shown = outcome
    assert task.title in shown
    for case, result in zip(task.cases, results, strict=True):
        part = demo.show_case(case, result)
        assert part in shown
        assert part.startswith(case.text)
        assert "counts " in part
        assert ("decision " in part) is result.decided
        assert f"calls      {result.num_samples} of {result.n_planned}" in part
        if result.abstained:
            assert f"{result.reason}: {result.detail}" in part
        for name, share in result.field_agreement.items():
            assert not task.fields or f"{name} {share:.2f}" in part
    drawn = sum(result.num_samples for result in results)
    assert f"... {len(results)} of {len(results)} texts, " in shown
    assert f" {drawn} calls, " in shown


def test_the_summary_compares_one_reply_with_the_vote(outcome: Any, demo: Any) -> None:
    task, results, shown = outcome
    summary = demo.show_summary(task, results)
    assert summary in shown
    for part in ("single shot", "voted", "abstentions", "failed replies", "saved by early stop"):
        assert part in summary
    for name in task.fields:
        assert f"{name} " in summary


def test_the_replies_to_an_order_are_merged_without_a_call(orders: Any, demo: Any) -> None:
    task, results, _ = orders
    for case, result in zip(task.cases, results, strict=True):
        merged = demo.merge_replies(task, case.text, result.samples)
        assert [sample.raw for sample in merged.samples] == [sample.raw for sample in result.samples]
        assert merged.usage == result.usage
        assert merged.revisions_processed >= result.num_valid  # a bad field costs a vote the whole reply
        if merged.decided:
            assert isinstance(merged.value, demo.Order)
            assert merged.value.model_dump(mode="json") == merged.partial
        else:
            assert merged.reason in vars(ConsensusReason).values()
        for path, leaf in flatten(merged.partial).items():
            assert merged.fields[path].value == leaf
            assert merged.fields[path].agreement >= task.consensus.min_agreement


def test_what_most_replies_say_is_in_the_merged_record(orders: Any, demo: Any) -> None:
    task, results, _ = orders
    for case, result in zip(task.cases, results, strict=True):
        merged = demo.merge_replies(task, case.text, result.samples)
        if result.decided and result.counts[0][1] == len(result.samples):
            assert merged.value == result.value
            assert {field.status for field in merged.fields.values()} == {"unanimous"}
        if merged.decided:
            assert demo.record_verdict(case, merged) is (ballot(merged.value) == ballot(case.gold))


def test_the_demo_compares_one_reply_with_the_consensus_for_each_field(orders: Any, demo: Any) -> None:
    task, results, shown = orders
    part = demo.show_consensus(task, results)
    assert part in shown
    for case, result in zip(task.cases, results, strict=True):
        assert case.text in part
        merged = demo.merge_replies(task, case.text, result.samples)
        for item in merged.needs_review(below=0.8):
            assert f"check      {item.path!s:14} {item.status}, agreement {item.agreement:.2f}: " in part
    for name in ("customer.name", "customer.city", "item.name", "item.quantity", "price", "whole record"):
        assert f"\n  {name:14} an average reply is right " in part
    assert part.count("single shot ") == part.count("consensus   ") == 6


def test_labels_are_not_merged(reviews: Any) -> None:
    task, _, shown = reviews
    assert task.consensus is None
    assert "Consensus" not in shown


def scripted(demo: Any, *replies: str) -> list[Sample]:
    settings = demo.ORDERS.settings
    return list(tally([Reply(text) for text in replies], settings=settings).samples)


def test_a_field_is_right_wrong_or_left_out(demo: Any) -> None:
    task, case = demo.ORDERS, demo.ORDERS.cases[0]
    samples = scripted(
        demo,
        '{"customer": {"name": "Lena Hoff", "city": "Bern"}, "item": {"name": "umbrellas", "quantity": 4}, "price": 1}',
        '{"customer": {"name": "Lena Hoff", "city": "Bern"}, "item": {"name": "umbrellas"}, "price": 4}',
    )
    assert [sample.ok for sample in samples] == [True, False]
    merged = demo.merge_replies(task, case.text, samples)
    verdicts = {str(path): demo.field_verdict(case, merged, path) for path in merged.fields}
    expected = {"customer.name": True, "customer.city": False, "item.name": True, "price": None}
    assert {name: verdicts[name] for name in expected} == expected
    assert demo.record_verdict(case, merged) is None


def test_a_call_that_failed_is_no_revision(demo: Any) -> None:
    case = demo.ORDERS.cases[0]
    failed = Sample(index=0, ok=False, error="sampler_error: RuntimeError: refused the prompt")
    merged = demo.merge_replies(demo.ORDERS, case.text, [failed])
    assert (merged.reason, merged.samples[0].code) == ("no_valid", "sampler_error")
    assert demo.field_verdict(case, merged, next(iter(flatten({"price": 15})))) is None


def test_equal_seeds_give_equal_replies_and_other_turns_give_other_seeds(demo: Any, model: Any) -> None:
    sampler, again = model.sampler(demo.REVIEWS), model.sampler(demo.REVIEWS)
    text = demo.REVIEWS.cases[0].text
    first, second = [sampler(text) for _ in range(3)], [again(text) for _ in range(3)]
    assert [reply.content for reply in first] == [reply.content for reply in second]
    seeds = {demo.derived_seed(case.text, turn) for case in demo.REVIEWS.cases for turn in range(7)}
    assert len(seeds) == 7 * len(demo.REVIEWS.cases)
    assert all(0 <= seed < 2**32 for seed in seeds)


def test_more_threads_than_engines_take_turns(demo: Any, model: Any) -> None:
    sampler = model.sampler(demo.REVIEWS)
    texts = [case.text for case in demo.REVIEWS.cases[:6]]
    with ThreadPoolExecutor(6) as threads:
        replies = list(threads.map(sampler, texts))
    assert all(isinstance(reply, Reply) and reply.content for reply in replies)


def test_a_prompt_that_does_not_fit_is_an_error_not_a_reply(demo: Any, model: Any) -> None:
    with pytest.raises(RuntimeError, match="refused the prompt"):
        model.complete("word " * 3000, seed=1, temperature=0.5, max_tokens=4)


def test_a_closed_model_says_so(demo: Any) -> None:
    model = demo.LocalModel(engines=1)
    model.close()
    model.close()
    with pytest.raises(RuntimeError, match="closed"):
        model.complete("hello", seed=1, temperature=0.5, max_tokens=4)


def test_the_live_line_is_drawn_in_a_terminal(demo: Any) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    stream = Terminal()
    sample = Sample(index=0, ok=False, error="no_json: nothing to read")
    with demo.open_screen(stream) as screen:
        assert isinstance(screen, demo.TerminalScreen)
        screen.start("A task", texts=2, calls_planned=10)
        screen.sample(sample)
        screen.finish_text(tally([]), "what came of it")
        screen.stop()
    shown = stream.getvalue()
    assert "A task" in shown
    assert "what came of it" in shown


def test_a_score_without_answers_has_no_accuracy(demo: Any) -> None:
    assert demo.Score.of([None, None]) == demo.Score(right=0, wrong=0, unanswered=2)
    assert demo.Score.of([None]).accuracy is None
    assert demo.Score.of([True, True, False, None]).accuracy == pytest.approx(2 / 3)
    assert "67% of the answers" in str(demo.Score.of([True, True, False, None]))
    assert "- of the answers" in str(demo.Score.of([None]))
