"""What an attack sees: the surfaces that leave the client, plus exactly the knowledge it declared in `sees`.

The parent lays a view out as a folder of plain arrays and JSON (`write`); the attack's process opens it (`View`).
Nothing that was not declared is in the folder, so the error for touching it is a courtesy, not the wall.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bench import surfaces
from bench.arrays import Floats
from bench.plugins.decorators import SURFACES
from bench.surfaces.base import Surface, load, save
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
    """Opened in the attack's process. `used` collects what was touched, `refused` what was not granted."""

    # What surfaces give, opened on first use by `__getattr__`.
    encodings: Floats
    """n × d float32"""
    labels: Floats
    """n × classes float32, mixed as the encodings are"""
    gradients: dict[str, Floats]
    """for each layer, by the name of its weights in `model`: n × the shape of the weights. Mapped, not read."""
    model: Victim
    """the model that the gradients are of: its weights, and functions to run and differentiate it"""

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

    def __getattr__(self, name: str) -> Any:
        """What a surface gives: opened once, and then an attribute like any other."""
        if hasattr(type(self), name):  # a property that raised an AttributeError, such as NotGranted
            return object.__getattribute__(self, name)
        word = next((word for word in SURFACES if not name.startswith("_") and name in surfaces.get(word).gives), "")
        if not word:
            raise AttributeError(f"a view has no {name!r}")
        self._touch(word)
        self.__dict__.update(surfaces.get(word).open(self._folder, self._facts["surfaces"][word]))
        return self.__dict__[name]

    def stage(self, text: str) -> None:
        """Tell the user what the attack is doing now."""
        if self._stage:
            self._stage(text)

    @cached_property
    def corpus(self) -> Corpus:
        """The sentences that may be named as an answer."""
        self._touch("corpus")
        return self._load_corpus("corpus")

    @cached_property
    def public(self) -> Corpus:
        """The public corpus."""
        self._touch("public")
        return self._load_corpus("public")

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

    def _touch(self, word: str) -> None:
        if word not in self._sees:
            self.refused.add(word)
            raise NotGranted(
                f"the attack reads view.{word} but does not declare it: add {word!r} to sees in its decorator"
            )
        self.used.add(word)

    def _load_corpus(self, word: str) -> Corpus:
        texts = json.loads((self._folder / f"{word}.json").read_text(encoding="utf-8"))
        return Corpus(texts, load(self._folder / f"{word}.npy"), self.device, self._facts.get(f"{word}_known", 0))

    def _plugin(self, kind: str) -> Any:
        assert self._make is not None
        return self._make(kind, self._facts[kind])


def write(
    folder: Path,
    sees: Sequence[str],
    released: Mapping[str, Surface],
    *,
    device: str = "cpu",
    corpus: Corpus | None = None,
    public: Corpus | None = None,
    defense: dict[str, Any] | None = None,
    encoder: dict[str, Any] | None = None,
) -> None:
    """Lay out what `sees` grants, and nothing else."""
    facts: dict[str, Any] = {"sees": sorted(sees), "device": device}
    facts["surfaces"] = {word: surface.write(folder) for word, surface in released.items() if word in sees}
    # The public corpus also goes along with `defense`: the scheme cannot be run without it where it mixes it in.
    for word, value, granted in (
        ("corpus", corpus, "corpus" in sees),
        ("public", public, "public" in sees or "defense" in sees),
    ):
        if granted and value is not None:
            facts[f"{word}_known"] = value.known
            save(folder / f"{word}.npy", value.vectors)
            (folder / f"{word}.json").write_text(json.dumps(value.texts), encoding="utf-8")
    for word, given in (("defense", defense), ("encoder", encoder)):
        if word in sees:
            facts[word] = given
    (folder / "view.json").write_text(json.dumps(facts), encoding="utf-8")
