"""One line for what pydantic found: where, what was given, what was expected, and how many more there are."""

from __future__ import annotations

from typing import Any, Literal

import pytest
from pydantic import BaseModel, ConfigDict, ValidationError, field_validator

from bench.system.validation import SHOWN, explain


class Inner(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid")
    examples: int = 1
    share: float | Literal["inf"] = 0.5


class Outer(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid")
    name: str
    inner: Inner = Inner()
    kind: Literal["text", "images"] = "text"
    seeds: list[int] = []

    @field_validator("name")
    @classmethod
    def _not_empty(cls, name: str) -> str:
        if not name:
            raise ValueError("a name was expected")
        return name


def said(**values: Any) -> str:
    with pytest.raises(ValidationError) as caught:
        Outer.model_validate(values)
    return explain(caught.value)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({}, "name: is missing"),
        ({"name": 3}, "name = 3: text was expected"),
        ({"name": ""}, "name = '': a name was expected"),
        ({"name": "a", "inner": {"examples": "100"}}, "inner.examples = '100': a whole number was expected"),
        ({"name": "a", "inner": {"example": 3}}, "inner.example = 3: unknown key"),
        ({"name": "a", "inner": 3}, "inner = 3: a table was expected"),
        ({"name": "a", "kind": "sound"}, "kind = 'sound': 'text' or 'images' was expected"),
        ({"name": "a", "seeds": 3}, "seeds = 3: a list was expected"),
        ({"name": "a", "seeds": [0, "zero"]}, "seeds.1 = 'zero': a whole number was expected"),
        # The two members of the union are two findings about one place, and neither is named in it.
        ({"name": "a", "inner": {"share": "half"}}, "inner.share = 'half': a number was expected (and 1 more)"),
        ({"kind": "sound"}, "name: is missing (and 1 more)"),
    ],
)
def test_a_mistake_is_one_line(values: dict[str, Any], expected: str) -> None:
    assert said(**values) == expected


def test_a_long_value_is_cut() -> None:
    line = said(name=["x" * 1000])
    assert len(line) < SHOWN + 60
    assert "…: text was expected" in line
