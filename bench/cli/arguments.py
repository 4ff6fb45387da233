"""What the command line does with argparse beyond its public interface: listing options, and answering a wrong one."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence

from bench.errors import closest


def actions(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    """Options and arguments of a parser and of its commands."""
    for action in parser._actions:
        yield action
        if isinstance(action, argparse._SubParsersAction):
            for command in action.choices.values():
                yield from actions(command)


def parse(parser: argparse.ArgumentParser, argv: Sequence[str] | None) -> argparse.Namespace:
    """The arguments. argparse answers one that nobody takes with the usage of `bench`; here it is one line, with the
    option of the command that it resembles."""
    args, unknown = parser.parse_known_args(argv)
    if unknown:
        command = _chosen(parser, args)
        word = unknown[0].partition("=")[0]
        what = "option" if word.startswith("-") else "argument"
        known = [name for action in command._actions for name in action.option_strings if name.startswith("--")]
        hint = closest(word, known, cutoff=0.7) if what == "option" else ""
        print(f"{command.prog}: unknown {what} {word!r}: {hint}{command.prog} --help lists all", file=sys.stderr)
        sys.exit(2)
    return args


def _chosen(parser: argparse.ArgumentParser, args: argparse.Namespace) -> argparse.ArgumentParser:
    """The parser of the command, and of its action, that was given."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction) and getattr(args, action.dest):
            command: argparse.ArgumentParser = action.choices[getattr(args, action.dest)]
            return _chosen(command, args)
    return parser
