"""Trained models on disk: the same after a kill, mended when damaged, bounded, and looked at where it was asked."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from bench.defenses.none import NoDefense
from bench.defenses.texthide import TextHide
from bench.encoders.transformers import Hub
from bench.errors import BenchError
from bench.plugins.training import Finetuned
from bench.training import checkpoints, search, state
from bench.training.finetune import Diverged, Job
from bench.training.judging import metrics_for
from bench.types import Examples
from tests.helpers.tiny_models import save_tiny, sentences

OPTIONS = Finetuned(epochs=3, batch=8, rate=3e-3, dropout=0.1)


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_tiny(tmp_path_factory.mktemp("tiny") / "bert")


@pytest.fixture(autouse=True)
def _own_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BENCH_CACHE_DIR", str(tmp_path / "cache"))


def _job(model: Path, options: Finetuned, defense: object | None = None, count: int = 60) -> Job:
    train, dev = (Examples(*sentences(n, seed), ("no", "yes")) for n, seed in ((count, 0), (60, 1)))
    names = metrics_for(("accuracy",), train, dev)
    return Job(options.run(), Hub(str(model)), train, dev, names, defense or NoDefense(), "none", None, 0, ("data",))


def _obtain(model: Path, options: Finetuned = OPTIONS, key: str = "key", **more: object) -> checkpoints.Trained:
    said: list[str] = []
    return checkpoints.obtain(key, options, lambda: _job(model, options, **more), device="cpu", progress=said.append)  # type: ignore[arg-type]


def _hashes(found: checkpoints.Trained) -> dict[str, str]:
    return dict(found.sha256)


def test_the_model_learns_and_is_kept(model: Path) -> None:
    options = replace(OPTIONS, epochs=5, dropout=0.0)
    found = _obtain(model, options, count=600)
    assert found.metrics[str(found.step(OPTIONS))]["accuracy"] > found.majority["accuracy"] + 0.3
    reached = [row["accuracy"] for row in found.curve]
    assert reached[found.best - 1] == max(reached)
    assert {int(step) for step in found.sha256} >= {found.best * found.steps}
    assert not (found.folder / state.STATE).exists()

    def never() -> Job:
        raise AssertionError("it is on disk")

    again = checkpoints.obtain("key", options, never, device="cpu", progress=print)
    assert again == found


def test_two_trainings_are_the_same_bit_for_bit(model: Path) -> None:
    assert _hashes(_obtain(model, key="a")) == _hashes(_obtain(model, key="b"))


def _until_killed(model: Path, cache: str) -> None:
    os.environ["BENCH_CACHE_DIR"] = cache
    torch.set_num_threads(1)
    _obtain(model, replace(OPTIONS, epochs=40), key="killed")


def test_a_killed_training_goes_on_from_its_last_epoch(model: Path, tmp_path: Path) -> None:
    options = replace(OPTIONS, epochs=40)
    context = multiprocessing.get_context("spawn")
    process = context.Process(target=_until_killed, args=(model, str(tmp_path / "cache")))
    process.start()
    path = checkpoints.folder_of("killed") / state.STATE
    deadline = time.monotonic() + 120
    while not path.exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    os.kill(process.pid or 0, signal.SIGKILL)
    process.join()
    read = state.read(path)
    assert read is not None
    assert 1 <= read[1]["course"]["epoch"] < 40
    resumed, whole = _obtain(model, options, key="killed"), _obtain(model, options, key="whole")
    assert _hashes(resumed) == _hashes(whole)
    assert resumed.curve == whole.curve
    assert len(resumed.curve) == 40


def test_a_state_that_was_cut_is_begun_anew(model: Path) -> None:
    folder = checkpoints.folder_of("cut")
    folder.mkdir(parents=True)
    (folder / state.STATE).write_bytes(b"half a file")
    assert _hashes(_obtain(model, key="cut")) == _hashes(_obtain(model, key="whole"))


def test_a_damaged_model_is_trained_again(model: Path, caplog: pytest.LogCaptureFixture) -> None:
    before = _obtain(model)
    file = before.file(before.step(OPTIONS))
    assert file is not None
    content = bytearray(file.read_bytes())
    content[-3] ^= 1
    file.write_bytes(content)
    assert _hashes(_obtain(model)) == _hashes(before)
    assert "is damaged: deleted, and trained again" in caplog.text
    (before.folder / checkpoints.FACTS).write_text("{")
    assert _hashes(_obtain(model)) == _hashes(before)


def test_where_the_attacker_looks(model: Path) -> None:
    half = replace(OPTIONS, at=0.5)
    found = _obtain(model, half)
    total = found.steps * found.epochs
    assert found.step(half) == round(0.5 * total)
    assert found.step(half, "stale") == round(0.5 * total) - found.steps
    assert found.step(half, "initial") == 0
    assert found.file(0) is None
    assert str(found.step(half)) in found.metrics
    each = _obtain(model, replace(OPTIONS, at="each"))
    assert {int(step) for step in each.sha256} >= {found.steps * (e + 1) for e in range(3)}
    # What was looked at changes nothing of the training.
    assert each.curve == found.curve


def test_a_diverging_training_says_so_and_is_not_tried_again(model: Path) -> None:
    wild = replace(OPTIONS, rate=1e30, head_rate=1e30, optimizer="sgd")
    with pytest.raises(Diverged, match=r"training diverged.*lower rate"):
        _obtain(model, wild)

    def never() -> Job:
        raise AssertionError("it diverged before")

    with pytest.raises(Diverged, match="lower rate"):
        checkpoints.obtain("key", wild, never, device="cpu", progress=print)


def test_the_longest_unused_models_are_deleted_first(model: Path) -> None:
    folders = [_obtain(model, replace(OPTIONS, epochs=1), key=key).folder for key in ("old", "new")]
    os.utime(folders[0] / checkpoints.FACTS, (1, 1))
    for path in folders[0].iterdir():
        os.utime(path, (1, 1))
    size = next(size for folder, size, _ in checkpoints.trained() if folder == folders[1])
    assert checkpoints.trim(limit=size) == [folders[0]]
    assert folders[1].is_dir()
    assert checkpoints.trim(limit=0, keep=folders[1]) == []


def test_a_model_in_use_is_not_deleted(model: Path) -> None:
    folder = _obtain(model, replace(OPTIONS, epochs=1)).folder
    with checkpoints.locked(folder, print):
        assert checkpoints.trim(limit=0) == []
    assert checkpoints.trim(limit=0) == [folder]


def test_a_full_disk_is_one_line(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("safetensors.torch.save_file", full)
    with pytest.raises(BenchError, match="No space left on device; free some space"):
        _obtain(model)
    monkeypatch.undo()


def test_search_compares_the_same_settings_for_everybody(model: Path) -> None:
    tried: dict[str, list[dict[str, float]]] = {}
    for name, defense in (("none", NoDefense()), ("texthide", TextHide(m=2, k=2))):

        def train(options: Finetuned, seed: int, name: str = name, defense: object = defense) -> checkpoints.Trained:
            key = f"{name}-{options.rate}-{options.dropout}-{seed}"
            return _obtain(model, options, key, defense=defense)

        chosen, rows = search.choose(replace(OPTIONS, epochs=1, search=3), train, print)
        tried[name] = [{"rate": row["rate"], "dropout": row["dropout"]} for row in rows]
        best = max(rows, key=lambda row: row["held_out"])
        assert (chosen.rate, chosen.dropout, chosen.search) == (best["rate"], best["dropout"], 0)
    assert tried["none"] == tried["texthide"] == search.settings(3)
    assert search.settings(2) == search.settings(3)[:2]


def test_exposure_is_kept_over_a_kill(model: Path) -> None:
    """The ε that holds counts every epoch, those before a kill, too."""
    from bench.defenses.dp_ie import Laplace
    from bench.training.finetune import Finetuning

    job = _job(model, replace(OPTIONS, epochs=2), Laplace(epsilon=4.0))
    whole, folder = Finetuning(job, "cpu"), checkpoints.folder_of("exposure")
    whole.run(folder, (), print)
    resumed = Finetuning(job, "cpu")
    assert resumed.run(folder, (), print).epoch == 2
    assert resumed.notes() == whole.notes()
    notes = whole.notes()
    one_release = notes["accounted"]["epsilon"]
    assert notes["nominal"]["epsilon"] == 4.0
    # Every example enters with a weight of about 1 in each of two epochs.
    assert np.isclose(whole.trainer.side.exposure.total[whole.taught].mean(), 2.0, atol=1e-3)
    assert one_release > 4.0 * np.sqrt(24)
    assert json.loads(json.dumps(notes)) == notes


@pytest.mark.parametrize("public", [None, ["the cat sat", "a dog", "the dog ran away from it"]])
def test_a_resumed_training_computes_kept_states_in_the_same_company(model: Path, public: list[str] | None) -> None:
    """A matrix product of other rows differs in its last bits, with models of common size."""
    from bench.defenses.texthide import TextHideInter
    from bench.training.finetune import Finetuning

    defense = TextHide(m=2, k=2) if public is None else TextHideInter(m=2, k=2)
    options = replace(OPTIONS, epochs=3, layers=1)
    job = replace(_job(model, options, defense), public=public)
    folder = checkpoints.folder_of("company")
    first = Finetuning(replace(job, options=replace(options, epochs=1)), "cpu")
    first.run(folder, (), print)
    resumed, whole = Finetuning(job, "cpu"), Finetuning(job, "cpu")
    resumed.run(folder, (), print)
    whole.run(checkpoints.folder_of("whole"), (), print)
    groups = [
        [(tokens is one.trainer.side.public, rows.tolist()) for tokens, rows in one.model.computed]
        for one in (resumed, whole)
    ]
    assert groups[0] == groups[1]
    assert any(of for of, _ in groups[0]) == (public is not None)
    assert len(groups[0]) > 1


@pytest.mark.slow
def test_twenty_kills_lose_nothing(model: Path, tmp_path: Path) -> None:
    """At random moments: in a step, while the state or a snapshot is written, between two epochs."""
    rng = np.random.default_rng(0)
    cache, context = str(tmp_path / "cache"), multiprocessing.get_context("spawn")
    folder, epochs = checkpoints.folder_of("killed"), 0
    for _ in range(20):
        process = context.Process(target=_until_killed, args=(model, cache))
        process.start()
        before = (folder / state.STATE).stat().st_mtime_ns if (folder / state.STATE).exists() else 0
        deadline = time.monotonic() + 60
        while process.is_alive() and time.monotonic() < deadline:
            now = (folder / state.STATE).stat().st_mtime_ns if (folder / state.STATE).exists() else 0
            if now != before:  # an epoch has ended: it is under way
                break
            time.sleep(0.005)
        time.sleep(float(rng.random()) * 0.2)
        if process.is_alive():
            os.kill(process.pid or 0, signal.SIGKILL)
        process.join()
        read = state.read(folder / state.STATE)
        if read is not None:
            assert read[1]["course"]["epoch"] >= epochs  # what was finished stays finished
            epochs = read[1]["course"]["epoch"]
    options = replace(OPTIONS, epochs=40)
    assert _hashes(_obtain(model, options, key="killed")) == _hashes(_obtain(model, options, key="whole"))
