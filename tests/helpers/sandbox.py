"""The mark of tests that need bubblewrap; they skip, with the reason, where it cannot be had."""

from __future__ import annotations

import pytest

from bench.errors import UsageError
from bench.isolation import sandbox


def _why_not() -> str:
    try:
        sandbox.require()
    except UsageError as error:
        return f"no sandbox on this machine: {error}"
    return ""


WHY_NOT = _why_not()
needs_sandbox = pytest.mark.skipif(bool(WHY_NOT), reason=WHY_NOT)
