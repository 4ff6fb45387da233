"""Values as JSON has them, and the base of every typed part of a file: records, board, ledger, papers' numbers.

Numbers have nine decimals, so that what a run shows and what a file holds are the same; NaN is None, and infinity,
which JSON has not, is text.
"""

from __future__ import annotations

import math
from typing import Annotated, Any, Literal, Self

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict

DECIMALS = 9
# Beyond it there is nothing that was measured: not infinity, nor a number whose square no float can hold.
MOST = 1e100


def plain(value: Any, decimals: int | None = DECIMALS) -> Any:
    """A value as JSON has it: floats rounded, NaN as None, infinity as text, arrays of one as numbers."""
    if isinstance(value, float):
        if not math.isfinite(value):
            return None if math.isnan(value) else str(value)
        return value if decimals is None else round(value, decimals)
    if isinstance(value, dict):
        return {str(name): plain(part, decimals) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [plain(part, decimals) for part in value]
    if hasattr(value, "item") and not hasattr(value, "__len__"):
        return plain(value.item(), decimals)
    return value


def exact(value: Any) -> Any:
    """The same without rounding, for what was asked and not measured."""
    return plain(value, None)


def rounded(value: Any) -> Any:
    return plain(value)


def _bounded(value: float | str | None) -> float | str | None:
    if isinstance(value, float | int) and not abs(value) < MOST:
        raise ValueError("a number that could have been measured was expected")
    return value


Number = Annotated[float | Literal["inf", "-inf"] | None, BeforeValidator(rounded), AfterValidator(_bounded)]
Plain = Annotated[dict[str, Any], BeforeValidator(rounded)]
"""a table of JSON values"""
Options = Annotated[dict[str, Any], BeforeValidator(exact)]


class Part(BaseModel):
    """Unknown keys are errors: a typing mistake in a file must not pass for a missing value."""

    model_config = ConfigDict(frozen=True, strict=True, extra="forbid", populate_by_name=True)

    def replace(self, **changes: Any) -> Self:
        """A copy with these fields changed, checked like any other."""
        return type(self).model_validate({**self.__dict__, **changes})

    def to_dict(self) -> dict[str, Any]:
        """As its file has it."""
        return self.model_dump(by_alias=True)
