"""What is to be run: cells, from the command line or a suite file. Names and options are checked here, first of all."""

from __future__ import annotations

import dataclasses
import itertools
import os
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .errors import UsageError, unknown
from .options import split
from .paths import suites_dir
from .plugin import Info, info
from .protocol import Protocol
from .registry import Entry, Registry

AXES = ("dataset", "encoder", "defense", "attack", "seed")
SIZES = ("examples", "epochs", "candidates", "coverage")
DEFAULTS: dict[str, list[Any]] = {"dataset": ["demo"], "encoder": ["minilm"], "seed": [0]}


@dataclass(frozen=True)
class Chosen:
    """A plugin with its options."""

    entry: Entry
    plugin: Any

    @property
    def name(self) -> str:
        return self.entry.name

    @property
    def info(self) -> Info:
        return info(self.plugin)

    @property
    def options(self) -> dict[str, Any]:
        return dataclasses.asdict(self.plugin)

    @property
    def label(self) -> str:
        """The name with the options that differ from their defaults, as one would type it."""
        changed = [
            f"{f.name}={value}"
            for f in dataclasses.fields(self.plugin)
            if (value := getattr(self.plugin, f.name)) != f.default
        ]
        return f"{self.name}:{','.join(changed)}" if changed else self.name

    def reference(self) -> dict[str, Any]:
        """Enough for another process to make the same plugin."""
        entry = self.entry
        return {
            "kind": entry.kind,
            "name": entry.name,
            "module": entry.module,
            "cls": entry.cls,
            "options": self.options,
        }


@dataclass(frozen=True)
class Cell:
    """The unit of work, of caching and of failure."""

    dataset: Chosen
    encoder: Chosen
    defense: Chosen
    attack: Chosen
    protocol: Protocol
    seed: int
    public: Chosen | None
    fixed_size: bool = False
    """the user asked for this number of examples, so it is not to be trimmed to the data"""

    @property
    def title(self) -> str:
        return f"{self.dataset.name} {self.encoder.name} {self.defense.label} × {self.attack.label} seed {self.seed}"


def cells(registry: Registry, axes: Mapping[str, Sequence[Any] | None], sizes: Mapping[str, Any]) -> list[Cell]:
    """The product of the axes, in the order in which neighbours share most work."""
    for axis in ("defense", "attack"):
        if not axes.get(axis):
            raise UsageError(f"name at least one {axis} (--{axis} NAME; bench list {axis}s shows them)")
    chosen = {kind: [_choose(registry, kind, spec) for spec in axes.get(kind) or DEFAULTS[kind]] for kind in AXES[:4]}
    found = []
    for dataset, encoder, seed, defense, attack in itertools.product(
        chosen["dataset"],
        chosen["encoder"],
        axes.get("seed") or DEFAULTS["seed"],
        chosen["defense"],
        chosen["attack"],
    ):
        given = {name: value for name, value in sizes.items() if value is not None}
        protocol = dataclasses.replace(attack.info.protocol, **given)
        public = _public(registry, dataset, defense, attack)
        found.append(Cell(dataset, encoder, defense, attack, protocol, int(seed), public, "examples" in given))
    return found


def from_suite(registry: Registry, name: str) -> list[Cell]:
    """Cells of a TOML file: top-level axes and sizes are defaults for every [[cells]] table."""
    path = find_suite(name)
    try:
        suite = tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: not a TOML file ({error})") from error
    known = {*AXES, *SIZES}
    tables = suite.pop("cells", [{}])
    for field in ("name", "version", "title"):
        suite.pop(field, None)
    found: list[Cell] = []
    for table in tables:
        merged = {**suite, **table}
        for key in merged:
            if key not in known:
                raise unknown(f"key in suite {path.name}", key, known)
        axes = {key: _listed(merged[key]) for key in AXES if key in merged}
        found += cells(registry, axes, {key: merged.get(key) for key in SIZES})
    return found


def find_suite(name: str) -> Path:
    for path in (Path(name), suites_dir() / f"{name}.toml"):
        if path.is_file():
            return path
    raise unknown("suite", name, suites())


def suites() -> dict[str, str]:
    """Names of the suites that come with the project, with their titles."""
    found = {}
    for path in sorted(suites_dir().glob("*.toml")):
        found[path.stem] = str(tomllib.loads(path.read_text(encoding="utf-8")).get("title", ""))
    return found


def _choose(registry: Registry, kind: str, spec: str) -> Chosen:
    if kind == "encoder" and not spec.startswith("hub:") and ("/" in spec or os.path.isdir(spec)):
        spec = f"hub:{spec}"  # a hub id or a folder, as it is
    name, _ = split(spec)
    return Chosen(registry.get(kind, name), registry.make(kind, spec))


def _public(registry: Registry, dataset: Chosen, defense: Chosen, attack: Chosen) -> Chosen | None:
    """The public corpus: the one the defense mixes in, else the data set's own where the attack wants one."""
    asked = getattr(defense.plugin, "public", "")
    if asked:
        return _choose(registry, "dataset", asked)
    if "public" not in attack.info.sees:
        return None
    if not dataset.info.public:
        raise UsageError(f"attack {attack.name!r} needs a public corpus, and data set {dataset.name!r} names none")
    if dataset.info.public == dataset.name:
        return dataset
    return _choose(registry, "dataset", dataset.info.public)


def _listed(value: Any) -> list[Any]:
    return list(value) if isinstance(value, Iterable) and not isinstance(value, str) else [value]
