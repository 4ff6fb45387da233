"""`bench run`: attacks on defenses, and with --replay a record's run once more."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.cli import output
from bench.errors import UsageError

if TYPE_CHECKING:
    from bench.api.requests import AttackRequest


FIRST = (
    "name a defense and an attack, or a suite: bench run --defense texthide --attack unmix, or bench run --suite smoke "
    "(bench list shows them all)"
)


def add(commands: Any) -> None:
    """The `run` command, beside the others."""
    run = commands.add_parser(
        "run",
        help="run attacks on defenses and score them",
        description="Runs every defense against every attack; finished cells are taken from --out.",
        epilog="A plugin's options follow its name: texthide:m=256,k=4. Exit status: 0 all cells ok, 1 some failed, "
        "2 usage, 130 interrupted.",
    )
    run.add_argument("--defense", action="append", metavar="NAME[:OPTIONS]", help="repeat for several")
    run.add_argument("--attack", action="append", metavar="NAME[:OPTIONS]", help="repeat for several")
    run.add_argument(
        "--dataset", action="append", metavar="NAME[:OPTIONS]", help="default: demo; file:PATH for your own"
    )
    run.add_argument("--encoder", action="append", metavar="NAME", help="default: minilm; also a hub id or a folder")
    output.add_training(run)
    run.add_argument("--seed", type=int, nargs="+", action="extend", metavar="N", help="default: 0; several allowed")
    run.add_argument("--suite", metavar="FILE", help="cells from a TOML file or a suite of the project")
    size = run.add_argument_group("protocol (default: the attack's own paper's)")
    size.add_argument("--examples", type=int, metavar="N", help="private examples")
    size.add_argument("--epochs", type=int, metavar="N", help="encodings of each example")
    size.add_argument("--candidates", type=int, metavar="N", help="sentences in the attacker's corpus")
    size.add_argument("--batch", type=int, metavar="N", help="sentences in an update, for attacks on updates")
    size.add_argument("--update", metavar="OPTIONS", help="how one is made: share=top:2,precision=bf16,dropout=0.1")
    size.add_argument("--split", choices=("train", "dev"), help="where private examples come from")
    size.add_argument("--public", metavar="NAME", help="public corpus, where one is wanted (default: the data set's)")
    size.add_argument("--coverage", type=float, metavar="F", help="share of the private examples in that corpus")
    size.add_argument(
        "--attacker",
        metavar="WHO",
        help="weights of a trained encoder that the attacker holds: current (default), "
        "stale (an epoch older) or initial (as downloaded)",
    )
    run.add_argument("--utility", action="store_true", help="also train on the releases: what the defense costs")
    how = run.add_argument_group("how to run")
    how.add_argument("--out", type=Path, default=Path("results"), metavar="DIR", help="records (default: results)")
    how.add_argument("--timeout", type=float, default=3600, metavar="S", help="per attack (default: 3600)")
    how.add_argument("--memory", type=int, default=8192, metavar="MIB", help="per attack (default: 8192; 0: no limit)")
    how.add_argument("--device", default="auto", metavar="DEV", help="auto, cpu or cuda (default: auto)")
    how.add_argument("--sealed", action="store_true", help="for attacks you do not trust: sandbox, and a secret salt")
    how.add_argument("--replay", type=Path, metavar="RECORD", help="repeat a record's run and compare, bit for bit")
    how.add_argument(
        "--debug", action="store_true", help="in this process, with prints and tracebacks; no result, nothing is saved"
    )
    how.add_argument("--pdb", action="store_true", help="with --debug: open the debugger where the attack failed")
    how.add_argument(
        "--details", action="store_true", help="keep every query, answer and mix (parquet beside the record)"
    )
    how.add_argument("--verbose", action="store_true", help="show what attacks print, line by line")
    how.add_argument("--metrics", choices=("leak", "all"), default="leak", help="of the table (default: leak)")
    output.add_scheduling(how)
    output.add_options(how)
    run.set_defaults(call=_run)


def _run(args: argparse.Namespace) -> int:
    from bench.api import experiments
    from bench.api.requests import AttackRequest

    options = output.options_of(args, AttackRequest)
    if not (args.defense or args.attack or args.suite or args.replay):
        raise UsageError(FIRST)
    if args.replay:
        return _replay(args, AttackRequest(**options))
    if args.debug or args.pdb:
        from bench.api.debugging import debug

        return 0 if debug(AttackRequest(**options), open_pdb=args.pdb) else 1
    if args.dry_run:
        return output.dry_run(args, AttackRequest(**options))
    return output.finish(args, lambda: experiments.run(**options))


def _replay(args: argparse.Namespace, request: AttackRequest) -> int:
    from bench.api.replays import replay
    from bench.api.results import Results

    if request.given() or args.suite or args.sealed:
        raise UsageError("--replay takes everything from its record: leave out the rest")
    found = replay(args.replay, request)
    output.show(args, Results([found.record]))
    for text in found.differences:
        output.say(text)
    output.say(f"{found.record.id}: {'other numbers' if found.differences else 'the same numbers'}")
    return 1 if found.differences else 0
