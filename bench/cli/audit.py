"""`bench audit`: whether the ε that a defense claims survives an experiment."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from bench.cli import output


def add(commands: Any) -> None:
    """The `audit` command, beside the others."""
    audit = commands.add_parser(
        "audit",
        help="an experimental lower bound on a defense's ε",
        description="Tells apart what the defense promises to keep apart, and turns that into a lower bound on its ε, "
        "with 95 % confidence: refuted if it is above the claim. Game pair: two neighbouring data sets in many runs. "
        "Game canaries: one run, in which for every canary one of two sentences was drawn. Game updates: what a client "
        "sends in training, of two neighbouring batches in many runs.",
        epilog="Exit status: 0 audited, whatever the verdict; 1 some audit failed; 2 usage.",
    )
    audit.add_argument("--defense", action="append", metavar="NAME[:OPTIONS]", help="repeat for several")
    audit.add_argument("--dataset", action="append", metavar="NAME[:OPTIONS]", help="default: demo")
    audit.add_argument("--encoder", action="append", metavar="NAME", help="default: minilm")
    audit.add_argument("--seed", type=int, nargs="+", action="extend", metavar="N", help="default: 0")
    audit.add_argument("--suite", metavar="FILE", help="audits from a TOML file or a suite of the project")
    audit.add_argument(
        "--game",
        action="append",
        metavar="NAME",
        help="pair, canaries, updates; default: the first two, or updates for a defense of those",
    )
    audit.add_argument(
        "--epochs",
        type=int,
        metavar="N",
        help="encodings of each example (default: 50); updates: rounds (default: those that the defense accounts for)",
    )
    few = "pair, updates: examples of each data set or batch (default: as many as are mixed)"
    audit.add_argument("--examples", type=int, metavar="N", help=few)
    audit.add_argument(
        "--trials",
        type=int,
        metavar="N",
        help="pair, updates: runs of each data set or batch "
        "(default: 20,000; for updates of a defense that mixes 1,000 or 300)",
    )
    audit.add_argument("--canaries", type=int, metavar="N", help="canaries: how many (default: 1,000)")
    audit.add_argument("--delta", type=float, metavar="P", help="for defenses that claim no ε (default: 1e-5)")
    audit.add_argument("--public", metavar="NAME", help="public corpus, where a defense wants one")
    audit.add_argument("--out", type=Path, default=Path("results"), metavar="DIR", help="default: results")
    audit.add_argument("--device", default="auto", metavar="DEV", help="auto, cpu or cuda (default: auto)")
    output.add_scheduling(audit)
    output.add_options(audit)
    audit.set_defaults(call=_audit)


def _audit(args: argparse.Namespace) -> int:
    from bench.api import experiments
    from bench.api.requests import AuditRequest

    options = output.options_of(args, AuditRequest)
    if args.dry_run:
        return output.dry_run(args, AuditRequest(**options))
    return output.finish(args, lambda: experiments.audit(**options))
