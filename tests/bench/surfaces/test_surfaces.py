"""Every word for a surface has its class, and what is too large is refused before it is written."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from bench import Examples, Key, Release, surfaces
from bench.errors import UsageError
from bench.plugins.decorators import SURFACES


def client(n: int = 6, dim: int = 4) -> surfaces.Client:
    rng = np.random.default_rng(0)
    private = Examples([f"sentence {i}" for i in range(n)], np.arange(n) % 2, ("no", "yes"))
    key = Key(np.arange(n), np.arange(n)[:, None], np.ones((n, 1), np.float32))
    release = Release(rng.standard_normal((n, dim)), private.targets(), {"nominal": {"epsilon": 1.0}})
    return surfaces.Client(0, None, "none", private, release, key)


# Updates need a transformer, and pairs a public corpus: test_updates.py and test_pairs.py have them.
@pytest.mark.parametrize("word", [word for word in SURFACES if word not in ("updates", "pairs")])
def test_what_is_written_is_what_is_opened_and_as_large_as_was_said(word: str, tmp_path: Path) -> None:
    (surface,) = surfaces.build([word, "corpus"], client()).values()
    facts = surface.write(tmp_path)
    opened = type(surface).open(tmp_path, facts)
    assert tuple(opened) == type(surface).gives
    assert surfaces.class_of(word) == f"{type(surface).__module__}:{type(surface).__name__}"
    arrays = opened[word].values() if isinstance(opened[word], dict) else [opened[word]]
    assert sum(array.nbytes for array in arrays) == surface.size()
    assert all(array.dtype == np.float32 and not array.flags.writeable for array in arrays)


def test_encodings_and_labels_are_those_of_the_release() -> None:
    one = client()
    built = surfaces.build(("encodings", "labels"), one)
    assert list(built) == ["encodings", "labels"]
    assert np.array_equal(built["encodings"].array, one.release.encodings.astype(np.float32))
    assert np.array_equal(built["labels"].array, one.release.labels)
    assert not built["encodings"].notes


def test_a_surface_that_is_too_large_says_what_would_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    size = surfaces.build(["gradients"], client())["gradients"].size()
    monkeypatch.setattr(surfaces, "LIMIT", size - 1)
    with pytest.raises(UsageError, match=r"gradients of 6 items .* lower --examples \(times --epochs\) to 5"):
        surfaces.build(["gradients"], client())
