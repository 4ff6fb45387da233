"""The command line as a user meets it: names, files, interruptions, repetitions."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tests.helpers.cli import PLUGINS, ROOT, TINY, load_records
from tests.helpers.processes import running, wait_until

Run = Callable[..., subprocess.CompletedProcess[str]]
HOSTILE = ("--plugin", str(PLUGINS / "hostile.py"))
pytestmark = pytest.mark.usefixtures("warm_cache")
SIX = ("--defense", "none", "--defense", "mix-only", "--defense", "texthide", "--attack", "rss", "--seed", "0", "1")


def cpu_seconds(call: Callable[[], object], tries: int = 3) -> float:
    """Processor time of what a call starts: the same on a busy machine as on an idle one."""
    times = []
    for _ in range(tries):
        before = os.times()
        call()
        after = os.times()
        times.append(after.children_user + after.children_system - before.children_user - before.children_system)
    return min(times)


def test_help_is_quick_and_loads_nothing_heavy(fresh_bench: Run) -> None:
    code = "import sys; from bench.cli.main import main\ntry: main(['--help'])\nexcept SystemExit: pass\n"
    code += "print([m for m in ('numpy', 'torch', 'rich', 'pandas') if m in sys.modules], file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "[]"
    assert cpu_seconds(lambda: fresh_bench("--help")) < 0.3  # 0.2 s on an idle machine, more where cores are shared


def test_a_wrong_name_exits_2_at_once_with_the_closest_match(fresh_bench: Run) -> None:
    done = fresh_bench("run", "--defense", "texthid", "--attack", "rss")
    assert done.returncode == 2
    assert "did you mean 'texthide'" in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert cpu_seconds(lambda: fresh_bench("run", "--defense", "texthid", "--attack", "rss")) < 1.0


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["--defense", "none", "--attack", "rsss"], "did you mean 'rss'"),
        (["--defense", "texthide:kk=3", "--attack", "rss"], "did you mean 'k'"),
        (["--defense", "texthide+dp-sdg", "--attack", "span"], "did you mean 'dp-sgd'"),
        (["--defense", "texthide:k=0", "--attack", "rss"], "k must be at least 1"),
        (["--defense", "texthide:m=-1", "--attack", "rss"], "m must be 0"),
        (["--defense", "none", "--attack", "rss:top=0"], "top must be at least 1"),
        (["--defense", "none", "--attack", "rss", "--dataset", "colla"], "did you mean 'cola'"),
        (["--defense", "none", "--attack", "rss", "--encoder", "minilmm"], "did you mean 'minilm'"),
        ([], "bench run --defense texthide --attack unmix"),
        (["--defense", "none"], "name at least one attack"),
        (["--defense", "none", "--attack", "rss", "--examples", "1"], "at least 2"),
        (["--defense", "none", "--attack", "rss", "--coverage", "1.5"], "between 0 and 1"),
        (["--defense", "none", "--attack", "rss", "--epochs", "0"], "at least 1"),
        (["--defense", "none", "--attack", "rss", "--candidates", "20"], "cannot hold the 1000 private examples"),
        (["--defense", "none", "--attack", "rss", "--examples", "9999"], "fewer than --examples 9999"),
        (["--defense", "none", "--attack", "rss", "--jobs", "0"], "at least 1"),
        (["--defense", "none", "--attack", "rss", "--public", "dmo"], "did you mean 'demo'"),
        (["--defense", "none", "--attack", "rss", "--device", "cudaa"], "expected auto, cpu, cuda or cuda:N"),
        (["--defense", "none", "--attack", "gggg"], "needs --plugin FILE"),
        (["--defnse", "none", "--attack", "rss"], "bench run: unknown option '--defnse': did you mean '--defense'?"),
        (["--defense", "none", "rss"], "bench run: unknown argument 'rss'"),
        (["--suite", "smokee"], "unknown suite"),
        (["--suite", "mine.toml"], "--suite mine.toml: no such file"),
        (["--suite", "smoke", "--seed", "1"], "names its own cells"),
        (["--defense", "none", "--attack", "rss", "--plugin", "nowhere.py"], "no such Python file"),
    ],
)
def test_usage_errors_are_one_line_and_exit_2(bench: Run, args: list[str], said: str) -> None:
    done = bench("run", *args)
    assert done.returncode == 2, done.stderr
    assert said in done.stderr
    assert "Traceback" not in done.stderr
    assert "usage:" not in done.stderr


def test_a_file_in_place_of_the_folder_is_said(bench: Run, tmp_path: Path) -> None:
    (tmp_path / "taken").touch()
    done = bench("run", "--defense", "none", "--attack", "rss", *TINY, "--out", str(tmp_path / "taken"))
    assert done.returncode == 1
    assert done.stderr.strip().endswith("taken is a file: choose a folder")


@pytest.mark.parametrize(("args", "status"), [("completion bash", 0), ("plugin new some --single-file", 1)])
def test_a_reader_who_leaves_is_no_traceback(args: str, status: int, tmp_path: Path) -> None:
    read, write = os.pipe()
    os.close(read)
    command = [sys.executable, "-m", "bench", *args.split()]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    done = subprocess.run(command, stdout=write, stderr=subprocess.PIPE, text=True, cwd=tmp_path, env=environment)
    os.close(write)
    assert (done.returncode, done.stderr) == (status, "")


def test_k_above_the_number_of_examples_is_a_failed_cell_with_advice(bench: Run) -> None:
    done = bench("run", "--defense", "mix-only:k=50,batch=all", "--defense", "none", "--attack", "rss", *TINY)
    assert done.returncode == 1
    assert "lower k or raise --examples" in done.stdout
    assert "ok" in done.stderr


def test_a_run_prints_a_table_and_the_same_again_comes_from_the_record(
    bench: Run, fresh_bench: Run, tmp_path: Path
) -> None:
    first = bench("run", *SIX, *TINY)
    assert first.returncode == 0, first.stderr
    assert "texthide" in first.stdout
    assert "recall" in first.stdout
    assert "identity" not in first.stdout
    assert "identity" in bench("run", *SIX, *TINY, "--metrics", "all").stdout
    second = bench("run", *SIX, *TINY)
    assert second.stdout == first.stdout
    assert "6 of 6 cells are on record" in second.stderr
    before = load_records(tmp_path / "home" / "results")
    # In an interpreter of its own, which orders sets by other hashes.
    fresh_bench("run", *SIX, *TINY, "--force")
    assert load_records(tmp_path / "home" / "results") == before


def test_json_is_the_records_and_nothing_else(bench: Run, tmp_path: Path) -> None:
    done = bench("run", "--defense", "none", "--attack", "rss", *TINY, "--json")
    (record,) = json.loads(done.stdout)
    (stored,) = (json.loads(p.read_text()) for p in (tmp_path / "home" / "results").glob("*.json"))
    assert record == stored
    assert record["schema"] == 2
    assert record["defense"]["name"] == "none"
    assert record["attack"]["sees"] == ["corpus", "encodings"]
    assert record["dataset"]["candidates"] == 120
    assert record["encoder"]["dim"] == 32
    assert record["protocol"] == {
        "batch": None,
        "update": None,
        "examples": 40,
        "epochs": 1,
        "candidates": 120,
        "coverage": 1.0,
        "split": "train",
    }
    assert set(record["metrics"]["identity"]) == {"value", "low", "high", "random", "random_low", "random_high"}
    assert record["metrics"]["identity"]["value"] == 1
    assert record["cost"]["peak_mib"] > 10


def test_two_at_a_time_give_the_same_numbers_as_one(bench: Run, tmp_path: Path) -> None:
    bench("run", *SIX, *TINY, "--out", str(tmp_path / "one"))
    done = bench("run", *SIX, *TINY, "--out", str(tmp_path / "two"), "--jobs", "2")
    assert done.returncode == 0, done.stderr
    assert load_records(tmp_path / "one") == load_records(tmp_path / "two")


def test_details_can_be_kept(bench: Run, tmp_path: Path) -> None:
    done = bench("run", "--defense", "mix-only", "--attack", "rss", *TINY, "--details")
    assert done.returncode == 0
    (path,) = (tmp_path / "home" / "results").glob("*.parquet")
    table = pd.read_parquet(path)
    assert len(table) == 40
    assert {"example", "example_label", "answer", "identity", "jaccard", "tfidf", "label", "sbert", "recall"} <= set(
        table
    )
    assert np.array_equal((table["example"] == table["answer"]).astype(float), table["identity"])
    # The whole ranking and the mix: recall can be computed from them.
    named = [set(answers[: len(members)]) for answers, members in zip(table["answers"], table["members"], strict=True)]
    recall = [len(set(m) & found) / len(set(m)) for m, found in zip(table["members"], named, strict=True)]
    assert np.allclose(recall, table["recall"])
    assert [row[0] for row in table["answers"]] == table["answer"].tolist()
    assert np.allclose([sum(weights) for weights in table["weights"]], 1)


def test_what_an_attack_prints_is_shown_if_asked_for(bench: Run, tmp_path: Path) -> None:
    (tmp_path / "chatty.py").write_text(
        "from dataclasses import dataclass\n"
        "import sys\n"
        "from bench import Guess, attack\n"
        "@attack('chatty', sees={'encodings', 'corpus'}, paper='none')\n"
        "@dataclass(frozen=True)\n"
        "class Chatty:\n"
        "    def run(self, view, rng):\n"
        "        print('n is', len(view.encodings))\n"
        "        print('\\x1b[2Jno newline', end='', file=sys.stderr)\n"
        "        return Guess(ranking=view.corpus.search(view.encodings, 4))\n"
    )
    given = ("run", "--defense", "none", "--attack", "chatty", "--plugin", str(tmp_path / "chatty.py"), *TINY)
    assert "n is" not in bench(*given).stderr
    shown = bench(*given, "--verbose", "--force")
    assert shown.returncode == 0
    assert "chatty | n is 40" in shown.stderr
    assert "no newline" in shown.stderr
    assert "\x1b" not in shown.stderr


def test_coverage_takes_private_examples_out_of_the_corpus(bench: Run) -> None:
    done = bench("run", "--defense", "none", "--attack", "rss", *TINY, "--coverage", "0.5", "--json")
    (record,) = json.loads(done.stdout)
    assert record["metrics"]["identity"]["value"] == 0.5
    assert record["metrics"]["recall"]["value"] == 1


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_ctrl_c_saves_what_is_finished_and_says_how_to_go_on(bench: Run, tmp_path: Path, jobs: str) -> None:
    home, results = tmp_path, tmp_path / "results"
    args = ("--defense", "none", "--attack", "rss", "--attack", "sleeps", *TINY, *HOSTILE, "--jobs", jobs)
    with running([sys.executable, "-m", "bench", "run", *args], home) as process:
        wait_until(lambda: len(list(results.glob("*.json"))) == 1, process)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert process.returncode == 130, err
    assert "1 of 2 records are saved in results; the same command goes on from there" in err
    assert "Traceback" not in err
    assert "rss" in out
    (record,) = load_records(results).values()
    assert record["attack"]["name"] == "rss"


@pytest.mark.slow
def test_kill_9_at_any_moment_loses_nothing_that_was_finished(fresh_bench: Run, tmp_path: Path) -> None:
    args = (*SIX, *TINY)
    start = time.perf_counter()
    fresh_bench("run", *args, "--out", str(tmp_path / "calm"))
    whole = time.perf_counter() - start
    calm = load_records(tmp_path / "calm")
    assert len(calm) == 6
    moments = random.Random(0)
    home = tmp_path / "rough"
    home.mkdir()
    for _ in range(10):
        with running([sys.executable, "-m", "bench", "run", *args], home) as process:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(moments.uniform(0.1, whole / 2))
            process.kill()
        if moments.random() < 0.2:
            shutil.rmtree(home / "results", ignore_errors=True)  # so that early moments are met more than once
    done = subprocess.run([sys.executable, "-m", "bench", "run", *args], cwd=home, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert load_records(home / "results") == calm


def test_an_unwritable_folder_is_refused_before_anything_runs(bench: Run, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    done = bench("run", "--defense", "none", "--attack", "rss", *TINY, "--out", str(tmp_path / "file" / "results"))
    assert done.returncode == 1
    assert "cannot write" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_a_full_disk_leaves_whole_files_and_a_clear_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from bench.errors import BenchError
    from bench.system.files import write_text

    path = tmp_path / "record.json"
    write_text(path, "old")

    def full(self: Path, text: str, **_: object) -> int:
        self.write_bytes(text[:3].encode())
        with open("/dev/full", "w") as disk:
            disk.write(text)
        return 0

    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(BenchError, match="No space left on device; free some space"):
        write_text(path, "new and longer")
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_damaged_record_is_run_again(bench: Run, tmp_path: Path) -> None:
    args = ("run", "--defense", "none", "--attack", "rss", *TINY)
    bench(*args)
    (path,) = (tmp_path / "home" / "results").glob("*.json")
    whole = path.read_text()
    path.write_text(whole[:100])
    done = bench(*args)
    assert done.returncode == 0
    assert "left out, and run again" in done.stderr
    assert json.loads(path.read_text())["metrics"] == json.loads(whole)["metrics"]


def test_no_weights_and_no_network_is_one_line(bench: Run, tmp_path: Path) -> None:
    env = {"HF_HUB_OFFLINE": "1", "HF_HOME": str(tmp_path), "BENCH_MODELS_DIR": ""}
    done = bench("run", "--defense", "none", "--attack", "rss", "--encoder", "bert", env=env)
    assert done.returncode == 1
    assert "cannot fetch the weights of google-bert/bert-base-cased from the hub" in done.stderr
    assert "or set BENCH_MODELS_DIR" in done.stderr
    assert "Traceback" not in done.stderr


def test_one_bad_cell_does_not_stop_the_others(bench: Run, tmp_path: Path) -> None:
    env = {"BENCH_DATA_DIR": str(tmp_path)}
    done = bench(
        "run", "--defense", "none", "--attack", "rss", "--dataset", "cola", "--dataset", "demo", *TINY, env=env
    )
    assert done.returncode == 1
    assert "put the GLUE files into BENCH_DATA_DIR" in done.stderr
    assert "demo" in done.stdout


def test_list_shows_everything_there_is(bench: Run) -> None:
    done = bench("list", "--json", *HOSTILE)
    found = json.loads(done.stdout)
    assert "texthide" in [d["name"] for d in found["defenses"]]
    assert "peeks" in [a["name"] for a in found["attacks"]]
    assert next(d for d in found["defenses"] if d["name"] == "texthide")["options"]["m"] == "256"
    assert "smoke" in [s["name"] for s in found["suites"]]
    assert "rss" in bench("list", "attacks").stdout


def copy_of_the_project(folder: Path) -> dict[str, str]:
    for name in ("bench", "attacks", "defenses", "datasets", "leaderboards"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "setup.cfg", folder)
    return {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}


@pytest.mark.slow
def test_a_changed_line_runs_the_cell_again_and_an_unrelated_one_does_not(tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    env = copy_of_the_project(project)

    def cells_on_record() -> bool:
        command = [sys.executable, "-m", "bench", "run", "--defense", "none", "--attack", "rss", *TINY]
        done = subprocess.run(command, cwd=project, env=env, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return "1 of 1 cells are on record" in done.stderr

    def edit(name: str, old: str, new: str) -> None:
        path = project / name
        assert old in path.read_text(), f"{name} has no {old!r} to change"
        path.write_text(path.read_text().replace(old, new, 1))

    assert not cells_on_record()
    assert cells_on_record()
    # Comments decide no number, nor does code that this cell does not reach.
    for name in ("attacks/rss.py", "defenses/none.py", "bench/toolkit/mixing.py"):
        (project / name).write_text((project / name).read_text() + "\n# a comment\n")
    edit("bench/cli/main.py", "bench list", "bench  list")
    edit("defenses/texthide.py", "m: ", "another: int = 1\n    m: ")
    (project / "attacks" / "another.py").write_text("# nothing\n")
    assert cells_on_record()
    for name, old, new in (
        ("attacks/rss.py", "view.encodings", "+view.encodings"),
        ("bench/toolkit/search.py", "HALVINGS = 4", "HALVINGS = 3"),
    ):
        edit(name, old, new)
        assert not cells_on_record(), name


def test_a_suite_names_many_cells(bench: Run, tmp_path: Path) -> None:
    suite = tmp_path / "mine.toml"
    suite.write_text(
        'title = "mine"\nencoder = "toy"\nexamples = 40\ncandidates = 120\nattack = "rss"\n'
        '[[cells]]\ndefense = ["none", "mix-only"]\nseed = [0, 1]\n[[cells]]\ndefense = "texthide"\n'
    )
    done = bench("run", "--suite", str(suite), "--plugin", str(PLUGINS / "toy.py"), "--json")
    assert done.returncode == 0, done.stderr
    assert len(json.loads(done.stdout)) == 5
    suite.write_text('defence = "none"\n')
    done = bench("run", "--suite", str(suite))
    assert done.returncode == 2
    assert "did you mean 'defense'" in done.stderr


def test_smoke_and_main_hold_every_defense_against_every_attack() -> None:
    """Of text by its encodings; pictures, updates and what holds have suites of their own."""
    from bench.experiment import suites
    from bench.plugins.registry import Registry

    registry = Registry(())
    pairs = {
        suite: {(cell.defense.name, cell.attack.name) for cell in suites.from_suite(registry, suite)}
        for suite in suites.suites(training=False, audits=False)
    }
    for suite in ("smoke", "main"):
        assert pairs[suite] == set(itertools.product(*(sorted(set(some)) for some in zip(*pairs[suite], strict=True))))
    assert {attack for _, attack in pairs["smoke"]} == {attack for _, attack in pairs["main"]}
    apart = {"token-rows", "head-only"}  # run by hand, docs/updates.md
    for kind, names in zip(("defense", "attack"), zip(*set().union(*pairs.values()), strict=True), strict=True):
        ours = {entry.name for entry in registry.of(kind).values() if entry.built_in}
        assert ours - set(names) - apart == set()


def test_queries_can_come_from_dev_with_train_known_not_to_be_private(bench: Run, tmp_path: Path) -> None:
    plugin = tmp_path / "known.py"
    plugin.write_text(
        "from dataclasses import dataclass\nfrom bench import Guess, attack\n"
        "@attack('known', sees={'encodings', 'corpus'})\n@dataclass(frozen=True)\nclass Known:\n"
        "    def run(self, view, rng):\n"
        "        ranking = view.corpus.search(view.encodings, 1)\n"
        "        return Guess(ranking=ranking, details={'known': view.corpus.known, 'lowest': int(ranking.min())})\n"
    )
    args = ("--defense", "none", "--attack", "known", *TINY, "--plugin", str(plugin), "--split", "dev", "--json")
    (record,) = json.loads(bench("run", *args).stdout)
    assert record["metrics"]["identity"]["value"] == 1
    assert 0 < record["details"]["known"] <= record["details"]["lowest"]
    assert record["protocol"]["split"] == "dev"
