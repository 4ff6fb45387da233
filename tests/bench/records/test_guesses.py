"""Guesses that are kept beside their records: bounded, checked, and without pickle."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from bench import Guess
from bench.errors import DataError
from bench.records import guesses
from bench.records.model import KeptGuess

RANKING = Guess(ranking=np.arange(12).reshape(4, 3), confidence=np.linspace(0, 1, 4), details={"left": "out"})


def kept(folder: Path, guess: Guess) -> tuple[Path, KeptGuess]:
    data, about = guesses.pack(guess)
    record = folder / "demo.minilm.none.rss.s0.0123.json"
    guesses.save(record, data)
    return record, about


def test_a_kept_guess_comes_back_without_its_details(tmp_path: Path) -> None:
    record, about = kept(tmp_path, RANKING)
    (file,) = tmp_path.iterdir()
    assert file.name == "demo.minilm.none.rss.s0.0123.guess.npz"
    assert (about.kind, about.size, about.left_out) == ("ranking", file.stat().st_size, None)
    found = guesses.read(record, about)
    assert np.array_equal(found.ranking, RANKING.ranking)
    assert np.array_equal(found.confidence, RANKING.confidence)
    assert found.details == {}


def test_texts_and_trails_are_kept_too(tmp_path: Path) -> None:
    record, about = kept(tmp_path, Guess(texts=["one", "zw\u00f6lf \U0001f600"]))
    assert list(guesses.read(record, about).texts or ()) == ["one", "zw\u00f6lf \U0001f600"]
    record, about = kept(tmp_path, Guess(images=np.ones((1, 1, 1, 2, 2)), trail={"steps": np.arange(4)}))
    assert guesses.read(record, about).trail["steps"].tolist() == [0, 1, 2, 3]


def test_the_same_guess_is_the_same_file() -> None:
    assert guesses.pack(RANKING) == guesses.pack(RANKING)


def test_what_is_too_large_is_left_out_and_the_record_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    noise = np.random.default_rng(0).standard_normal((1500, 768)).astype(np.float32)
    record, about = kept(tmp_path, Guess(vectors=noise))
    assert list(tmp_path.iterdir()) == []
    assert "above the limit of 4" in str(about.left_out)
    with pytest.raises(DataError, match=r"was not kept: .* MiB compressed"):
        guesses.read(record, about)
    monkeypatch.setattr(guesses, "UNPACKED", 1 << 20)
    assert "above the limit of 1" in str(guesses.pack(Guess(vectors=noise))[1].left_out)


def test_a_run_without_a_guess_removes_the_last_one(tmp_path: Path) -> None:
    record, _ = kept(tmp_path, RANKING)
    guesses.save(record, None)
    assert list(tmp_path.iterdir()) == []


def test_another_guess_than_the_records_is_refused(tmp_path: Path) -> None:
    record, about = kept(tmp_path, RANKING)
    kept(tmp_path, Guess(ranking=np.zeros((4, 3), int)))
    with pytest.raises(DataError, match="its sha256 differs"):
        guesses.read(record, about)
    guesses.path_beside(record).unlink()
    with pytest.raises(DataError, match="is not beside it"):
        guesses.read(record, about)
    with pytest.raises(DataError, match="was not kept: it was made before"):
        guesses.read(record, None)


@pytest.mark.parametrize("how", ["cut", "pickle", "no facts"])
def test_a_damaged_guess_is_one_line(how: str, tmp_path: Path) -> None:
    import hashlib

    record, about = kept(tmp_path, RANKING)
    place = guesses.path_beside(record)
    if how == "cut":
        place.write_bytes(place.read_bytes()[:100])
    else:
        odd = np.array([{"a": 1}], dtype=object) if how == "pickle" else np.zeros(3)
        np.savez(place, ranking=odd)
    about = about.replace(sha256=hashlib.sha256(place.read_bytes()).hexdigest())
    with pytest.raises(DataError, match=r"guess\.npz (cannot be read|is no guess)"):
        guesses.read(record, about)
