"""`bench docs`: the docs, offline: as a site where it was built, else page by page in the terminal."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from bench import IN_CHECKOUT, ROOT
from bench.errors import UsageError, unknown


def add(commands: Any) -> None:
    """The `docs` command, beside the others."""
    docs = commands.add_parser(
        "docs",
        help="read the docs, offline",
        description="Without a name: opens the site, where `make docs` has built it, else lists the pages. With the "
        "name of a page: prints it.",
    )
    docs.add_argument("page", nargs="?", help="such as report, reading-a-board or attacks/unmix")
    docs.add_argument("--list", action="store_true", help="list the pages, also where the site was built")
    docs.set_defaults(call=_docs)


def folder() -> Path:
    return ROOT / "docs" if IN_CHECKOUT else Path(__file__).parent.parent / "docs"


def site() -> Path:
    return ROOT / "build" / "docs" / "index.html"


def pages() -> dict[str, Path]:
    """Names, as one would type them, with their files."""
    place = folder()
    return {path.relative_to(place).with_suffix("").as_posix(): path for path in sorted(place.rglob("*.md"))}


def _docs(args: argparse.Namespace) -> int:
    known = pages()
    if not known:
        raise UsageError(f"there are no docs in {folder()}: install hideseek again, or read them in its repository")
    if args.page:
        name = args.page.removeprefix("docs/").removesuffix(".md")
        if name not in known:
            raise unknown("page", name, known)
        _print(known[name].read_text(encoding="utf-8"))
    elif IN_CHECKOUT and site().is_file() and not args.list:
        import webbrowser

        print(site())
        webbrowser.open(site().as_uri())
    else:
        for name, path in known.items():
            print(f"{name:<20} {_title(path)}")
        print("\nbench docs NAME prints a page")
    return 0


def _title(path: Path) -> str:
    with path.open(encoding="utf-8") as lines:
        return next((line.removeprefix("# ").strip() for line in lines if line.startswith("# ")), "")


def _print(text: str) -> None:
    """As Markdown for a terminal; as it is for a file or a pipe."""
    if not sys.stdout.isatty():
        print(text, end="")
        return
    from rich.console import Console
    from rich.markdown import Markdown

    Console().print(Markdown(text))
