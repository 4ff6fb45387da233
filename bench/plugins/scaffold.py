"""Writes a plugin that works, from the templates beside this module, for its author to change."""

from __future__ import annotations

import keyword
import re
from pathlib import Path

from bench import EXPORTS
from bench.errors import UsageError
from bench.plugins import names
from bench.plugins.registry import Registry
from bench.system.files import write_text
from bench.system.text import article

TEMPLATES = Path(__file__).resolve().parent / "templates"
RUN = {
    "attack": "bench run --attack {name} --defense texthide",
    "defense": "bench run --defense {name} --attack rss",
    "dataset": "bench run --dataset {name} --defense texthide --attack rss",
}


def write(name: str, kind: str, out: Path, *, single: bool) -> list[Path]:
    """The files of a new plugin; nothing is written where anything is there already."""
    words = _words(name, kind)
    if single:
        files = {_single(name, out): f"{kind}.py"}
    else:
        home = out / words["package"]
        files = {
            home / "pyproject.toml": "pyproject.toml",
            home / f"{words['module']}.py": f"{kind}.py",
            home / "tests" / f"test_{words['module']}.py": "test_plugin.py",
            home / "README.md": "README.md",
        }
    for path in (*files, *(() if single else (out / words["package"],))):
        if path.exists():
            raise UsageError(f"{path} is there already: choose another name, or another folder with --out")
    for path, template in files.items():
        write_text(path, _filled(template, words))
    return list(files)


def next_steps(name: str, kind: str, out: Path, *, single: bool) -> str:
    """What to type next."""
    run = RUN[kind].format(name=name)
    if single:
        path = _single(name, out)
        return f"\nnext:\n  bench plugin check {path}\n  {run} --plugin {path}"
    package = out / _words(name, kind, known=True)["package"]
    dot = "" if package.is_absolute() else "./"  # without it pip may take the folder for a name
    return f"\nnext:\n  pip install -e {dot}{package}\n  bench plugin check {name}\n  {run}"


def _single(name: str, out: Path) -> Path:
    return out / f"{name.replace('-', '_')}.py"


def _words(name: str, kind: str, *, known: bool = False) -> dict[str, str]:
    names.check(name, kind)
    twin = None if known else Registry().of(kind).get(name)
    if twin is not None:
        raise UsageError(f"there is {article(kind)} {kind} {name!r} already ({twin.where}): choose another name")
    cls = "".join(part.capitalize() for part in name.split("-"))
    if keyword.iskeyword(cls) or cls in EXPORTS:  # None and True, Guess and Key: the template needs them itself
        cls += kind.capitalize()
    return {
        "name": name,
        "kind": kind,
        "cls": cls,
        # A prefix: a module called like a plugin, say `random`, would hide another's.
        "package": f"hideseek-{name}",
        "module": f"hideseek_{name.replace('-', '_')}",
        "article": article(kind),
        "article_cap": article(kind).capitalize(),
        "run": RUN[kind].format(name=name),
    }


def _filled(template: str, words: dict[str, str]) -> str:
    text = (TEMPLATES / f"{template}.txt").read_text(encoding="utf-8")
    # By hand, not str.format: the templates are Python, which has braces of its own.
    return re.sub(r"\{(\w+)\}", lambda found: words.get(found[1], found[0]), text)
