"""The page in a real browser: suites of training, the chart, threat models as buttons, what can be copied."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from bench.board.render.page_data import CITATION
from tests.helpers.browser import Show, needs_browser, one, pause, press, shot
from tests.helpers.cli import ROOT

pytestmark = needs_browser


def attacks(driver: Any) -> set[str]:
    code = "return [...document.querySelectorAll('.flat tbody tr')].map(r => r.cells[1].innerText.trim())"
    return set(driver.execute_script(code))


@pytest.mark.parametrize(
    ("width", "height", "scheme"),
    [(1400, 900, "light"), (1400, 900, "dark"), (900, 900, "light"), (390, 844, "light"), (390, 844, "dark")],
)
def test_the_first_screen_says_what_is_strongest_what_to_trust_and_what_that_assumes(
    show: Show, width: int, height: int, scheme: str
) -> None:
    """Of the published board, without scrolling."""
    driver = show("published", width=width, height=height, scheme=scheme)
    said = [row.text for row in driver.find_elements("css selector", "#headline p")]
    assert [text.partition(".")[0] for text in said] == ["Strongest attack", "Which to trust", "What this assumes"]
    assert one(driver, "#headline").rect["y"] + one(driver, "#headline").rect["height"] <= height
    assert driver.execute_script("return document.documentElement.scrollWidth") <= width
    shot(driver, f"headline-{width}-{scheme}")


def test_a_suite_of_training_has_a_view_of_its_own(show: Show) -> None:
    driver = show("trained", "#suite=utility")
    assert "3 defenses, trained" in one(driver, "#count").text
    rows = [row.text for row in driver.find_elements("css selector", "#results tbody tr")]
    assert [row.split()[0] for row in rows] == ["none", "mix-only", "texthide"]  # the most accurate first
    assert "0.400" in rows[0]
    one(driver, "[data-sort=defense]").click()
    again = [row.text.split()[0] for row in driver.find_elements("css selector", "#results tbody tr")]
    assert again == ["mix-only", "none", "texthide"]
    shot(driver, "training")


def test_threat_models_are_buttons_and_stand_in_the_address(show: Show) -> None:
    driver = show("trained", "#view=table&suite=")
    one(driver, "[data-preset=surface] [data-value=updates]").click()
    assert attacks(driver) == {"span"}
    assert "surface=updates" in driver.current_url
    one(driver, "[data-preset=surface] [data-value='']").click()
    one(driver, "[data-preset=knows] [data-value=part]").click()
    assert "1 of" in one(driver, "#count").text
    one(driver, "[data-preset=knows] [data-value=none]").click()
    assert "1 of" in one(driver, "#count").text
    one(driver, "[data-preset=holds] [data-value=stale]").click()
    assert "No cell fits" in one(driver, "#count").text
    one(driver, "[data-preset=knows] [data-value=list]").click()
    assert "1 of" in one(driver, "#count").text
    pressed = driver.find_elements("css selector", "#presets [aria-pressed=true]")
    assert [button.text for button in pressed] == ["a list of candidates", "an epoch older", "anything"]
    assert "holds=stale" in driver.current_url
    for who in ("initial", "pairs"):
        assert "1 of" in one(show("trained", f"#holds={who}&view=table&suite="), "#count").text
    current, whole = re.findall(r"\d+", one(show("trained", "#holds=current&view=table&suite="), "#count").text)[:2]
    assert int(current) == int(whole) - 3
    driver = show("trained", "#knows=nonsense&surface=updates&view=table&suite=")
    assert attacks(driver) == {"span"}


def test_tiers_are_not_shown_for_a_threat_model(show: Show) -> None:
    for asked in ("#knows=list", "#holds=current"):
        assert "Tiers are shown for a whole suite only" in one(show("small", asked), "#count").text


@pytest.mark.parametrize(("width", "scheme"), [(1400, "light"), (900, "dark"), (390, "light")])
def test_points_of_the_chart_can_be_hovered_reached_and_opened(show: Show, width: int, scheme: str) -> None:
    driver = show("small", "#view=chart", width=width, scheme=scheme)
    points = driver.find_elements("css selector", ".point")
    assert len(points) > 10
    assert driver.execute_script("return document.documentElement.scrollWidth") <= width
    driver.execute_script("document.querySelector('.point').focus()")
    told = one(driver, ".told").text
    assert told == points[0].get_attribute("aria-label")
    assert "leak" in told
    press(driver, "ENTER")
    assert one(driver, "dialog").is_displayed()
    press(driver, "ESCAPE")
    pause(driver)
    assert driver.execute_script("return document.activeElement.classList.contains('point')")
    shot(driver, f"chart-{width}")


def test_a_chart_of_nothing_says_so(show: Show) -> None:
    driver = show("empty", "#view=chart")
    assert "choose another suite" in one(driver, "#results").text


def test_the_chart_shows_what_strangers_wrote_as_text(show: Show) -> None:
    driver = show("hostile", "#view=chart")
    assert driver.find_elements("css selector", "#results img") == []


def test_link_and_citation_can_be_copied(show: Show) -> None:
    driver = show("small", "#view=table")
    for kind in ("link", "cite"):
        button = one(driver, f"[data-copy={kind}]")
        driver.execute_script("arguments[0].click()", button)
        pause(driver)
        assert button.text in ("Copied", "Selected")


def test_the_citation_is_that_of_the_project() -> None:
    cited = yaml.safe_load(Path(ROOT / "CITATION.cff").read_text())
    assert f"title = {{{cited['title']}}}" in CITATION
    assert f"version = {{{cited['version']}}}" in CITATION
    assert cited["authors"][0]["name"] in CITATION


def test_what_a_defense_promises_and_costs_stands_beside_its_worst_case(show: Show) -> None:
    driver = show("published")
    keys = driver.execute_script(
        "return [...document.querySelectorAll('.matrix')].map(t => [...t.querySelectorAll('thead [data-sort]')]"
        ".map(b => [b.dataset.sort, b.closest('th').getBoundingClientRect().right]))"
    )
    assert keys
    for heads in keys:
        names = [key for key, _ in heads]
        single = [key for key in names if key.startswith("attack:")]
        front = names[: -len(single)]
        assert names[-len(single) :] == single
        assert front[front.index("worst") + 1] == "utility"
        assert max(right for key, right in heads if key in front) <= 1400
    assert any("epsilon" in dict(heads) for heads in keys)


def test_a_tier_that_no_defense_shares_is_no_praise(show: Show) -> None:
    driver = show("published")
    rows = driver.execute_script(
        "return [...document.querySelectorAll('.matrix tbody tr')].map(r => [r.cells[0].innerText, "
        "r.querySelector('.tier').innerText, r.querySelector('.worst .number').innerText])"
    )
    fallen = [tier for name, tier, _ in rows if name.strip() == "texthide"]
    assert fallen
    assert all("as none" in tier for tier in fallen)
    assert not any("as none" in tier for name, tier, _ in rows if name.strip() == "none" or "epsilon=8" in name)


def test_a_model_that_learnt_nothing_is_called_that_on_the_board(show: Show) -> None:
    driver = show("published")
    cells = driver.execute_script("return [...document.querySelectorAll('.matrix td')].map(c => c.innerText)")
    learnt = [text for text in cells if "mcc" in text and "0.211" in text]
    assert all(("nothing learnt" in text) == text.startswith("0.000") for text in learnt)
    assert any("nothing learnt" in text for text in learnt)
