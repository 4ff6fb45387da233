"""Cells whose encoder is trained through the defense: leak and utility in one record, and what the attacker holds."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from bench.experiment import identity, setup, trained
from bench.experiment.cells import Cell, cells
from bench.plugins.registry import Registry
from tests.helpers.cli import load_records
from tests.helpers.tiny_models import save_tiny, sentences

Bench = Callable[..., subprocess.CompletedProcess[str]]
WILD = "finetuned:rate=1e30,optimizer=sgd,head_rate=1e30"
TRAINING = "finetuned:epochs=2,batch=8,layers=2,rate=0.002"


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_tiny(tmp_path_factory.mktemp("tiny") / "bert")


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("data")
    for name, count, seed in (("train", 80, 0), ("dev", 40, 1)):
        texts, labels = sentences(count, seed)
        numbered = enumerate(zip(texts, labels, strict=True))
        rows = [f"{text.replace(',', 'and')} {number},{label}" for number, (text, label) in numbered]
        (folder / f"{name}.csv").write_text("\n".join(["text,label", *rows]))
    return f"file:{folder / 'train.csv'}"


def _cell(model: Path, data: str, training: str = TRAINING, attacker: str | None = None, **names: str) -> Cell:
    axes = {"defense": ["texthide:m=4,k=2"], "attack": ["unmix"], "dataset": [data], "encoder": [f"hub:{model}"]}
    axes |= {"training": [training], **{name: [value] for name, value in names.items()}}
    sizes = {"examples": 20, "epochs": 3, "attacker": attacker}
    (cell,) = cells(Registry(), axes, sizes)
    return cell


def _built(cell: Cell) -> tuple[setup.CellSetup, trained.TrainedModel]:
    about = identity.describe(cell)
    found = trained.obtain(cell, about, device="cpu", progress=lambda text: None)
    return setup.build(cell, device="cpu", progress=lambda text: None, model=found), found


def test_training_is_part_of_what_was_asked(model: Path, data: str) -> None:
    ids = {
        identity.describe(_cell(model, data, *args)).id
        for args in (("frozen",), (TRAINING,), (f"{TRAINING},at=0.5",), (TRAINING, "stale"), (TRAINING, "initial"))
    }
    assert len(ids) == 5
    record = identity.describe(_cell(model, data, f"{TRAINING},at=each", "stale"))
    assert identity.describe(identity.cell_of(Registry(), record)) == record


def test_only_what_was_trained_on_is_private(model: Path, data: str) -> None:
    cell = _cell(model, data, f"{TRAINING},examples=40")
    rows = setup.trained_on(cell)
    assert rows is not None
    assert len(rows) == 36  # a tenth is held out
    scene, _ = _built(cell)
    train, _ = setup.load(cell.dataset.plugin, "train")
    assert set(scene.truth.private.texts) <= {train.texts[i] for i in rows}


def test_the_attack_faces_the_trained_encoder(model: Path, data: str) -> None:
    scene, found = _built(_cell(model, data))
    frozen = setup.encode(_cell(model, data, "frozen"), scene.truth.private, "cpu", lambda text: None)
    assert not np.allclose(scene.truth.vectors, frozen, atol=1e-2)
    assert scene.corpus is scene.truth.corpus
    again = found.encoder().plugin.encode(scene.truth.private.texts)
    assert np.allclose(scene.truth.vectors, again, atol=1e-5)


@pytest.mark.parametrize("attacker", ["stale", "initial"])
def test_an_attacker_may_hold_other_weights(model: Path, data: str, attacker: str) -> None:
    scene, found = _built(_cell(model, data, attacker=attacker))
    assert scene.corpus.texts == scene.truth.corpus.texts
    assert not np.allclose(scene.corpus.vectors, scene.truth.corpus.vectors, atol=1e-3)
    expected = found.encoder(attacker).plugin.encode(scene.corpus.texts)  # type: ignore[arg-type]
    assert np.allclose(scene.corpus.vectors, expected, atol=1e-5)
    if attacker == "initial":
        frozen = setup.encode(_cell(model, data, "frozen"), scene.truth.private, "cpu", lambda text: None)
        assert np.allclose(found.encoder("initial").plugin.encode(scene.truth.private.texts), frozen, atol=1e-5)


def test_released_epochs_come_from_weights_that_move(model: Path, data: str) -> None:
    scene, found = _built(_cell(model, data, f"{TRAINING},at=each", defense="mix-only:k=1"))
    steps = [int(Path(each.plugin.checkpoint).stem.removeprefix("step-")) for each in found.released(3)]
    per_epoch = found.trained.steps
    assert steps == [per_epoch, 2 * per_epoch, 2 * per_epoch]
    encodings, owner = np.asarray(scene.release.encodings), scene.truth.key.owner
    vectors = {each.plugin.checkpoint: each.plugin.encode(scene.truth.private.texts) for each in found.released(3)}
    matches = [
        sum(np.allclose(encodings[i], some[owner[i]], atol=1e-5) for some in vectors.values())
        for i in range(len(encodings))
    ]
    assert all(matches)
    ends = [np.allclose(encodings[i], scene.truth.vectors[owner[i]], atol=1e-5) for i in range(len(encodings))]
    assert 0 < np.mean(ends) < 1


def test_dropout_in_what_is_released(model: Path, data: str) -> None:
    scene, _ = _built(_cell(model, data, f"{TRAINING},release_dropout=true", defense="mix-only:k=1"))
    encodings, owner = np.asarray(scene.release.encodings), scene.truth.key.owner
    first = [encodings[np.flatnonzero(owner == example)] for example in range(20)]
    assert all(len(some) == 3 and not np.allclose(some[0], some[1], atol=1e-3) for some in first)


def test_masks_of_a_moving_release_are_those_of_one_pool(model: Path, data: str) -> None:
    scene, _ = _built(_cell(model, data, f"{TRAINING},at=each", defense="texthide:m=2,k=1"))
    key = scene.truth.key
    assert key.pool is not None
    assert len(key.pool) == 2
    assert set(np.unique(key.mask)) == {0, 1}


def test_leak_and_utility_stand_in_one_record(bench: Bench, model: Path, data: str, tmp_path: Path) -> None:
    words = ("run", "--defense", "texthide:m=4,k=2", "--attack", "unmix", "--dataset", data, "--encoder", str(model))
    sizes = ("--examples", "20", "--training", TRAINING)
    done = bench(*words, *sizes, "--json")
    assert done.returncode == 0, done.stderr
    (record,) = json.loads(done.stdout)
    assert record["training"]["kind"] == "finetuned"
    assert record["attacker"] == "current"
    assert record["encoder"]["checkpoint"].startswith("finetuned-")
    assert 0 <= record["utility"]["metrics"]["accuracy"] <= 1
    assert "recall" in record["metrics"]
    utility = load_records(tmp_path / "home" / "results" / "utility")
    trained_record = utility[record["utility"]["id"]]
    assert trained_record["metrics"] == record["utility"]["metrics"]
    assert len(trained_record["held_out"]["loss"]) == 2
    assert set(record["code"]) >= {"training", "setup", "attack"}
    # The same command again finds everything on record, and another look at the same training trains nothing.
    again = bench(*words, *sizes)
    assert "2 of 2" in again.stderr
    stale = bench(*words, *sizes, "--attacker", "stale")
    assert stale.returncode == 0, stale.stderr
    assert "training, epoch" not in stale.stderr
    shown = bench("show", record["id"])
    assert "--training finetuned:epochs=2,layers=2,batch=8,rate=0.002" in shown.stdout
    assert "the attacker holds the current encoder" in shown.stdout


def test_two_jobs_and_a_replay_give_the_same_numbers(bench: Bench, model: Path, data: str, tmp_path: Path) -> None:
    words = ("--defense", "mix-only:k=2", "--dataset", data, "--encoder", str(model), "--training", TRAINING)
    sizes = ("--examples", "20", "--jobs", "2", "--seed", "0", "1")
    assert bench("run", *words, "--attack", "rss", *sizes).returncode == 0
    found = list((tmp_path / "home" / "results").glob("*.json"))
    assert len(found) == 2
    for record in found:
        replayed = bench("run", "--replay", str(record))
        assert "the same numbers" in replayed.stderr, replayed.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--training", "finetund"), "unknown training 'finetund': did you mean 'finetuned'?"),
        (("--training", "finetuned:layer=2"), "unknown option of training finetuned 'layer': did you mean 'layers'?"),
        (("--training", "finetuned:epochs=0"), "epochs must be at least 1"),
        (("--training", "finetuned:at=2"), "at must be each, or lie between 0 and 1"),
        (("--training", "finetuned:clients=64"), "a batch of 32 cannot be shared by 64 clients"),
        (("--training", "finetuned:dropout=1"), "dropout must lie between 0 and 1"),
        (("--training", "frozen:epochs=2"), "training frozen has no options"),
        (("--attacker", "stale"), "--attacker stale is for a trained encoder"),
        (("--training", "finetuned", "--attacker", "old"), "unknown attacker 'old'"),
        (("--training", "finetuned", "--dataset", "digits", "--encoder", "lenet", "--attack", "dlg"), "holds images"),
    ],
)
def test_mistakes_are_one_line(bench: Bench, words: tuple[str, ...], message: str) -> None:
    attack = () if "--attack" in words else ("--attack", "rss")
    done = bench("run", "--defense", "none", *attack, *words)
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_what_only_the_data_can_tell_fails_the_cell(bench: Bench, model: Path, data: str, tmp_path: Path) -> None:
    plain = tmp_path / "alone.csv"
    plain.write_text("\n".join(Path(data.removeprefix("file:")).read_text().splitlines()[:15]))
    words = ("run", "--attack", "rss", "--encoder", str(model), "--examples", "10")
    cases = {
        "without a dev split": (words, ("--defense", "none", "--dataset", f"file:{plain}"), TRAINING),
        "the encoder has 3": (words, ("--defense", "none", "--dataset", data), "finetuned:layers=7"),
        "lower rate": (words, ("--defense", "none", "--dataset", data), WILD),
        "take calibration=paper": (
            words, ("--defense", "dp-ie-laplace:calibration=once", "--dataset", data), TRAINING,
        ),
    }  # fmt: skip
    for message, (common, rest, training) in cases.items():
        done = bench(*common, *rest, "--training", training)
        assert done.returncode in (1, 2), message
        assert "Traceback" not in done.stderr
        if message != "without a dev split":
            assert message in done.stdout + done.stderr, done.stdout + done.stderr
        else:
            assert "dev" in done.stdout + done.stderr


def test_cache_shows_and_trims_models(bench: Bench, model: Path, data: str, tmp_path: Path) -> None:
    env = {"BENCH_CACHE_DIR": str(tmp_path / "own-cache")}
    words = ("--dataset", data, "--encoder", str(model), "--training", "finetuned:epochs=1,layers=1")
    assert bench("utility", "--defense", "none", *words, env=env).returncode == 0
    shown = json.loads(bench("cache", "--json", env=env).stdout)
    assert shown["models"] == 1
    assert shown["bytes"]["trained models"] > 0
    assert "deleted 1 trained model" in bench("cache", "--trim", "0", env=env).stdout
    assert json.loads(bench("cache", "--json", env=env).stdout)["models"] == 0
    assert bench("cache", "--trim", "-1", env=env).returncode == 2
