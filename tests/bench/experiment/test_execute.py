"""The walk of one cell: where it may fail, what its record then says, and what cells share. The attack's process is
replaced by a function."""

from __future__ import annotations

import errno
import sqlite3
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bench import Guess, surfaces
from bench.errors import BenchError, DataError, UsageError
from bench.experiment import execute, provenance, setup
from bench.experiment.cells import Cell
from bench.isolation import process
from bench.records.guesses import pack
from bench.records.model import AttackRecord
from bench.scoring.kinds import Scores
from tests.helpers.cells import small_cell
from tests.helpers.records import bare_record

RANKING = np.zeros((8, 1), dtype=np.int64)
Fake = Callable[..., process.Outcome]


def outcome(guess: Guess | None = None, status: str = "ok", reason: str | None = None) -> process.Outcome:
    return process.Outcome(status, guess, reason, 1.5, 20.0, attempts={"open": 2}, left_behind=1)


@pytest.fixture
def attacks(monkeypatch: pytest.MonkeyPatch) -> Callable[[Fake | process.Outcome | Exception], None]:
    """Say what becomes of attacks; scoring and its code are replaced as well."""

    def become(fate: Fake | process.Outcome | Exception) -> None:
        def run(*args: Any, **options: Any) -> process.Outcome:
            if isinstance(fate, Exception):
                raise fate
            return fate if isinstance(fate, process.Outcome) else fate(*args, **options)

        monkeypatch.setattr(process, "run", run)

    def score(cell: Cell, guess: Guess, truth: Any, device: str) -> Scores:
        items = {"example": truth.private.texts, "recall": np.full(8, 0.5)}
        return Scores({"recall": {"value": 0.5}}, items, {"auc": 0.75}, np.arange(8), "recall")

    monkeypatch.setattr(execute, "score", score)
    monkeypatch.setattr(provenance, "scoring_code", lambda record: {"scoring": " ".join(record.metrics)})
    become(outcome(Guess(ranking=RANKING, details={"loss": 0.25})))
    return become


def run(cell: Cell, about: AttackRecord | None = None, **options: Any) -> execute.Result:
    limits = process.Limits(threads=1)
    about = about or bare_record()
    return execute.execute(cell, about, device="cpu", limits=limits, stage=lambda text: None, **options)


def failure(cell: Cell, **options: Any) -> tuple[str, str | None]:
    result = run(cell, **options)
    assert (result.items, result.guess, result.record.metrics, result.record.guess) == (None, None, {}, None)
    return result.record.status, result.record.error


def test_a_cell_that_went_well(attacks: Any) -> None:
    record, items, kept = run(small_cell(), bare_record(code={"attack": "a", "scoring": "old"}))
    assert isinstance(record, AttackRecord)
    assert (record.status, record.error, record.salt, record.tried) == ("ok", None, None, None)
    assert record.metrics["recall"].value == 0.5
    assert record.details == {"loss": 0.25, "auc": 0.75}
    assert record.outcomes.metric == "recall"
    assert record.samples is None
    assert record.code == {"attack": "a", "scoring": "recall"}  # of what was measured
    assert (record.cost.attack_s, record.cost.peak_mib, record.cost.threads) == (1.5, 20.0, 1)
    assert record.cost.release_s is not None
    assert record.cost.score_s is not None
    assert (record.dataset.candidates, record.encoder.dim) == (26, 8)  # of 30, four uncovered
    assert items["example"]
    assert (kept, record.guess) == pack(Guess(ranking=RANKING))


@pytest.mark.parametrize(
    ("fails", "said"),
    [
        ("usage", "the defense broke"),  # already in words for the user
        ("data", "before the attack: the defense broke"),
        ("runtime", "before the attack: RuntimeError: the defense broke"),
        ("os", "before the attack: OSError: the defense broke"),
    ],
)
def test_a_scene_that_cannot_be_set_fails_the_cell(attacks: Any, fails: str, said: str) -> None:
    attacks(AssertionError("no attack may begin"))
    assert failure(small_cell(defense=f"small-plain:fails={fails}")) == ("failed", said)


def test_a_surface_that_is_too_large_fails_the_cell(attacks: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(surfaces, "LIMIT", 64)
    status, said = failure(small_cell())
    assert status == "failed"
    assert said.startswith("encodings of 8 items take")


def test_a_failure_around_the_attack_fails_the_cell(attacks: Any) -> None:
    attacks(ValueError("odd bytes"))
    assert failure(small_cell()) == ("failed", "around the attack: ValueError: odd bytes")
    attacks(DataError("odd data"))
    assert failure(small_cell()) == ("failed", "around the attack: odd data")
    attacks(UsageError("odd use"))
    assert failure(small_cell()) == ("failed", "odd use")


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_a_failure_of_the_machine_around_the_attack_ends_the_run(attacks: Any, error: BaseException) -> None:
    def broken(*args: Any, **options: Any) -> process.Outcome:
        raise error

    attacks(broken)
    with pytest.raises(type(error)) as caught:
        run(small_cell())
    assert caught.value is error


@pytest.mark.parametrize("status", ["failed", "timeout"])
def test_an_attack_without_a_guess_gives_its_status_and_reason_and_what_it_took(attacks: Any, status: str) -> None:
    attacks(outcome(status=status, reason="it gave up"))
    assert failure(small_cell()) == (status, "it gave up")
    record = run(small_cell()).record
    assert (record.cost.attack_s, record.cost.peak_mib, record.cost.score_s) == (1.5, 20.0, None)


@pytest.mark.parametrize(
    ("guess", "said"),
    [
        (Guess(ranking=RANKING[:-1]), r"the ranking has shape (7, 1); expected 8 × t"),
        (Guess(ranking=RANKING + 26), "the ranking names row 26"),
        (Guess(), "a guess holds exactly one of"),
        (Guess(images=np.zeros((8, 1, 1, 2, 2))), "a guess of images does not fit"),
        (Guess(ranking=RANKING, confidence=np.full(8, np.nan)), "confidence has shape"),
    ],
)
def test_a_guess_that_does_not_fit_fails_the_cell_before_scoring(
    attacks: Any, monkeypatch: pytest.MonkeyPatch, guess: Guess, said: str
) -> None:
    monkeypatch.setattr(execute, "score", lambda *args: pytest.fail("a wrong guess was scored"))
    attacks(outcome(guess))
    status, reason = failure(small_cell())
    assert status == "failed"
    assert reason.startswith(said)


def test_a_failure_while_scoring_fails_the_cell(attacks: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*args: Any) -> Scores:
        raise OSError("no weights")

    monkeypatch.setattr(execute, "score", broken)
    assert failure(small_cell()) == ("failed", "while scoring: OSError: no weights")
    assert run(small_cell()).record.cost.attack_s == 1.5


def test_the_attack_is_given_what_it_declares_and_an_oracle_only_if_it_asks(attacks: Any) -> None:
    given: dict[str, tuple[set[str], bool, bool]] = {}

    def look(folder: Path, attack: dict[str, Any], rng: int, **options: Any) -> process.Outcome:
        files = {path.name for path in folder.iterdir()}
        given[attack["name"]] = (files, options["oracle"] is not None, options["seal"] is not None)
        return outcome(Guess(ranking=RANKING))

    attacks(look)
    for name in ("small-names", "small-asks", "small-reads"):
        run(small_cell(attack=name))
    with_corpus = {"view.json", "encodings.npy", "corpus.npy", "corpus.json"}
    assert given["small-names"] == (with_corpus, False, False)
    assert given["small-asks"] == (with_corpus, True, False)
    assert given["small-reads"][0] == {"view.json", "encodings.npy", "public.npy", "public.json"}


def test_the_salt_is_told_only_after_the_attack(attacks: Any) -> None:
    """Nothing in the attack's folder or among its arguments holds it, and without an attack no record does."""
    seen: list[bytes] = []

    def look(folder: Path, *args: Any, **options: Any) -> process.Outcome:
        seen.append(b"".join(path.read_bytes() for path in sorted(folder.iterdir())) + repr((args, options)).encode())
        assert options["seal"] is not None
        return outcome(Guess(ranking=RANKING))

    attacks(look)
    cell = small_cell(sealed=True)
    first, second = run(cell).record, run(cell).record
    assert first.salt != second.salt
    for record, bytes_ in zip((first, second), seen, strict=True):
        assert len(record.salt) == 64
        assert record.salt.encode() not in bytes_
        assert record.tried.attempts == {"open": 2}
        assert record.tried.left_behind == 1
    early = small_cell(sealed=True, defense="small-plain:fails=data")
    assert run(early).record.salt is None
    attacks(outcome(status="timeout", reason="late"))
    assert run(cell).record.salt  # the key has been attacked: others may look at it
    assert run(small_cell()).record.salt is None


def test_a_given_salt_draws_the_same_key_again(attacks: Any) -> None:
    released: list[bytes] = []

    def look(folder: Path, *args: Any, **options: Any) -> process.Outcome:
        released.append((folder / "encodings.npy").read_bytes())
        return outcome(Guess(ranking=RANKING))

    attacks(look)
    cell = small_cell(sealed=True)
    salt = run(cell).record.salt
    assert run(cell, salt=salt).record.salt == salt
    run(cell)
    assert released[0] == released[1] != released[2]


@pytest.fixture
def built(monkeypatch: pytest.MonkeyPatch) -> list[setup.CellSetup]:
    found: list[setup.CellSetup] = []
    honest = setup.build

    def build(*args: Any, **options: Any) -> setup.CellSetup:
        found.append(honest(*args, **options))
        return found[-1]

    monkeypatch.setattr(setup, "build", build)
    return found


def get(scenes: execute.Scenes, cell: Cell, about: AttackRecord, salt: str | None = None) -> setup.CellSetup:
    return scenes.get(cell, about, "cpu", lambda text: None, salt)


def test_cells_that_attack_one_release_share_its_scene(built: list[setup.CellSetup]) -> None:
    scenes = execute.Scenes()
    one = get(scenes, small_cell(), bare_record("small-names"))
    assert get(scenes, small_cell(), bare_record("another", id="f" * 16, code={"attack": "x"})) is one
    assert len(built) == 1
    assert get(scenes, small_cell(seed=1), bare_record(seed=1)) is not one
    assert get(scenes, small_cell(), bare_record()) is not one  # only the last is kept
    last = get(scenes, small_cell(), bare_record())
    scenes.clear()
    assert get(scenes, small_cell(), bare_record()) is not last


def test_an_oracle_is_always_fresh(built: list[setup.CellSetup]) -> None:
    scenes, asks = execute.Scenes(), small_cell(attack="small-asks")
    first = get(scenes, small_cell({"coverage": 1.0}), bare_record())
    second = get(scenes, asks, bare_record())
    third = get(scenes, asks, bare_record())
    assert len({id(scene) for scene in (first, second, third)}) == 3
    assert np.array_equal(first.release.encodings, third.release.encodings)


def test_scenes_are_shared_under_one_salt_only(built: list[setup.CellSetup]) -> None:
    scenes, cell = execute.Scenes(), small_cell(sealed=True)
    salts = (None, "a", "a", "b", None)
    found = [get(scenes, cell, bare_record(), salt) for salt in salts]
    assert found[1] is found[2]
    assert len(built) == 4


def plugin(name: str, **options: Any) -> dict[str, Any]:
    return {"name": name, "label": name, "options": options}


@pytest.mark.parametrize(
    "change",
    [
        {"dataset": {**plugin("demo", size=2), "fingerprint": "d"}},
        {"encoder": plugin("mpnet")},
        {"encoder": plugin("minilm", batch=2)},
        {"defense": plugin("none", k=1e-10)},
        {"public": {"name": "p", "label": "p", "fingerprint": "1"}},
        {"protocol": {"examples": 10, "epochs": 2, "candidates": None, "coverage": 1.0, "split": "train"}},
        {"seed": 1},
    ],
)
def test_a_release_is_named_by_all_that_it_is_drawn_from(change: dict[str, Any]) -> None:
    assert execute.release_of(bare_record(**change)) != execute.release_of(bare_record())


def test_a_release_has_no_part_of_the_attack() -> None:
    others = bare_record("unmix", id="f" * 16, sealed=True, code={"defense": "x"}, suites={"main": 1})
    assert execute.release_of(others) == execute.release_of(bare_record("rss"))


def test_a_sealed_attack_is_lent_the_code_it_declares_and_no_more() -> None:
    def lent(attack: str) -> list[str]:
        return [path.name for path in execute.needed(small_cell(attack=attack))]

    assert lent("rss") == []  # this project's own code is there anyhow
    assert lent("small-names") == ["small.py"]
    assert lent("unmix") == ["small.py"]  # which sees the defense


def test_of_a_folder_of_weights_the_linked_files_are_lent_and_not_what_lies_beside_them(tmp_path: Path) -> None:
    """As in a hub's cache, where the weights of all models lie beside each other."""
    blobs, folder = tmp_path / "blobs", tmp_path / "snapshots" / "main"
    blobs.mkdir()
    (folder / "deeper").mkdir(parents=True)
    for name in ("linked", "another", "beside"):
        (blobs / name).write_text(name)
    (folder / "model.safetensors").symlink_to("../../blobs/linked")
    (folder / "deeper" / "config.json").symlink_to(blobs / "another")
    (folder / "gone.json").symlink_to("../../blobs/gone")
    (folder / "everything").symlink_to("/")
    (folder / "plain.json").write_text("{}")

    class Encoder:
        def __init__(self, folder: Path):
            self.folder = folder

    class Attack:
        __plugin__ = replace(small_cell().attack.info, sees=("encoder",))

    cell = small_cell()
    attack = replace(cell.attack, plugin=Attack())
    cell = replace(cell, attack=attack, encoder=replace(cell.encoder, plugin=Encoder(folder)))
    lent = [path for path in execute.needed(cell) if tmp_path in path.parents]
    assert lent == [folder, blobs / "another", blobs / "linked"]


def full(error: Exception) -> BenchError:
    told = BenchError("cannot write the cache; set BENCH_CACHE_DIR elsewhere")
    told.__cause__ = error
    return told


@pytest.mark.parametrize(
    "error",
    [
        OSError(errno.ENOSPC, "No space left on device"),
        full(OSError(errno.EDQUOT, "Disk quota exceeded")),
        full(sqlite3.OperationalError("database or disk is full")),
    ],
)
@pytest.mark.parametrize("step", ["build", "score"])
def test_a_full_disk_ends_the_run_and_leaves_no_record(
    error: Exception, step: str, attacks: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*args: Any, **options: Any) -> None:
        raise error

    monkeypatch.setattr(*((setup, "build") if step == "build" else (execute, "score")), broken)
    with pytest.raises(type(error)):
        run(small_cell())


def test_samples_are_kept_where_the_suite_asks(attacks: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def score(cell: Cell, guess: Guess, truth: Any, device: str) -> Scores:
        right = np.arange(8) % 2
        items = {"example": truth.private.texts, "answer": truth.private.texts, "identity": right, "recall": right}
        return Scores({"recall": {"value": 0.5}}, items, {}, np.arange(8), "recall")

    monkeypatch.setattr(execute, "score", score)
    assert len(run(replace(small_cell(), samples=3)).record.samples) == 3
    assert run(small_cell()).record.samples is None
