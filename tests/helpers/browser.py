"""A real browser for tests of the page: how to look at it, click in it and take pictures of it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

BROWSER = next((p for n in ("chromium", "chromium-browser", "google-chrome") if (p := shutil.which(n))), None)
DRIVER = shutil.which("chromedriver")
needs_browser = pytest.mark.skipif(
    not (BROWSER and DRIVER), reason="no Chromium here: apt-get install chromium chromium-driver"
)
# Screenshots for a person to look at, where this names a folder.
SHOTS = os.environ.get("BENCH_SHOTS")
Show = Callable[..., Any]


def column(driver: Any, number: int) -> list[str]:
    code = "return [...document.querySelectorAll('.flat tbody tr')].map(r => r.cells[arguments[0]].innerText.trim())"
    found: list[str] = driver.execute_script(code, number)
    return found


def press(driver: Any, key: str) -> None:
    from selenium.webdriver.common.action_chains import ActionChains
    from selenium.webdriver.common.keys import Keys

    ActionChains(driver).send_keys(getattr(Keys, key)).perform()


def one(driver: Any, selector: str) -> Any:
    return driver.find_element("css selector", selector)


def shot(driver: Any, name: str) -> None:
    if SHOTS:
        Path(SHOTS).mkdir(parents=True, exist_ok=True)
        driver.save_screenshot(str(Path(SHOTS) / f"{name}.png"))


def pause(driver: Any, ms: int = 150) -> None:
    driver.execute_async_script("setTimeout(arguments[1], arguments[0])", ms)
