"""Which code decides a record's numbers, component by component, and whether that code is still the one here.

Each component is a hash over the definitions that its entry points reach (bench.records.fingerprint). Numbers are
decided in the modules that COUNTED names and in plugins, and nowhere else.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Literal

from bench import EXPORTS, IN_CHECKOUT, ROOT, modalities, surfaces
from bench.errors import UsageError
from bench.experiment.utility import NET
from bench.plugins import source
from bench.plugins.decorators import SURFACES
from bench.plugins.registry import Entry, Registry
from bench.plugins.training import from_record
from bench.records import ledger
from bench.records.fingerprint import Reader
from bench.records.ledger import Ledger
from bench.records.model import AttackRecord, AuditRecord, Record
from bench.scoring import kinds
from bench.scoring.metrics import METRICS
from bench.system.paths import ledger_file

Find = Callable[[str, str], Entry]
"""the plugin of a kind and a name, such as `Registry.get`"""

HOME = ROOT if IN_CHECKOUT else Path(__file__).resolve().parent.parent.parent
"""the folder that holds bench/, and in a checkout the plugins' folders, too"""
COUNTED = (
    *("bench.types", "bench.arrays", "bench.system.seeds", "bench.system.text", "bench.plugins.protocol"),
    "bench.plugins.rounds",
    *("bench.toolkit", "bench.encoders", "bench.modalities", "bench.surfaces", "bench.training", "bench.experiment"),
    "bench.auditing",
    *("bench.scoring.metrics", "bench.scoring.kinds", "bench.scoring.similarity", "bench.scoring.intervals"),
    *("bench.scoring.per_example", "bench.scoring.truth"),
    *("bench.isolation.view", "bench.isolation.child", "bench.attacks", "bench.defenses", "bench.datasets"),
)
SETUP = ("bench.experiment.setup:build",)
SURFACE = (
    *("bench.experiment.execute:attack", "bench.isolation.view:write", "bench.isolation.view:View"),
    "bench.isolation.child:_run",
)
SCORING = ("bench.experiment.execute:score", "bench.scoring.per_example:of")
# Functions of the modality, which is looked up by name (bench.modalities).
ENCODING = ("content", "joined", "encode")
TRAINING = ("bench.experiment.utility:measure", "bench.training.frozen:Training")
OWN_HEAD = ("bench.experiment.utility:measure_learnt",)
PICTURES = ("bench.experiment.utility:measure_pictures",)
FINETUNING = (
    *("bench.training.checkpoints:obtain", "bench.training.search:choose", "bench.experiment.trained:TrainedModel"),
    *("bench.experiment.trained:_job", "bench.encoders.finetuned:FinetunedEncoder"),
)


AUDIT = ("bench.experiment.audit:measure",)
AUDIT_OF_UPDATES = ("bench.experiment.audit_updates:measure",)


@dataclass(frozen=True)
class Standing:
    """What became of the code behind a record."""

    status: Literal["current", "equivalent", "stale", "unknown"]
    changed: tuple[str, ...] = ()
    """components whose code has changed, or cannot be found here"""


def code_of(record: Record, find: Find, home: Path = HOME) -> dict[str, str]:
    """The hash of every component that has a part in a record, as the code in `home` is now."""
    return {component: _hash(entries, home) for component, entries in entry_points(record, find).items()}


def definitions_of(record: Record, find: Find) -> dict[str, list[str]]:
    """The definitions that each component's hash covers."""
    return {
        name: [str(definition) for definition in _new_reader(entries, HOME).reachable(entries)]
        for name, entries in entry_points(record, find).items()
    }


def standing(record: Record, registry: Registry, known: Ledger | None = None) -> Standing:
    """Current if the code is the same, equivalent if the ledger joins the two, else stale."""
    try:
        now = code_of(record, registry.get)
    except UsageError:
        return Standing("unknown", _absent(record, registry))
    return compare(record, now, known)


def compare(record: Record, now: dict[str, str], known: Ledger | None = None) -> Standing:
    """The standing of a record beside the code as it is `now`."""
    if now == record.code:
        return Standing("current")
    known = published_ledger() if known is None else known
    components = sorted(now.keys() | record.code.keys())
    changed = tuple(c for c in components if not known.joins(c, record.code.get(c, ""), now.get(c, "")))
    return Standing("stale", changed) if changed else Standing("equivalent")


def entry_points(record: Record, find: Find) -> dict[str, tuple[str, ...]]:
    """Where the code of each component begins."""
    modality = record.dataset.modality
    data = [record.dataset.name, *([record.public.name] if record.public else [])]
    found = {
        "dataset": tuple(_class(find("dataset", name)) for name in data),
        "encoder": (_class(find("encoder", record.encoder.name)),),
        "defense": tuple(_class(find("defense", name)) for name in _defenses(record)),
    }
    if from_record(getattr(record, "training", None)):
        found["training"] = FINETUNING
    if isinstance(record, AuditRecord):
        played = AUDIT_OF_UPDATES if record.protocol.game == "updates" else AUDIT
        return {**found, "audit": (*played, *modalities.entry_points(modality, *ENCODING))}
    if not isinstance(record, AttackRecord):
        head = getattr(record, "training", {}).get("head")
        entry = TRAINING if head is None else PICTURES if head == NET else OWN_HEAD
        return {"training": (*entry, *modalities.entry_points(modality, *ENCODING)), **found}
    seen = [word for word in SURFACES if word in record.attack.sees]
    used = [function for word in seen for function in surfaces.get(word).uses]
    also = [entry for word in seen for entry in getattr(surfaces.get(word), "also", ())]
    return {
        **found,
        "setup": (*SETUP, *modalities.entry_points(modality, *ENCODING)),
        "surface": (*SURFACE, *map(surfaces.class_of, seen), *also, *modalities.entry_points(modality, *used)),
        "attack": (_class(find("attack", record.attack.name)),),
        **_scoring(record),
    }


def _defenses(record: Record) -> list[str]:
    """The defense and, where it stands behind another one, that too."""
    behind = record.defense.options.get("of")
    return [record.defense.name, *([str(behind).partition("/")[0]] if behind else [])]


def scoring_code(record: Record) -> dict[str, str]:
    """The hash of the component that depends on what was guessed and measured, which is not known before."""
    if not isinstance(record, AttackRecord):
        return {}
    return {component: _hash(entries, HOME) for component, entries in _scoring(record).items()}


def _scoring(record: AttackRecord) -> dict[str, tuple[str, ...]]:
    """The scorer of the kind of guess, and the functions of the metrics that the record holds: no others, so that a
    new metric makes no old record stale. Before anything was scored, all that may be needed."""
    modality, names = record.dataset.modality, record.metrics.keys()
    of_updates = "updates" in record.attack.sees
    fitting = [kind for kind in kinds.every() if kind.modality == modality and kind.of_updates == of_updates]
    possible = [kinds.get(kind_of(record))] if names else fitting
    bases = dict.fromkeys(basis for kind in possible for basis in kind.bases)
    metrics = [row.entry_point for row in METRICS.of(*bases) if not names or row.name in names]
    scorers = [kinds.scorer_of(kind.name) for kind in possible]
    return {"scoring": (*SCORING, *modalities.entry_points(modality, "similarity"), *scorers, *metrics)}


def kind_of(record: AttackRecord) -> str:
    """The kind of guess behind a record; of one from before guesses were kept, the one that has most of its metrics.

    Not necessarily all: a record of another version may hold a metric that this one does not know.
    """
    if record.guess is not None:
        return record.guess.kind
    names = record.metrics.keys()
    return max(kinds.every(), key=lambda kind: len(names & {row.name for row in METRICS.of(*kind.bases)})).name


@lru_cache(maxsize=1)
def published_ledger() -> Ledger:
    return ledger.read(ledger_file())


def _absent(record: Record, registry: Registry) -> tuple[str, ...]:
    kinds = ("dataset", "encoder", "defense", *(("attack",) if isinstance(record, AttackRecord) else ()))
    return tuple(kind for kind in kinds if getattr(record, kind).name not in registry.of(kind))


def _class(entry: Entry) -> str:
    return f"{entry.module}:{entry.cls}"


def _hash(entries: tuple[str, ...], home: Path) -> str:
    # A plugin's file may be edited while a worker lives, and is then loaded anew; modules stay as they were loaded.
    files = {place for entry in entries if (place := entry.rpartition(":")[0]).endswith(".py")}
    stamps = tuple((file, Path(file).stat().st_mtime_ns) for file in sorted(files))
    return _hashed(entries, home, stamps)


@lru_cache(maxsize=512)
def _hashed(entries: tuple[str, ...], home: Path, stamps: tuple[tuple[str, int], ...]) -> str:
    reader = _new_reader(entries, home) if _packages(entries) else _reader(home)
    return reader.fingerprint(entries)


def _packages(entries: tuple[str, ...]) -> frozenset[str]:
    """The files and packages of plugins that other people wrote, all of whose code counts."""
    modules = (entry.rpartition(":")[0] for entry in entries)
    return frozenset(m if m.endswith(".py") else m.split(".")[0] for m in modules) - {"bench"}


@lru_cache(maxsize=4)
def _reader(home: Path) -> Reader:
    """For this project's own code, which is read once."""
    return _new_reader((), home)


def _new_reader(entries: tuple[str, ...], home: Path) -> Reader:
    packages = _packages(entries)
    return Reader(lambda name: _locate(name, packages, home), (*COUNTED, *packages), EXPORTS)


def _locate(name: str, packages: frozenset[str], home: Path) -> Path | None:
    if name.endswith(".py"):
        return Path(name)
    top, *rest = name.split(".")
    if top in packages:
        return _of_plugin(name)
    if top != "bench":
        return None
    # In a checkout attacks/, defenses/ and datasets/ stand beside bench/, not inside it.
    for folder in (home / "bench", home):
        place = folder.joinpath(*rest)
        for path in (place.with_suffix(".py"), place / "__init__.py"):
            if path.is_file():
                return path
    return None


def _of_plugin(name: str) -> Path | None:
    try:
        return source.locate(name)
    except source.Unreadable:
        return None
