"""What cannot run on a system is said where it is asked for."""

from __future__ import annotations

import sys

import pytest

from bench.errors import UsageError
from bench.isolation import sandbox


def test_a_system_without_bubblewrap_is_told_so_and_not_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    with pytest.raises(UsageError, match="--sealed needs Linux") as caught:
        sandbox.require()
    assert "apt-get" not in str(caught.value)
