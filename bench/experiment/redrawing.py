"""Data that are made rather than collected are made anew for a sealed run, from its salt.

Who knows the examples that private ones are drawn from needs no corpus: an attack could bring them along, and name them
without having declared that it knows any. What was collected, such as GLUE or digits, is public, and stays as it is.
"""

from __future__ import annotations

import secrets
from dataclasses import replace

from bench.experiment.cells import Cell, Chosen

# Letters of a salt that all cells of a run have in common: the examples are made from these, so that vectors of them
# are computed once. The rest is each cell's own.
COMMON = 32


def new_common() -> str:
    """The first half of the salts of a run."""
    return secrets.token_hex(COMMON // 2)


def new_salt(common: str) -> str:
    """256 bits, of which half are the cell's own."""
    return common + secrets.token_hex(32 - COMMON // 2)


def redrawn(cell: Cell, salt: str | None) -> Cell:
    """The cell on other examples of the same kind, where its data set has a method `redrawn(salt)`."""
    if salt is None:
        return cell
    public = None if cell.public is None else _redrawn(cell.public, salt)
    return replace(cell, dataset=_redrawn(cell.dataset, salt), public=public)


def _redrawn(chosen: Chosen, salt: str) -> Chosen:
    if not hasattr(chosen.plugin, "redrawn"):
        return chosen
    return replace(chosen, plugin=chosen.plugin.redrawn(salt[:COMMON]))
