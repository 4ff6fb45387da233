"""Guesses of the time that a report takes, and the budget, without running anything: the clock is made up."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, cast

import pytest

from bench.reporting import run
from bench.reporting.pace import SAMPLE, Pace
from bench.reporting.steps import Step
from bench.scheduling.progress import Progress
from bench.scheduling.settings import RunSettings


class Task:
    """One that takes so many seconds."""

    noun = "cells"

    def __init__(self, name: str, seconds: float):
        self.seconds, self.title, self.done = seconds, name, False
        self.about = SimpleNamespace(id=name)
        self.subject = SimpleNamespace(defense=SimpleNamespace(label=name))


def step(title: str, seconds: Sequence[float], texts: float) -> Step:
    return Step(title, cast(Any, [Task(f"{title}{i}", s) for i, s in enumerate(seconds)]), texts)


def pace(per_text: float = 1.0, on_record: Sequence[str] = ()) -> Pace:
    def find(task: Task) -> bool | None:
        return True if task.done or task.title in on_record else None

    return Pace(per_text, cast(Any, SimpleNamespace(find=find)))


def test_a_guess_follows_the_recipe_and_the_machine() -> None:
    guess = pace(per_text=0.5)
    assert guess.expected(step("a", [1, 1], texts=100)) == 50
    assert guess.expected(step("a", [1, 1], texts=100), tasks=1) == 25
    assert pace(0.5, on_record=["a0"]).expected(step("a", [1, 1], texts=100)) == 25
    guess.encoded(SAMPLE - 1, 1e6)  # fewer than the sample: the sample knows better
    assert guess.encoding(10) == 5
    guess.encoded(1000, 100)
    assert guess.encoding(10) == 1
    assert guess.expected(step("a", [1, 1], texts=100)) == 10


def test_a_step_that_has_begun_is_guessed_by_what_its_tasks_took() -> None:
    guess, slow = pace(), step("slow", [100] * 4, texts=40)
    assert guess.expected(slow) == 40
    guess.took(slow, 1, 100)
    one_more = guess.expected(slow, tasks=1)
    assert 50 < one_more < 100
    guess.took(slow, 1, 100)
    assert one_more < guess.expected(slow, tasks=1) < 100
    # Steps that have not begun are thought to take longer, too, but not ten times as long.
    assert 40 < guess.expected(step("other", [1] * 4, texts=40)) < 200


class Clock:
    """Time passes while tasks are run, and at no other time."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch):
        self.now, self.order, self.left = 0.0, list[str](), list[str]()
        monkeypatch.setattr(run.time, "monotonic", lambda: self.now)
        monkeypatch.setattr(run.runner, "run", self.run)
        monkeypatch.setattr(run.prefetch, "texts_of", lambda tasks: [])

    def run(self, tasks: Sequence[Task], settings: RunSettings, progress: Progress) -> tuple[list[Any], list[Any]]:
        progress.plan(0, len(tasks))
        for task in tasks:
            self.now += task.seconds
            self.order.append(task.title)
            self.left.append(progress.time_left())
            task.done = True
        return [task.about for task in tasks], []


def work(steps: Sequence[Step], budget_s: float, guess: Pace) -> run.Work:
    made = run.Work(steps, budget_s, RunSettings(), Progress(quiet=True), guess)
    made.encode()
    for at, one in enumerate(steps):
        made.run(at, one)
    return made


def test_the_budget_is_kept_task_by_task(monkeypatch: pytest.MonkeyPatch) -> None:
    """A step that takes ten times what was thought does not take ten times the budget."""
    clock, guess = Clock(monkeypatch), pace()
    first, slow, last = step("first", [10], 10), step("slow", [200] * 4, 80), step("last", [5], 5)
    done = work([first, slow, last], 300, guess)
    assert clock.order == ["first0", "slow0", "last0"]
    assert clock.now < 300
    assert done.left_out == ["slow: slow1, slow2, slow3"]
    assert [record.id for record in done.records()] == ["first0", "slow0", "last0"]


def test_the_first_step_is_run_in_any_case_and_the_rest_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch)
    done = work([step("first", [10, 10], 1000), step("second", [1, 1], 10)], 1, pace())
    assert clock.order == ["first0", "first1"]
    assert done.left_out == ["second"]


def test_records_stand_in_the_order_of_the_recipe_whatever_was_there_before(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch)
    done = work([step("a", [1, 0, 1], 3)], 100, pace(on_record=["a1"]))
    assert clock.order == ["a1", "a0", "a2"]
    assert [record.id for record in done.records()] == ["a0", "a1", "a2"]


def test_the_time_left_counts_down_within_a_task_and_over_all_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch)
    work([step("a", [30, 30], 60), step("b", [20], 20)], 1000, pace())
    assert clock.left == ["50 s", "20 s", "0 s"]
