"""Which versions of a component are known to compute the same numbers: leaderboards/equivalent.toml.

A record says by hashes which code made it. Where that code has changed since and the numbers have not, an entry of this
ledger joins the two hashes. `bench records migrate` writes one after cells that were run again have agreed.
"""

from __future__ import annotations

import json
import tomllib
from functools import cached_property
from pathlib import Path
from typing import Literal

from pydantic import Field, ValidationError

from bench.errors import DataError
from bench.records.model import COMPONENTS
from bench.records.values import Part
from bench.system.files import write_text
from bench.system.validation import explain

HEADER = """# Hashes of code that computes the same numbers. Written by `bench records migrate`, which has run the cells
# named in `replayed` again and found their numbers equal; read by `bench records verify`, `bench run` and the boards.
"""


class Equivalence(Part):
    """One change of a component that changed no number."""

    component: Literal["setup", "surface", "encoder", "defense", "attack", "dataset", "scoring", "training", "audit"]
    before: str = Field(alias="from")
    after: str = Field(alias="to")
    reason: str
    agreement: str
    """how closely the numbers agreed"""
    replayed: list[str]
    """ids of records that were run again"""


class _File(Part):
    equivalent: list[Equivalence] = Field(default_factory=list)


class Ledger:
    """Hashes of a component that are joined, directly or over others, are equivalent."""

    def __init__(self, entries: list[Equivalence]):
        self.entries = entries

    def joins(self, component: str, one: str, other: str) -> bool:
        return one == other or (component, other) in self._equivalent.get((component, one), ())

    def representative(self, component: str, code: str) -> str:
        """The same hash for all that are joined with this one."""
        return min(code for _, code in self._equivalent.get((component, code), {(component, code)}))

    @cached_property
    def _equivalent(self) -> dict[tuple[str, str], set[tuple[str, str]]]:
        """All hashes that each hash is joined to, over however many entries."""
        import networkx

        graph = networkx.Graph()
        graph.add_edges_from(((e.component, e.before), (e.component, e.after)) for e in self.entries)
        return {node: group for group in networkx.connected_components(graph) for node in group}


def read(path: Path) -> Ledger:
    """The ledger in a file; an empty one where there is none."""
    if not path.is_file():
        return Ledger([])
    try:
        return Ledger(_File.model_validate(tomllib.loads(path.read_text(encoding="utf-8"))).equivalent)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise DataError(f"{path}: not a TOML file ({error})") from error
    except ValidationError as error:
        raise DataError(f"{path}: {explain(error)}") from error


def write(path: Path, entries: list[Equivalence]) -> None:
    ordered = sorted(entries, key=lambda e: (COMPONENTS.index(e.component), e.before, e.after))
    tables = "\n".join(_table(entry) for entry in ordered)
    write_text(path, f"{HEADER}\n{tables}")


def _table(entry: Equivalence) -> str:
    # A JSON string or list of strings is one of TOML, too.
    pairs = (f"{name} = {json.dumps(value, ensure_ascii=False)}" for name, value in entry.to_dict().items())
    return "\n".join(["[[equivalent]]", *pairs, ""])
