"""Stands in for the attack of a scene that names none (bench.api.scenes): sees all there is, and guesses nothing.

It is a plugin file that only `bench.scene` loads, so it is in no list and never run.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NoReturn

from bench import UsageError, View, attack

SEES = {"encodings", "labels", "corpus", "encoder", "defense", "oracle"}


@attack("onlooker", sees=SEES, on=("text", "images"))
@dataclass(frozen=True)
class Onlooker:
    """Sees what every release has."""

    def run(self, view: View, rng: Any) -> NoReturn:
        raise UsageError("an onlooker attacks nothing: name an attack")
