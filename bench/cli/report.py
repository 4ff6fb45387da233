"""`bench report`: from somebody's own data to one page for who has to decide."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from bench.cli import output
from bench.errors import Interrupted


def add(commands: Any) -> None:
    """The `report` command, beside the others."""
    report = commands.add_parser(
        "report",
        help="one page on your own data: what hides it, and what that costs",
        description="Runs a recommended set of defenses and attacks on your data within a budget of time, and writes "
        "one page: verdict, picture, what an attacker had to know, ε, costs, what to do. Every number is a record's.",
        epilog="The same command again takes what is on record, and goes on with what the budget left out. "
        "Exit status: 0 written, 1 failed, 2 usage, 130 interrupted.",
    )
    report.add_argument("--dataset", required=True, metavar="NAME[:OPTIONS]", help="file:PATH,text=COLUMN,label=COLUMN")
    report.add_argument("--out", type=Path, action="append", metavar="FILE",
                        help=".html (default: report.html), .md, .json or .pdf; repeat for several")  # fmt: skip
    report.add_argument("--results", type=Path, metavar="DIR", help="records (default: a folder beside the first file)")
    report.add_argument("--budget", type=float, default=15.0, metavar="MIN", help="minutes (default: 15)")
    report.add_argument("--encoder", default="minilm", metavar="NAME", help="default: minilm")
    report.add_argument("--public", metavar="NAME",
                        help="public corpus, such as file:PATH (default: the data set's own, or demo)")  # fmt: skip
    report.add_argument("--seed", type=int, default=0, metavar="N", help="default: 0")
    report.add_argument("--steps", type=Path, metavar="FILE", help="another recipe than the recommended one, as TOML")
    report.add_argument("--jobs", type=int, metavar="N", help="processes to run on (default: 1)")
    report.add_argument("--device", default="auto", metavar="DEV", help="auto, cpu or cuda (default: auto)")
    report.add_argument("--json", action="store_true", help="print the report as JSON, and nothing else")
    report.add_argument("--no-progress", dest="progress", action="store_false", help="say nothing until the end")
    report.add_argument("--plugin", dest="plugins", action="append", default=[], metavar="FILE",
                        help="a Python file with plugins")  # fmt: skip
    report.set_defaults(call=_report)


def _report(args: argparse.Namespace) -> int:
    from bench.api.reports import report

    names = ("results", "budget", "encoder", "public", "seed", "steps", "jobs", "device", "plugins", "progress")
    try:
        found = report(args.dataset, args.out or "report.html", **{name: getattr(args, name) for name in names})
    except Interrupted:
        output.say("interrupted: what is finished is saved; the same command goes on from there")
        return 130
    if args.json:
        print(json.dumps(found.to_dict(), indent=1, ensure_ascii=False))
        return 0
    for sentence in found.to_dict()["recommendation"]:
        print(sentence["text"])
    for path in found.written:
        output.say(f"written: {path}")
    if left_out := len(found.report.left_out):
        steps = "1 step was" if left_out == 1 else f"{left_out} steps were"
        output.say(f"{steps} left out: the same command again goes on with what is missing, or raise --budget")
    return 0
