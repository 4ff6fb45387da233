"""The command line. Nothing heavy is imported until every name has been checked."""

from __future__ import annotations

import argparse
import io
import os
import select
import sys
from collections.abc import Sequence

from bench import __version__
from bench.cli import (
    arguments,
    audit,
    cache,
    compare,
    completion,
    docs,
    leaderboard,
    plugin,
    records,
    report,
    rescore,
    run,
    show,
    submit,
    utility,
)
from bench.cli import list as listing
from bench.errors import BenchError
from bench.system.text import printable

EPILOG = """examples:
  bench list
  bench run --defense none --defense texthide --attack unmix
  bench run --defense texthide:m=16,k=2 --attack unmix --dataset cola --seed 0 1 2
  bench run --defense texthide --attack unmix --dataset file:mine.csv,text=review,label=stars
  bench run --defense texthide --attack unmix --training finetuned:layers=2
  bench leaderboard --results results --out board
"""
FIRST_STEPS = """bench: name a command. To begin with:
  bench run --defense texthide --attack unmix     a defense against an attack, on the embedded demo data
  bench list                                      defenses, attacks, data sets, encoders, suites
  bench --help                                    all commands"""
COMMANDS = (
    *(listing, run, utility, audit, report, compare, show, leaderboard, plugin, submit, rescore, records, cache, docs),
    completion,
)
# Commands that do nothing but print: whoever stops reading has seen enough.
PRINTING = ("list", "show", "compare", "cache", "docs", "completion")
# Letters of a message: a name of a million letters is not repeated in full.
MOST_SAID = 500


def main(argv: Sequence[str] | None = None) -> int:
    for stream in (sys.stdout, sys.stderr):  # half a surrogate pair, which a name may hold, cannot be encoded
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    args = arguments.parse(parser(), argv)
    from bench.cli import logs
    from bench.system.processes import keep_interrupts

    logs.attach()
    keep_interrupts()
    try:
        status: int = args.call(args)
        return status
    except BenchError as error:
        print(f"bench: {_said(error)}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        print("bench: interrupted", file=sys.stderr)
        return 130
    except RecursionError:
        print("bench: what was given is nested too deeply: flatten it", file=sys.stderr)
        return 1
    except BrokenPipeError:
        if not (_unread(1) or _unread(2)):
            raise
        for stream in (1, 2):  # what is still in buffers has nowhere to go, and Python would complain of it at exit
            if _unread(stream):
                os.dup2(os.open(os.devnull, os.O_WRONLY), stream)
        return 0 if args.command in PRINTING else 1
    except OSError as error:  # a name that no file can have, a folder that cannot be entered, a disk that is full
        print(f"bench: {printable(error)[:MOST_SAID]}: choose another name or folder, or make room", file=sys.stderr)
        return 1


def _next(args: argparse.Namespace) -> int:
    """`bench` alone."""
    print(FIRST_STEPS, file=sys.stderr)
    return 2


def _said(error: BenchError) -> str:
    """The message without what moves a cursor, and not longer than anybody reads; a list of known names is."""
    text = "\n".join(map(printable, str(error).splitlines()))
    return text if len(text) <= 20 * MOST_SAID else f"{text[: 20 * MOST_SAID]}…"


def _unread(stream: int) -> bool:
    """Whether the reader of a pipe has gone, as in `bench list | head`."""
    poll = select.poll()
    poll.register(stream, 0)  # errors are reported unasked
    return any(event & (select.POLLERR | select.POLLHUP) for _, event in poll.poll(0))


def parser() -> argparse.ArgumentParser:
    """All commands with their options; shell completion (bench.cli.completion) is made from it."""
    parser = argparse.ArgumentParser(
        prog="bench",
        description="hideseek: who hides, who seeks, who wins. Runs attacks on schemes that hide text.",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"hideseek {__version__}")
    parser.set_defaults(call=_next)
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")

    for command in COMMANDS:
        command.add(commands)
    return parser
