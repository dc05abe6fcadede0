"""Vote with a small real language model: labels for reviews, nested JSON for orders, which is also merged by field.

Everything runs in this process: no download, no key. The model is weak on purpose, so that there is noise to vote away.

    make demo
"""

from __future__ import annotations

import time
from collections.abc import Sequence

from small_model import TASKS, LocalModel, Screen, Task, open_screen, show_case, show_consensus, show_summary

from consilience import VoteResult, vote


def run(task: Task, model: LocalModel, screen: Screen) -> list[VoteResult]:
    """Vote on every text of ``task``, and show each result as it comes, then what it was all worth."""
    sampler = model.sampler(task)
    results = []
    screen.start(task.title, texts=len(task.cases), calls_planned=task.settings.n * len(task.cases))
    for case in task.cases:
        result = vote(sampler, case.text, settings=task.settings, on_sample=screen.sample)
        results.append(result)
        screen.finish_text(result, show_case(case, result))
    screen.stop()
    screen.write(show_summary(task, results))
    if task.consensus is not None:
        screen.write(f"\n{show_consensus(task, results)}\n")
    return results


def main(tasks: Sequence[Task] = TASKS) -> None:
    begin = time.perf_counter()
    with LocalModel() as model, open_screen() as screen:
        screen.write(f"{model.name}, loaded in {time.perf_counter() - begin:.1f} s")
        for task in tasks:
            run(task, model, screen)
        screen.write(f"{time.perf_counter() - begin:.0f} s in all")


if __name__ == "__main__":
    main()
