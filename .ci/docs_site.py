"""What the docs' site has beyond the files in docs/: a first page, and the reference, made from registry and API.

A hook of MkDocs (mkdocs.yml). Links to files outside docs/ become plain names: the site is read without the repository.
"""

from __future__ import annotations

import logging
import re
from pathlib import Path
from typing import Any

import api_reference  # beside this file: MkDocs has the folder on the path while it loads a hook

from bench.experiment.suites import suites
from bench.plugins.registry import KINDS, Registry

log = logging.getLogger("mkdocs.hooks.docs_site")
LINK = re.compile(r"\[([^\]]+)\]\((?!https?:)([^)]+)\)")
OUTSIDE = re.compile(r"\[([^\]]+)\]\(((?:\.\./)+[^)]+)\)")


def on_files(files: Any, config: Any) -> Any:
    from mkdocs.structure.files import File

    made = {"index.md": _readme(config), "reference/suites.md": _suites(), "reference/api.md": api_reference.page()}
    made |= {f"reference/{kind}s.md": _reference(kind) for kind in KINDS}
    for path, content in made.items():
        files.append(File.generated(config, path, content=content))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Of a link that leads out of docs/, the words."""
    up = page.file.src_uri.count("/") + 1
    root = Path(config.config_file_path).parent

    def outside(found: re.Match[str]) -> str:
        if found[2].count("../") < up:
            return found[0]
        _check(root, found[2].replace("../", ""), page.file.src_uri)
        return found[1]

    return OUTSIDE.sub(outside, markdown)


def _check(root: Path, path: str, page: str) -> None:
    """A warning, which a strict build does not survive, where a link leads to no file of the repository."""
    if not (root / path.partition("#")[0]).exists():
        log.warning("Doc file '%s' contains a link '%s', but there is no such file in the repository.", page, path)


def _readme(config: Any) -> str:
    """The README; its links to docs/ are links inside the site, of all others the words stay."""
    root = Path(config.config_file_path).parent

    def inside(found: re.Match[str]) -> str:
        path = found[2].removeprefix("docs/")
        if path != found[2] and path.partition("#")[0].endswith(".md"):
            return f"[{found[1]}]({path})"
        _check(root, found[2], "README.md")
        return found[1]

    return LINK.sub(inside, (root / "README.md").read_text(encoding="utf-8"))


def _reference(kind: str) -> str:
    """Every plugin of a kind that comes with the project: what it does, its options, what it sees."""
    lines = [f"# {kind.capitalize()}s", "", f"Made from the registry; `bench list {kind}s` prints the same.", ""]
    for name, entry in sorted(Registry().of(kind).items()):
        if not entry.built_in:
            continue
        lines += [f"## {name}", "", entry.summary, ""]
        if entry.options:
            said = entry.explained
            lines += ["| option | default | meaning |", "| --- | --- | --- |"]
            lines += [
                f"| `{name}` | `{value}` | {_cell(said.get(name, ''))} |" for name, value in entry.options.items()
            ]
            lines += [""]
    return "\n".join(lines)


def _suites() -> str:
    lines = ["# Suites", "", "Made from leaderboards/suites; `bench list suites` prints the same.", ""]
    lines += [
        "| suite | what |",
        "| --- | --- |",
        *(f"| `{name}` | {_cell(title)} |" for name, title in suites().items()),
    ]
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")
