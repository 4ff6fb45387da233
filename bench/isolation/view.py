"""What an attack sees: the release, plus exactly the knowledge it declared in `sees`.

The parent lays a view out as a folder of plain arrays and JSON (`write`); the attack's process opens it (`View`).
Nothing that was not declared is in the folder, so the error for touching it is a courtesy, not the wall.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from bench.arrays import Floats
from bench.toolkit.corpus import Corpus
from bench.types import Release

if TYPE_CHECKING:
    from bench.toolkit.networks import Victim


class NotGranted(AttributeError):
    """The attack touched something that it did not declare."""


class KnownDefense:
    """The scheme, which is public: its name and options, and a way to run it on data of one's own."""

    def __init__(self, name: str, options: dict[str, Any], make: Callable[[], Any], public: Corpus | None):
        self.name = name
        self.options = options
        self._make = make
        self.public = public
        """the public corpus, where the scheme mixes one in"""

    def release(self, vectors: Any, labels: Any, rng: np.random.Generator, epochs: int = 1) -> tuple[Release, Any]:
        """A release of one's own vectors under a key of one's own, which is returned as well."""
        released: tuple[Release, Any] = self._make().release(vectors, labels, self.public, rng, epochs=epochs)
        return released


class View:
    """Opened in the attack's process. `used` collects what was touched."""

    def __init__(
        self,
        folder: Path,
        *,
        oracle: Callable[[Floats], Floats] | None = None,
        stage: Callable[[str], None] | None = None,
        make: Callable[[str, dict[str, Any]], Any] | None = None,
    ):
        self._folder = folder
        self._facts: dict[str, Any] = json.loads((folder / "view.json").read_text(encoding="utf-8"))
        self._sees = frozenset(self._facts["sees"])
        self._oracle, self._stage, self._make = oracle, stage, make
        self.device: str = self._facts["device"]
        self.used: set[str] = set()
        self.refused: set[str] = set()

    def stage(self, text: str) -> None:
        """Tell the user what the attack is doing now."""
        if self._stage:
            self._stage(text)

    @cached_property
    def encodings(self) -> Floats:
        """n × d float32"""
        return self._array("encodings", "encodings")

    @cached_property
    def labels(self) -> Floats:
        """n × classes float32, mixed as the encodings are"""
        return self._array("labels", "labels")

    @cached_property
    def corpus(self) -> Corpus:
        """The sentences that may be named as an answer."""
        return self._corpus("corpus")

    @cached_property
    def public(self) -> Corpus:
        """The public corpus."""
        return self._corpus("public")

    @cached_property
    def encoder(self) -> Any:
        """`.encode(texts)` → vectors"""
        self._touch("encoder")
        return self._plugin("encoder")

    @cached_property
    def defense(self) -> KnownDefense:
        self._touch("defense")
        facts = self._facts["defense"]
        public = self._load_corpus("public") if (self._folder / "public.npy").exists() else None
        return KnownDefense(facts["name"], facts["options"], lambda: self._plugin("defense"), public)

    @property
    def oracle(self) -> Callable[[Floats], Floats]:
        """Vectors of one's own, released by the victim under the victim's masks."""
        self._touch("oracle")
        assert self._oracle is not None
        return self._oracle

    @cached_property
    def gradients(self) -> dict[str, Floats]:
        """For each layer, by the name of its weights in `model`: n × the shape of the weights. Mapped, not read."""
        self._touch("gradients")
        return _load_all(self._folder / "gradients")

    @cached_property
    def model(self) -> Victim:
        """The model that the gradients are of: its weights, and functions to run and differentiate it."""
        self._touch("gradients")
        from bench.toolkit.networks import Victim

        facts = self._facts["model"]
        weights = _load_all(self._folder / "model")
        return Victim(weights, tuple(facts["picture"]), facts["classes"], facts["batch"])

    def _touch(self, word: str) -> None:
        if word not in self._sees:
            self.refused.add(word)
            raise NotGranted(
                f"the attack reads view.{word} but does not declare it: add {word!r} to sees in its decorator"
            )
        self.used.add(word)

    def _array(self, name: str, word: str) -> Floats:
        self._touch(word)
        # Mapped, not read: a corpus larger than the attack's memory limit can still be searched in blocks.
        array: Floats = np.load(self._folder / f"{name}.npy", mmap_mode="r", allow_pickle=False)
        return array

    def _corpus(self, word: str) -> Corpus:
        self._touch(word)
        return self._load_corpus(word)

    def _load_corpus(self, word: str) -> Corpus:
        texts = json.loads((self._folder / f"{word}.json").read_text(encoding="utf-8"))
        vectors = np.load(self._folder / f"{word}.npy", mmap_mode="r", allow_pickle=False)
        return Corpus(texts, vectors, self.device, self._facts.get(f"{word}_known", 0))

    def _plugin(self, kind: str) -> Any:
        assert self._make is not None
        return self._make(kind, self._facts[kind])


def write(
    folder: Path,
    sees: Sequence[str],
    release: Release,
    *,
    device: str = "cpu",
    corpus: Corpus | None = None,
    public: Corpus | None = None,
    defense: dict[str, Any] | None = None,
    encoder: dict[str, Any] | None = None,
) -> None:
    """Lay out what `sees` grants, and nothing else."""
    facts: dict[str, Any] = {"sees": sorted(sees), "device": device}
    if "encodings" in sees:
        _save(folder / "encodings.npy", release.encodings)
    if "labels" in sees:
        _save(folder / "labels.npy", release.labels)
    if "gradients" in sees and release.gradients is not None:
        facts["model"] = release.model.facts()
        _write_gradients(folder, release)
    # The public corpus also goes along with `defense`: the scheme cannot be run without it where it mixes it in.
    for word, value, granted in (
        ("corpus", corpus, "corpus" in sees),
        ("public", public, "public" in sees or "defense" in sees),
    ):
        if granted and value is not None:
            facts[f"{word}_known"] = value.known
            _save(folder / f"{word}.npy", value.vectors)
            (folder / f"{word}.json").write_text(json.dumps(value.texts), encoding="utf-8")
    for word, given in (("defense", defense), ("encoder", encoder)):
        if word in sees:
            facts[word] = given
    (folder / "view.json").write_text(json.dumps(facts), encoding="utf-8")


def _write_gradients(folder: Path, release: Release) -> None:
    for name in ("model", "gradients"):
        (folder / name).mkdir()
    for name, weight in release.model.weights.items():
        _save(folder / "model" / f"{name}.npy", weight)
    files = {
        name: np.lib.format.open_memmap(folder / "gradients" / f"{name}.npy", "w+", np.float32, shape)
        for name, shape in release.gradients.shapes().items()
    }
    for rows, found in release.gradients.blocks():
        for name, value in found.items():
            files[name][rows] = value
    for file in files.values():
        file.flush()


def _load_all(folder: Path) -> dict[str, Floats]:
    paths = sorted(folder.glob("*.npy"))
    return {path.name[: -len(".npy")]: np.load(path, mmap_mode="r", allow_pickle=False) for path in paths}


def _save(path: Path, array: npt.ArrayLike) -> None:
    np.save(path, np.ascontiguousarray(np.asarray(array, dtype=np.float32)), allow_pickle=False)
