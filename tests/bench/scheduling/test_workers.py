"""Runs on several workers: the same records whoever makes them, and none lost, doubled or changed by a kill."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from benchmarks import faults
from tests.helpers.cli import PLUGINS, ROOT, TINY
from tests.helpers.processes import running, wait_until

Run = Callable[..., subprocess.CompletedProcess[str]]
COUNTING = ("--plugin", str(PLUGINS / "counting.py"))
CELLS = 60
pytestmark = pytest.mark.usefixtures("warm_cache")


@pytest.fixture(scope="module")
def calm(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """The records of 60 cells that one worker made in peace."""
    home = tmp_path_factory.mktemp("calm")
    subprocess.run(faults.command(home / "one", CELLS), cwd=home, check=True, capture_output=True)
    found = faults.records(home / "one")
    assert len(found) == CELLS
    return found


@contextlib.contextmanager
def module(*words: str, ready: Callable[[], bool] = lambda: True) -> Iterator[subprocess.Popen[str]]:
    with running([sys.executable, "-m", *words], ROOT, output=subprocess.DEVNULL) as started:
        wait_until(ready, started)
        yield started


def free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])


def answers(port: int) -> bool:
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
        return True
    return False


def scheduler(port: int) -> contextlib.AbstractContextManager[subprocess.Popen[str]]:
    words = ("distributed.cli.dask_scheduler", "--host", "127.0.0.1", "--port", str(port), "--no-dashboard")
    return module(*words, ready=lambda: answers(port))


def dask_worker(port: int) -> contextlib.AbstractContextManager[subprocess.Popen[str]]:
    """Without a nanny: a worker that was killed stays away."""
    more = ("--nthreads", "1", "--no-nanny", "--no-dashboard", "--death-timeout", "60")
    return module("distributed.cli.dask_worker", f"tcp://127.0.0.1:{port}", *more)


@pytest.mark.slow
def test_two_workers_make_the_same_records_as_one(calm: dict[str, Any], tmp_path: Path) -> None:
    subprocess.run(faults.command(tmp_path / "two", CELLS, "--jobs", "2"), check=True, cwd=tmp_path)
    assert faults.records(tmp_path / "two") == calm
    assert not (tmp_path / "two" / ".locks").exists()


@pytest.mark.slow
def test_a_cluster_makes_the_same_records_though_a_worker_and_the_scheduler_are_killed(
    calm: dict[str, Any], tmp_path: Path
) -> None:
    pytest.importorskip("distributed")
    port, out = free_port(), tmp_path / "dask"
    words = faults.command(out, CELLS, "--executor", f"dask://127.0.0.1:{port}")

    def on_record() -> int:
        return len(list(out.glob("*.json")))

    with scheduler(port) as first, dask_worker(port) as one, dask_worker(port):
        run = subprocess.Popen(words, cwd=tmp_path, stderr=subprocess.PIPE, text=True)
        wait_until(lambda: on_record() >= 5, run)
        one.kill()
        wait_until(lambda: on_record() >= 20, run)
        first.kill()
        _, said = run.communicate(timeout=120)
        assert run.returncode == 1, said
        assert "is gone; what is finished is saved" in said
        assert "Traceback" not in said
    saved = faults.records(out)
    assert 20 <= len(saved) < CELLS
    with scheduler(port), dask_worker(port), dask_worker(port):
        done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert f"{len(saved)} of {CELLS} cells are on record" in done.stderr
    assert faults.records(out) == calm


@pytest.mark.slow
def test_killed_runs_and_workers_lose_nothing_and_leave_nothing_behind(tmp_path: Path) -> None:
    tally = faults.loop(tmp_path, kills=3, cells=15, jobs=2, seed=3, victims=["run", "worker", "attack"])
    assert (tally.lost, tally.different, tally.orphans) == (0, 0, 0)
    assert tally.stuck == 0
    assert {victim for victim, _ in tally.strikes} == {"run", "worker", "attack"}


@pytest.mark.slow
def test_a_struck_training_goes_on_to_the_same_model(tmp_path: Path) -> None:
    tally = faults.loop(tmp_path, kills=3, cells=0, jobs=1, seed=4, victims=["trainer"])
    assert (tally.lost, tally.different, tally.orphans, tally.stuck) == (0, 0, 0, 0)
    assert len(tally.strikes) == 3


def test_two_runs_into_one_folder_do_every_cell_once(tmp_path: Path) -> None:
    count, out = tmp_path / "count", tmp_path / "out"
    attacks = [w for top in (1, 2, 3) for w in ("--attack", f"counts:file={count},top={top}")]
    words = [sys.executable, "-m", "bench", "run", "--defense", "none", "--defense", "mix-only", *attacks, *TINY]
    words += [*COUNTING, "--seed", "0", "1", "--out", str(out), "--json"]
    both = [subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(2)]
    said = [run.communicate(timeout=300) for run in both]
    assert [run.returncode for run in both] == [0, 0], said
    assert json.loads(said[0][0]) == json.loads(said[1][0])
    assert len(json.loads(said[0][0])) == 12
    lines = count.read_text().splitlines()
    assert len(lines) == len(set(lines)) == 12
    assert "by another run" in said[0][1] + said[1][1]


def test_a_cell_whose_worker_is_always_lost_fails_and_takes_no_other_along(bench: Run, tmp_path: Path) -> None:
    attacks = ("--attack", "kills-its-worker", "--attack", "counts", "--attack", "counts:top=2")
    done = bench("run", "--defense", "none", *attacks, *TINY, *COUNTING, "--jobs", "2", "--json")
    assert done.returncode == 1
    bad, *good = json.loads(done.stdout)
    assert bad["status"] == "failed"
    assert "its worker was lost 3 times" in bad["error"]
    assert [record["status"] for record in good] == ["ok", "ok"]
    assert done.stderr.count("trying again") >= 2


def test_an_interrupted_run_ends_its_workers_and_attacks(tmp_path: Path) -> None:
    words = [sys.executable, "-m", "bench", "run", "--defense", "none", "--defense", "mix-only", *TINY, *COUNTING]
    words += ["--attack", "counts:seconds=300", "--jobs", "2", "--out", str(tmp_path / "out")]
    count = tmp_path / "count"
    words += ["--attack", f"counts:file={count},seconds=300"]
    mark = {faults.MARK: f"{os.getpid()}-int"}
    with running(words, tmp_path, mark) as run:
        wait_until(count.exists, run)
        run.send_signal(signal.SIGINT)
        assert run.wait(timeout=60) == 130
        assert faults.outlived(mark[faults.MARK]) == 0
    assert not (tmp_path / "out" / ".locks").exists()


def test_an_interrupted_run_saves_what_its_workers_had_finished(tmp_path: Path) -> None:
    count, out = tmp_path / "count", tmp_path / "out"
    attacks = [w for top in range(1, 31) for w in ("--attack", f"counts:file={count},top={top}")]
    words = [sys.executable, "-m", "bench", "run", "--defense", "none", "--defense", "mix-only", *attacks, *TINY]
    words += [*COUNTING, "--jobs", "2", "--out", str(out)]
    mark = {faults.MARK: f"{os.getpid()}-kept"}
    with running(words, tmp_path, mark) as run:
        wait_until(lambda: count.exists() and len(count.read_text().splitlines()) >= 8, run)
        run.send_signal(signal.SIGINT)
        assert run.wait(timeout=60) == 130
        # The last attack of each worker may have been ended or not yet scored; those before it were finished.
        assert len(list(out.glob("*.json"))) >= 4
        assert faults.outlived(mark[faults.MARK]) == 0


def training(out: Path, *defenses: str, seeds: tuple[str, ...] = ("0",)) -> list[str]:
    """`bench utility` on the toy encoder; the undefended figure is measured beside each defense."""
    words = [word for name in defenses for word in ("--defense", name)]
    toy = ("--encoder", "toy", "--plugin", str(PLUGINS / "toy.py"), "--train-epochs", "2", "--out", str(out))
    return [sys.executable, "-m", "bench", "utility", *words, *toy, *COUNTING, "--seed", *seeds, "--json"]


@pytest.mark.slow
def test_two_training_runs_into_one_folder_train_everything_once(tmp_path: Path) -> None:
    count = tmp_path / "count"
    words = training(tmp_path / "out", *(f"counted:file={count},number={n}" for n in (1, 2)), seeds=("0", "1"))
    both = [subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(2)]
    said = [run.communicate(timeout=300) for run in both]
    assert [run.returncode for run in both] == [0, 0], said
    assert json.loads(said[0][0]) == json.loads(said[1][0])
    lines = count.read_text().splitlines()
    assert len(lines) == len(set(lines)) == 4


@pytest.mark.slow
def test_training_whose_worker_is_always_lost_fails_and_takes_no_other_along(tmp_path: Path) -> None:
    words = training(tmp_path / "out", "counted:kills=true", "mix-only")
    done = subprocess.run([*words, "--jobs", "2"], capture_output=True, text=True)
    assert done.returncode == 1
    bare, bad, mixed = json.loads(done.stdout)
    assert bad["status"] == "failed"
    assert "its worker was lost 3 times" in bad["error"]
    assert [bare["status"], mixed["status"]] == ["ok", "ok"]
    again = subprocess.run([*words[:-1], "--dry-run", "--json"], capture_output=True, text=True)
    assert [task["state"] for task in json.loads(again.stdout)["tasks"]] == ["on record", "to run", "on record"]


def test_interrupted_training_keeps_what_is_finished_and_goes_on(tmp_path: Path) -> None:
    out, count = tmp_path / "out", tmp_path / "count"
    words = training(out, f"counted:file={count},seconds=300")
    mark = {faults.MARK: f"{os.getpid()}-training"}
    with running([*words, "--jobs", "2"], tmp_path, mark) as run:
        wait_until(lambda: count.exists() and len(list(out.glob("utility/*.json"))) == 1, run)
        run.send_signal(signal.SIGINT)
        stdout, stderr = run.communicate(timeout=60)
        assert run.returncode == 130, stderr
        assert "1 of 2 records are saved" in stderr
        assert faults.outlived(mark[faults.MARK]) == 0
    (kept,) = json.loads(stdout)
    assert kept["defense"]["name"] == "none"
    assert not (out / ".locks").exists()


@pytest.mark.slow
def test_training_on_a_cluster_is_the_same_as_here(tmp_path: Path) -> None:
    pytest.importorskip("distributed")
    port, found = free_port(), []
    with scheduler(port), dask_worker(port), dask_worker(port):
        for name, executor in (("here", "in-process://"), ("dask", f"dask://127.0.0.1:{port}")):
            words = training(tmp_path / name, "texthide-inter:m=4", seeds=("0", "1"))
            done = subprocess.run([*words, "--executor", executor], capture_output=True, text=True)
            assert done.returncode == 0, done.stderr
            found.append([{k: v for k, v in record.items() if k != "cost"} for record in json.loads(done.stdout)])
    assert len(found[0]) == 4
    assert found[0] == found[1]


def test_sealed_cells_run_on_several_workers(bench: Run) -> None:
    from bench.errors import BenchError
    from bench.isolation.sandbox import require

    try:
        require()
    except BenchError as error:
        pytest.skip(str(error))
    done = bench(
        "run", "--sealed", "--defense", "none", "--attack", "rss", *TINY, "--seed", "0", "1", "--jobs", "2", "--json"
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert len({record["salt"] for record in found} - {None}) == 2


def test_a_scheduler_that_does_not_answer_is_one_line(bench: Run) -> None:
    pytest.importorskip("distributed")
    done = bench("run", "--defense", "none", "--attack", "rss", *TINY, "--executor", f"dask://127.0.0.1:{free_port()}")
    assert done.returncode == 1
    assert "no Dask scheduler answers" in done.stderr
    assert "Traceback" not in done.stderr
