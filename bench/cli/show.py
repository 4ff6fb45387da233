"""`bench show`: how a record was made, for people, and the command that makes it again."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.api.stored import PUBLISHED, RESULTS
from bench.cli import output
from bench.system.text import printable

if TYPE_CHECKING:
    from bench.api.stored import StoredRecord
    from bench.records.model import Record


def add(commands: Any) -> None:
    """The `show` command, beside the others."""
    show = commands.add_parser(
        "show", help="how a record was made, and the command that repeats it", epilog="Exit status: 0, 2 usage."
    )
    show.add_argument("record", metavar="ID", help="its id, the beginning of it, or its file")
    show.add_argument(
        "--results",
        type=Path,
        metavar="DIR",
        help=f"where to look (default: {RESULTS}, then {PUBLISHED.as_posix()})",
    )
    show.add_argument("--json", action="store_true", help="the record, its file and the command, as JSON")
    show.set_defaults(call=_show)


def _show(args: argparse.Namespace) -> int:
    from bench.api import stored

    found = stored.show(args.record, args.results)
    if args.json:
        about = {"file": found.path.as_posix(), "command": found.command}
        print(json.dumps({**found.record.to_dict(), **about}, indent=1))
    else:
        show(found)
    return 0


def show(found: StoredRecord) -> None:
    from bench.board.columns import metric_legend
    from bench.board.commands import foreign_plugins

    record = found.record
    console = output.console()
    facts = [(name, text) for name, text in _facts(record) if text]
    width = max(len(name) for name, _ in facts)
    lines = [f"{name:<{width}}  {printable(text)}" for name, text in facts]
    for line in lines:
        console.print(line, markup=False, soft_wrap=True)
    if record_metrics(record):
        console.print(_table(record, console.width))
        for line in metric_legend(record_metrics(record)):
            console.print(line, markup=False, soft_wrap=True)
    console.print(f"file    {found.path.as_posix()}", markup=False, soft_wrap=True)
    console.print(f"repeat  {found.command}", markup=False, soft_wrap=True)
    if foreign := foreign_plugins(record):
        said = f"FILE is the file that holds {' and '.join(foreign)}; leave --plugin out if an installed package does"
        console.print(f"        {printable(said)}", markup=False, soft_wrap=True)


def _training(record: Record) -> str:
    from bench.records.model import AttackRecord, UtilityRecord

    if record.finetuned is None:
        return _pairs(record.training) if isinstance(record, UtilityRecord) else "frozen"
    holds = f"; the attacker holds the {record.attacker} encoder" if isinstance(record, AttackRecord) else ""
    return f"{record.finetuned.label} (checkpoint {record.encoder.checkpoint}){holds}"


def _facts(record: Record) -> Iterator[tuple[str, str]]:
    from bench.board.formats import record_epsilon
    from bench.board.select import audit_protocol, protocol
    from bench.records.model import AttackRecord, AuditRecord, UtilityRecord

    attack = record if isinstance(record, AttackRecord) else None
    yield "record", f"{record.id}, {record.status}"
    yield "error", record.error or ""
    for kind in ("dataset", "encoder", "defense", "attack", "public"):
        yield kind, _plugin(getattr(record, kind, None))
    yield "protocol", f"{protocol(attack)}; {_pairs(attack.protocol.to_dict())}" if attack else ""
    if isinstance(record, AuditRecord):
        yield "game", f"{audit_protocol(record)}; {_pairs(record.details)}"
        yield "audited", f"ε ≥ {record.audited} at δ = {record.delta}, of at most {record.ceiling}: {record.verdict}"
    yield "training", _training(record)
    yield (
        "utility",
        f"{_pairs(attack.utility.metrics)} on dev (record {attack.utility.id})" if attack and attack.utility else "",
    )
    yield "seed", str(record.seed)
    yield "sealed", f"salt {attack.salt}; tried {attack.tried}" if attack and attack.sealed else ""
    yield "suites", ", ".join(f"{name} version {n}" for name, n in sorted(record.suites.items())) or "none"
    delta = record.accounted.delta if record.accounted else None
    yield "ε", f"{record_epsilon(record)} (claimed → accounted), δ = {delta}" if record.accounted else ""
    yield "notes", _pairs(_scalars(record.notes))
    yield "held out", _pairs(record.held_out) if isinstance(record, UtilityRecord) else ""
    yield "details", _pairs(_scalars(attack.details)) if attack else ""
    yield "resources", _pairs(record.cost.to_dict())
    yield "code", _code(record)
    yield "versions", _pairs(record.versions)


def _plugin(about: Any) -> str:
    """A plugin or the public corpus, with what a record says of it."""
    if about is None:
        return ""
    parts = [about.label, _pairs(getattr(about, "options", {}))]
    parts += [f"fingerprint {about.fingerprint}"] if getattr(about, "fingerprint", None) else []
    parts += [f"sees {', '.join(about.sees)}"] if hasattr(about, "sees") else []
    parts += [f"{about.dim} coordinates"] if getattr(about, "dim", None) else []
    parts += [f"a corpus of {about.candidates:,} candidates"] if getattr(about, "candidates", None) else []
    return "; ".join(part for part in parts if part)


def _code(record: Record) -> str:
    """Whether the code that made it is still the one here."""
    from bench.experiment.provenance import standing
    from bench.plugins.registry import Registry

    found = standing(record, Registry())
    said = {
        "current": "current: the same definitions as here",
        "equivalent": "equivalent: definitions have changed, and were shown to give the same numbers",
        "stale": f"stale: {', '.join(found.changed)} changed since",
        "unknown": f"unknown: {', '.join(found.changed)} cannot be found here (--plugin is for bench run)",
    }
    return said[found.status]


def _pairs(values: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={value}" for name, value in values.items() if value not in (None, ""))


def _scalars(values: Mapping[str, Any]) -> dict[str, Any]:
    """What is one word or number; curves and the like are in the file."""
    return {name: value for name, value in values.items() if isinstance(value, str | int | float)}


def record_metrics(record: Record) -> dict[str, Any]:
    from bench.records.model import AttackRecord, UtilityRecord

    return dict(record.metrics) if isinstance(record, AttackRecord | UtilityRecord) else {}


def _table(record: Record, width: int) -> Any:
    from bench.api.fitting import fitted
    from bench.board.columns import Column
    from bench.board.record_columns import METRIC_PARTS
    from bench.records.model import AttackRecord

    names: tuple[str, ...]
    caption: str | None
    if isinstance(record, AttackRecord):
        names, caption = tuple(METRIC_PARTS), None
        rows = [
            [name, *(_number(getattr(metric, part, None)) for part in names)] for name, metric in record.metrics.items()
        ]
    else:
        names, caption = ("value", "majority"), "majority: what a constant answer reaches"
        constant = getattr(record, "majority", {})
        rows = [[name, _number(value), _number(constant.get(name))] for name, value in record_metrics(record).items()]
    columns: list[Column[Any]] = [Column("metric", "metric", "", str)]
    columns += [Column(name, name.replace("_", " "), "", str, numeric=True) for name in names]
    return fitted(columns, rows, width, "", caption)


def _number(value: Any) -> str:
    return f"{value:.4f}" if isinstance(value, int | float) else "–"
