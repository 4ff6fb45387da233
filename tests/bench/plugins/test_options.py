from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import pytest

from bench.errors import UsageError
from bench.plugins import options


@dataclass(frozen=True)
class Demo:
    m: int | Literal["inf"] = 256
    rate: float = 0.5
    on: bool = False
    how: Literal["half-normal", "uniform"] = "half-normal"
    note: str = ""
    limit: int | None = None


@dataclass(frozen=True)
class NeedsPath:
    path: str
    label: str = ""


def build(spec: str, cls: type = Demo) -> object:
    name, pairs = options.split(spec)
    return options.build(cls, pairs, f"thing {name}")


def test_every_type_is_coerced() -> None:
    made = build("x:m=inf,rate=1e-3,on=yes,how=uniform,note=a,limit=none")
    assert made == Demo("inf", 0.001, True, "uniform", "a", None)
    assert build("x:m=16,limit=7") == Demo(m=16, limit=7)
    assert build("x") == Demo()


def test_a_bare_value_goes_to_the_required_option_and_may_hold_commas() -> None:
    assert build("file:a,b.csv,label=stars", NeedsPath) == NeedsPath("a,b.csv", "stars")


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("x:mm=3", "unknown option of thing x 'mm': did you mean 'm'?"),
        ("x:m=many", "m=many: expected a whole number or inf"),
        ("x:m=1.5", "expected a whole number or inf"),
        ("x:rate=nan", "expected a number"),
        ("x:on=perhaps", "expected true or false"),
        ("x:how=normal", "expected half-normal or uniform"),
        ("x:m=1,m=2", "given twice"),
        ("x:256", "not of the form option=value"),
        (":m=1", "names nothing"),
    ],
)
def test_wrong_options_are_explained(spec: str, said: str) -> None:
    with pytest.raises(UsageError) as error:
        build(spec)
    assert said in str(error.value)
    assert "\n" not in str(error.value)


def test_a_missing_required_option_is_named() -> None:
    with pytest.raises(UsageError, match="needs path"):
        build("file", NeedsPath)


def test_restore_takes_back_what_json_made_of_the_options() -> None:
    assert options.restore(Demo, {"m": "inf", "rate": 0.1, "gone": 1}) == Demo(m="inf", rate=0.1)
