"""The page, a report and the first page of the site by axe (WCAG 2.1 A and AA, and its best practices), in both themes.

What axe leaves open is asked for by hand: controls have names, headings are in order, and the drawing of the concepts
can be read in the dark.
"""

from __future__ import annotations

import json
import re
from importlib.resources import files
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from bench.reporting import page as report_page
from bench.reporting.content import Report
from tests.bench.board.render.test_page_in_browser import contrast
from tests.helpers.browser import Show, needs_browser, one, pause, shot
from tests.helpers.cli import ROOT
from tests.helpers.records import attack_record, budget, utility_record

pytestmark = needs_browser
SCHEMES = ("light", "dark")


def violations(driver: Any) -> list[str]:
    """Rules that are broken, with the first element that breaks each."""
    pytest.importorskip("axe_core_python", reason="axe is not installed: pip install 'hideseek[test]'")
    driver.execute_script(files("axe_core_python").joinpath("axe.min.js").read_text(encoding="utf-8"))
    found = driver.execute_async_script("axe.run().then((r) => arguments[0](JSON.stringify(r.violations)))")
    return [f"{v['id']} ({len(v['nodes'])}): {v['nodes'][0]['html'][:200]}" for v in json.loads(found)]


def outline(driver: Any) -> list[int]:
    """Levels of the headings that are shown, in order."""
    code = (
        "return [...document.querySelectorAll('h1, h2, h3, h4, h5, h6')].filter((h) => h.checkVisibility())"
        ".map((h) => +h.tagName[1])"
    )
    levels: list[int] = driver.execute_script(code)
    return levels


def in_order(levels: list[int]) -> bool:
    """One first heading, and none that skips a level."""
    return levels[:1] == [1] and levels.count(1) == 1 and all(b <= a + 1 for a, b in pairwise(levels))


NAMELESS = """
const named = (n) => n.getAttribute('aria-label') || n.getAttribute('aria-labelledby') || n.title ||
  n.innerText.trim() || (n.labels && [...n.labels].some((l) => l.innerText.trim()));
return [...document.querySelectorAll('button, select, input, textarea, a[href], summary')]
  .filter((n) => n.checkVisibility() && !named(n)).map((n) => n.outerHTML.slice(0, 200));
"""


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("state", ["", "#view=table", "#view=chart"])
def test_the_board_has_no_fault_that_axe_knows(show: Show, scheme: str, state: str) -> None:
    driver = show("trained", state=state, scheme=scheme)
    driver.execute_script("document.getElementById('filters').open = true")
    assert violations(driver) == []
    assert driver.execute_script(NAMELESS) == []
    assert in_order(outline(driver))
    assert driver.execute_script("return document.documentElement.lang") == "en"


def test_nor_has_it_on_a_phone_and_with_a_cell_open(show: Show) -> None:
    driver = show(width=390, height=800)
    assert violations(driver) == []
    one(driver, "td:not(.worst) > [aria-label^='rss on none']").click()
    pause(driver)
    assert one(driver, "dialog[open]").is_displayed()
    assert violations(driver) == []
    assert driver.execute_script(NAMELESS) == []


def report() -> Report:
    """With a verdict, a picture, every table, a failure and a step that was left out."""
    hidden = [0.0] * 40
    records = [
        attack_record("none", "unmix", [1.0] * 40, dataset="sst2"),
        utility_record("none", 0.8),
        attack_record("texthide", "unmix", [1.0] * 40, dataset="sst2"),
        utility_record("texthide", 0.79),
        attack_record("release-once", "unmix", hidden, dataset="sst2", notes=budget(4, 4)),
        utility_record("release-once", 0.7),
        attack_record("release-once", "rss", hidden, dataset="sst2", protocol={"coverage": 0.5}),
    ]
    return Report(records, ["claims audited"], ["bench", "report", "--dataset", "sst2"])


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("kind", ["report", "first page"])
def test_a_report_and_the_first_page_have_none_either(driver: Any, tmp_path: Path, scheme: str, kind: str) -> None:
    script = (ROOT / ".github" / "pages.sh").read_text()
    made = (
        report_page.render(report()) if kind == "report" else script.partition("'HTML'\n")[2].partition("\nHTML\n")[0]
    )
    (tmp_path / "page.html").write_text(made, encoding="utf-8")
    media = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
    driver.get((tmp_path / "page.html").as_uri())
    shot(driver, f"{kind.replace(' ', '-')}-{scheme}")
    assert violations(driver) == []
    assert driver.execute_script(NAMELESS) == []
    assert in_order(outline(driver))
    assert driver.execute_script("return document.documentElement.lang") == "en"
    pictures = driver.execute_script("return [...document.querySelectorAll('svg, img')].map((n) => n.outerHTML)")
    assert len(pictures) == (kind == "report")
    assert all(re.match(r"<svg[^>]*role=\"img\"", text) and "aria-label=" in text for text in pictures)


def test_a_fault_would_be_seen(driver: Any, tmp_path: Path) -> None:
    faint = '<p style="color: #999; background: #fff">faint</p>'
    (tmp_path / "page.html").write_text(f'<html><body><h3>x</h3>{faint}<input><img src="data:,"></body></html>')
    driver.get((tmp_path / "page.html").as_uri())
    seen = {text.partition(" ")[0] for text in violations(driver)}
    assert {"color-contrast", "html-has-lang", "image-alt", "label"} <= seen
    assert len(driver.execute_script(NAMELESS)) == 1
    assert not in_order(outline(driver))


@pytest.mark.parametrize("scheme", SCHEMES)
def test_the_drawing_of_the_concepts_can_be_read_in_both_themes(scheme: str) -> None:
    drawing = (ROOT / "docs" / "figures" / "concepts.svg").read_text(encoding="utf-8")
    light, dark = (
        dict(re.findall(r"--(\w+): (#\w{6})", block)) for block in re.findall(r":root \{(.*?)\}", drawing, re.S)
    )
    assert set(light) == set(dark)
    colours = {
        name: tuple(int(v[i : i + 2], 16) for i in (1, 3, 5))
        for name, v in (dark if scheme == "dark" else light).items()
    }
    for ink in ("ink", "soft"):
        for ground in ("paper", "client", "out", "attacker", "score"):
            assert contrast(str(colours[ink]), str(colours[ground])) >= 4.5, (ink, ground)
    assert contrast(str(colours["wall"]), str(colours["paper"])) >= 4.5
    assert 'role="img"' in drawing
    assert "<title" in drawing
    assert "<desc" in drawing


def test_long_names_of_a_report_break_at_options_and_stay_on_a_phone(driver: Any, tmp_path: Path) -> None:
    label = "dp-ie-gaussian:epsilon=100.0,calibration=sound"
    place = "file:path=/home/somebody/data/customer/reviews-of-the-year-2026.csv,text=review,label=stars"
    records = [
        attack_record("none", "unmix", [1.0] * 40, dataset=place),
        attack_record(label, "unmix", [1.0] * 40, dataset=place),
    ]
    (tmp_path / "page.html").write_text(report_page.render(Report(records, [], ["bench"])), encoding="utf-8")
    size = {"width": 390, "height": 800, "deviceScaleFactor": 1, "mobile": True}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    driver.get((tmp_path / "page.html").as_uri())
    assert driver.execute_script("return document.documentElement.scrollWidth") == 390
    heads = driver.execute_script("return [...document.querySelectorAll('tbody th')].map(h => h.innerHTML)")
    assert "dp-ie-gaussian:<wbr>epsilon=100.0,<wbr>calibration=sound" in heads
    # In one line each: a number is never broken.
    height = "const r = document.createRange(); const t = [...document.querySelectorAll('tbody th')]"
    height += ".flatMap(h => [...h.childNodes]).filter(n => n.textContent === 'epsilon=100.0,')[0]"
    assert driver.execute_script(f"{height}; r.selectNodeContents(t); return r.getClientRects().length") == 1
