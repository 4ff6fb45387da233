"""Who says so: where the numbers of a record come from, as far as this project knows.

A record without an origin is self-reported: somebody ran it, and nobody has looked. `replayed` and `not reproduced` are
written by `bench records replay --mark`, `ci` by the workflow that ran it (`bench records stamp`). None of it is part
of what was asked: the id stays.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from bench.records.values import Part

Kind = Literal["self-reported", "replayed", "ci", "not reproduced"]
# A board shows the weakest of a cell's records, and the first of these is the weakest.
ORDER: tuple[Kind, ...] = ("not reproduced", "self-reported", "replayed", "ci")
# Differences that a mark keeps; one is enough to leave the ranking.
KEPT = 5


class Origin(Part):
    kind: Kind
    reference: Annotated[str, Field(max_length=500)] = ""
    """of ci: the run whose attestation covers the file; of replayed: how well it agreed, when and on which processor"""
    differences: Annotated[list[Annotated[str, Field(max_length=500)]], Field(max_length=KEPT)] = Field(
        default_factory=list
    )
    """of not reproduced: what came out otherwise"""


def weakest(origins: list[Origin | None]) -> Kind:
    """The origin of what several records say together."""
    return min((kind_of(origin) for origin in origins), key=ORDER.index, default="self-reported")


def kind_of(origin: Origin | None) -> Kind:
    return origin.kind if origin else "self-reported"
