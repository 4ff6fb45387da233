"""The page, opened in a browser, for all tests of it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bench.board.model import Board
from bench.board.render.page import page
from tests.helpers.browser import BROWSER, DRIVER, Show
from tests.helpers.cli import ROOT
from tests.helpers.synthetic_board import hostile_board, synthetic_board


@pytest.fixture(scope="module")
def driver() -> Iterator[Any]:
    reason = "selenium is not installed: pip install 'hideseek[test]'"
    webdriver = pytest.importorskip("selenium.webdriver", reason=reason)
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    options.binary_location = BROWSER
    for word in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", "--hide-scrollbars"):
        options.add_argument(word)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    # The path is given, or selenium would look for a driver on the network.
    found = webdriver.Chrome(options=options, service=Service(DRIVER))
    yield found
    found.quit()


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("pages")
    plain = synthetic_board(datasets=("cola",))
    broken = plain.suites["smoke"].replace(problem="its file is damaged")
    unknown = plain.replace(suites={**plain.suites, "smoke": broken})
    whole = next(c for c in plain.cells if (c.attack, c.defense) == ("rss", "none"))
    single = whole.replace(value=0.777, seeds=[0], ids=whole.ids[:1], suites=["smoke"])
    others = [c.replace(value=0.111) if c is whole else c for c in plain.cells]
    stale = [
        c.replace(stale=["attack", "scoring"], marks=[*c.marks, "stale"]) if c is whole else c for c in plain.cells
    ]
    boards = {
        "small": synthetic_board(),
        "hostile": hostile_board(),
        "large": synthetic_board(rows=5000),
        "empty": Board(records=0, suites={}, cells=[], defenses=[]),
        "unknown": unknown,
        "shared": plain.replace(cells=[*others, single]),
        "stale": plain.replace(cells=stale, stale=3),
        "trained": _with_training(plain),
        "published": Board.model_validate(
            json.loads((ROOT / "leaderboards" / "board.json").read_text(encoding="utf-8"))
        ),
    }
    for name, made in boards.items():
        (folder / f"{name}.html").write_text(page(made, ["pictures/heatmap.svg"]), encoding="utf-8")
    return {name: folder / f"{name}.html" for name in boards}


@pytest.fixture
def show(driver: Any, pages: dict[str, Path]) -> Iterator[Show]:
    """Open a page; afterwards nothing may stand on the console and nothing may have been fetched."""

    def call(
        name: str = "small", state: str = "", *, width: int = 1400, height: int = 1000, scheme: str = "light"
    ) -> Any:
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500}
        driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        media = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
        driver.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
        driver.get("about:blank")
        driver.get(pages[name].as_uri() + state)
        assert driver.execute_script("return 'ready' in document.documentElement.dataset")
        return driver

    yield call
    assert [entry["message"] for entry in driver.get_log("browser")] == []
    events = [json.loads(entry["message"])["message"] for entry in driver.get_log("performance")]
    asked = [e["params"]["request"]["url"] for e in events if e["method"] == "Network.requestWillBeSent"]
    assert {url for url in asked if not url.startswith(("file:", "data:"))} == set()
    assert {Path(url.partition("#")[0]).suffix for url in asked if url.startswith("file:")} <= {".html"}
    driver.execute_script("try { localStorage.clear() } catch {}")


def _with_training(board: Board) -> Board:
    """With a suite of training, updates that were attacked, a list that lacks half of the examples, and
    attackers with older encoders or with none."""
    rows = [
        {
            "suites": ["utility"], "dataset": "cola", "encoder": "minilm", "defense": defense, "epochs": 20,
            "metrics": {"mcc": [mean, 0.01, 0.4, 0.0]}, "seeds": [0, 1], "ids": [f"{i:016x}"], "epsilon": None,
            "published": [], "command": "bench utility",
        }
        for i, (defense, mean) in enumerate((("none", 0.4), ("texthide", 0.1), ("mix-only", 0.3)))
    ]  # fmt: skip
    cells = list(board.cells)
    cells[0] = cells[0].replace(sees=["corpus", "updates"], attack="span")
    cells[1] = cells[1].replace(protocol="1000 × 1, coverage 0.5")
    cells[2] = cells[2].replace(protocol="1000 × 1, attacker holds the stale encoder")
    cells[3] = cells[3].replace(protocol="1000 × 1, attacker holds the initial encoder")
    cells[4] = cells[4].replace(protocol="1000 × 1, 100 known pairs of prose", sees=["encodings", "pairs"])
    suite = board.suites["main"].replace(title="What defenses cost")
    made = board.replace(cells=cells, suites={**board.suites, "utility": suite}).to_dict()
    return Board.model_validate({**made, "utility": rows})
