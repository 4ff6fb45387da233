"""The page in a real browser: sorting, filters, shared addresses, the dialog, keyboard, phone, themes, speed."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.helpers.browser import Show, column, needs_browser, one, pause, press, shot
from tests.helpers.synthetic_board import HOSTILE_TEXT, hostile_board, synthetic_board

pytestmark = needs_browser


def leaks(driver: Any) -> list[float]:
    return [float(found[0]) for text in column(driver, 2) if (found := re.findall(r"\d\.\d{3}", text))]


def test_a_click_and_a_key_sort_the_table_and_say_so(show: Show) -> None:
    driver = show(state="#view=table")
    assert leaks(driver) == sorted(leaks(driver), reverse=True)
    assert one(driver, "th:has([data-sort=value])").get_attribute("aria-sort") == "descending"
    one(driver, "[data-sort=value]").click()
    assert one(driver, "th:has([data-sort=value])").get_attribute("aria-sort") == "ascending"
    assert leaks(driver) == sorted(leaks(driver))
    driver.execute_script("document.querySelector('[data-sort=attack]').focus()")
    press(driver, "ENTER")
    assert one(driver, "th:has([data-sort=attack])").get_attribute("aria-sort") == "ascending"
    assert one(driver, "th:has([data-sort=value])").get_attribute("aria-sort") == "none"
    assert column(driver, 1) == sorted(column(driver, 1))
    # The header was drawn anew, and still has the focus.
    assert driver.switch_to.active_element.get_attribute("data-sort") == "attack"
    press(driver, "SPACE")
    assert column(driver, 1) == sorted(column(driver, 1), reverse=True)


def test_the_board_sorts_by_any_attack_and_starts_with_what_hides_best(show: Show) -> None:
    driver = show()
    values = "return [...document.querySelector('.matrix').tBodies[0].rows].map(r => +r.querySelector(arguments[0])" \
        ".innerText.match(/\\d\\.\\d{3}/)[0])"  # fmt: skip
    worst = driver.execute_script(values, ".worst .number")
    assert worst == sorted(worst)
    assert one(driver, "th:has([data-sort=worst])").get_attribute("aria-sort") == "ascending"
    one(driver, "[data-sort='attack:rss']").click()
    rss = driver.execute_script(values, "[aria-label^='rss on'] .number")
    assert rss == sorted(rss, reverse=True)


def test_attacks_that_failed_are_counted_beside_the_worst_case(show: Show) -> None:
    driver = show()
    said = "return [...document.querySelectorAll('.matrix tbody tr')].filter(r => r.cells[0].textContent === " \
        "arguments[0]).map(r => r.querySelector('.worst').innerText)"  # fmt: skip
    assert all("1 of 6 attacks failed" in text for text in driver.execute_script(said, "none"))
    assert not any("failed" in text for text in driver.execute_script(said, "texthide"))
    assert one(driver, ".leak.none abbr").get_attribute("title").startswith("3 of 3 runs failed: ")
    driver = show(state="#attack=rep-recon")
    assert all("every attack" in text for text in driver.execute_script(said, "none"))


def test_missing_cells_that_could_not_be_counted_are_not_none(show: Show) -> None:
    said = one(show("unknown", state="#suite=smoke"), "#suite").text
    assert "What is missing is not known: its file is damaged." in said
    assert "not known" not in one(show("unknown", state="#suite=main"), "#suite").text


def test_stale_records_are_marked_with_the_component_that_changed(show: Show) -> None:
    driver = show("stale")
    sign = one(driver, "td:not(.worst) > [aria-label^='rss on none'] abbr[title^='stale']")
    assert sign.text == "↻"
    assert sign.get_attribute("title").startswith("stale records: attack, scoring changed: the code of the named")
    assert "3 of them stale" in one(driver, "#about").text
    one(driver, "td:not(.worst) > [aria-label^='rss on none']").click()
    assert "code has changed since: attack, scoring" in one(driver, "dialog[open]").text


def test_headers_marks_and_metrics_say_what_they_mean(show: Show) -> None:
    driver = show(state="#view=table")
    heads = "return [...document.querySelectorAll('.flat thead button')].map(b => b.title)"
    assert all(driver.execute_script(heads))
    assert "bootstrap" in one(show(), "[data-sort=tier]").get_attribute("title")
    assert all(driver.execute_script("return [...document.querySelectorAll('#legend li')].map(l => l.title)"))
    one(driver, "td:not(.worst) > [aria-label^='rss on none']").click()
    assert one(driver, "dialog [title*='first k answers']").text == "recall"


def test_filters_leave_what_fits(show: Show) -> None:
    from selenium.webdriver.support.select import Select

    driver = show(state="#view=table")
    Select(one(driver, "select[name=dataset]")).select_by_value("sst2")
    assert set(column(driver, 5)) == {"sst2"}
    assert "108 of 216 cells" in one(driver, "#count").text
    one(driver, "#sees input[value=gradients]").click()
    one(driver, "#sees input[value=oracle]").click()
    one(driver, "#sees input[value=defense]").click()
    assert "54 of 216 cells" in one(driver, "#count").text
    driver.execute_script("document.querySelector('.frame').scrollTop = 1e6")
    assert set(column(driver, 1)) == {"rss", "magnitude-search", "unmix"}
    Select(one(driver, "select[name=defense]")).select_by_value("texthide")
    assert {text.partition(":")[0] for text in column(driver, 0)} == {"texthide"}
    Select(one(driver, "select[name=defense]")).select_by_value("texthide:m=inf")
    assert set(column(driver, 0)) == {"texthide:m=inf"}
    one(driver, "button[type=reset]").click()
    assert "216 cells" in one(driver, "#count").text
    Select(one(driver, "select[name=suite]")).select_by_value("smoke")
    assert set(column(driver, 1)) == {"rss"}


def test_tiers_are_not_shown_for_a_part_of_the_attacks(show: Show) -> None:
    driver = show()
    assert driver.find_elements("css selector", "[data-sort=tier]")
    one(driver, "#sees input[value=labels]").click()
    assert not driver.find_elements("css selector", "[data-sort=tier]")
    assert "Tiers are shown for a whole suite only" in one(driver, "#count").text


def test_an_address_brings_back_what_was_seen(show: Show) -> None:
    driver = show(state="#view=table&dataset=cola&without=oracle%2Clabels&q=texthide&sort=-attack_s")
    assert one(driver, "select[name=dataset]").get_property("value") == "cola"
    assert not one(driver, "#sees input[value=oracle]").is_selected()
    assert one(driver, "#q").get_property("value") == "texthide"
    before, address = column(driver, 0), driver.current_url
    assert before
    assert all("texthide" in name for name in before)
    one(driver, "[data-sort=defense]").click()
    assert driver.current_url != address
    driver.get("about:blank")
    driver.get(address)
    assert column(driver, 0) == before
    driver.execute_script("location.hash = '#view=table&dataset=sst2'")
    pause(driver)
    assert set(column(driver, 5)) == {"sst2"}


def test_nonsense_in_the_address_does_no_harm(show: Show) -> None:
    driver = show(state="#view=%3Cimg%3E&suite=__proto__&sort=nothing&order=attack:nobody&cell=zzz&without=%00")
    assert "No cell fits" in one(driver, "#count").text


@pytest.mark.parametrize("view", ["board", "table"])
def test_a_board_without_cells_says_so(show: Show, view: str) -> None:
    assert "No cell fits" in one(show("empty", state=f"#view={view}"), "#count").text


def test_search_looks_at_ids_too(show: Show) -> None:
    wanted = synthetic_board().cells[7].ids[1]
    driver = show(state="#view=table")
    one(driver, "#q").send_keys(wanted)
    pause(driver, 300)
    assert len(column(driver, 0)) == 1


def test_enter_opens_a_cell_and_escape_gives_the_focus_back(show: Show) -> None:
    driver = show()
    cell = next(c for c in synthetic_board().cells if (c.attack, c.defense) == ("rss", "none"))
    driver.execute_script("document.querySelector(\"td:not(.worst) > [aria-label^='rss on none']\").focus()")
    focused = driver.switch_to.active_element
    press(driver, "ENTER")
    dialog = one(driver, "dialog[open]")
    said = dialog.text
    for part in (*cell.ids, cell.command, "TextHide table 3", "0.993", "corpus, encodings", "jaccard", "MiB"):
        assert part in said, part
    assert cell.samples[0].example in said
    assert driver.execute_script("return document.querySelector('dialog').contains(document.activeElement)")
    assert f"cell={cell.ids[0]}" in driver.current_url
    shot(driver, "dialog")
    press(driver, "ESCAPE")
    assert not driver.find_elements("css selector", "dialog[open]")
    pause(driver)
    assert driver.switch_to.active_element == focused
    assert "cell=" not in driver.current_url
    # From here the arrows walk the board.
    press(driver, "ARROW_LEFT")
    assert "on none" in driver.switch_to.active_element.get_attribute("aria-label")
    assert driver.switch_to.active_element != focused


def test_an_address_opens_a_cell_and_failures_are_told(show: Show) -> None:
    cell = next(c for c in synthetic_board().cells if c.failed)
    driver = show(state=f"#cell={cell.ids[0]}", scheme="dark")
    said = one(driver, "dialog[open]").text
    assert "every run of this cell failed" in said
    assert "took more than 3600 s: raise --timeout" in said
    shot(driver, "dialog-failed-dark")
    one(driver, ".close").click()
    assert not driver.find_elements("css selector", "dialog[open]")


def test_the_way_back_closes_a_cell_and_does_not_leave_the_page(show: Show) -> None:
    driver = show(state="#dataset=cola")
    one(driver, "td:not(.worst) > [aria-label^='rss on none']").click()
    one(driver, "dialog[open]")
    driver.back()
    pause(driver)
    assert not driver.find_elements("css selector", "dialog[open]")
    assert driver.current_url.endswith("#dataset=cola")
    driver.forward()
    pause(driver)
    assert "rss on none" in one(driver, "dialog[open]").text


def test_closing_a_cell_that_an_address_named_opens_no_other(show: Show) -> None:
    driver = show()
    one(driver, "td:not(.worst) > [aria-label^='rss on none']").click()
    driver.execute_script(f"location.hash = '#cell={synthetic_board().cells[0].ids[0]}'")
    pause(driver)
    one(driver, "dialog[open] .close").click()
    pause(driver)
    assert not driver.find_elements("css selector", "dialog[open]")
    assert "cell=" not in driver.current_url


def test_cells_that_share_a_record_have_addresses_of_their_own(show: Show) -> None:
    for suite, value in (("smoke", "0.777"), ("main", "0.111")):
        driver = show("shared", state=f"#suite={suite}")
        one(driver, "td:not(.worst) > [aria-label^='rss on none']").click()
        assert value in one(driver, "dialog[open] .headline").text
        address = driver.current_url
        driver.get("about:blank")
        driver.get(address)
        assert value in one(driver, "dialog[open] .headline").text


def test_what_the_arrows_reach_is_in_sight(show: Show) -> None:
    seen = """const at = document.activeElement.getBoundingClientRect();
        const row = document.activeElement.closest("tr").querySelector("th").getBoundingClientRect();
        return at.left >= row.right - 1 && at.right <= innerWidth + 1"""
    for width in (360, 900):
        driver = show(width=width, height=700)
        driver.execute_script("document.querySelector('.worst button').focus()")
        for key in ["ARROW_RIGHT"] * 5 + ["ARROW_LEFT"] * 5:
            press(driver, key)
            if driver.execute_script("return !document.activeElement.closest('.worst')"):
                assert driver.execute_script(seen), (width, key)


def test_a_cell_without_sentences_says_why(show: Show) -> None:
    cell = next(c for c in synthetic_board().cells if not c.samples)
    driver = show(state=f"#cell={cell.ids[0]}")
    assert "None was kept for these runs" in one(driver, "dialog[open]").text


def test_the_command_can_be_copied(show: Show) -> None:
    driver = show(state=f"#cell={synthetic_board().cells[0].ids[0]}")
    one(driver, ".copy").click()
    pause(driver)
    assert one(driver, ".copy").text in ("Copied", "Selected")


@pytest.mark.parametrize("state", ["", "#view=table", f"#cell={synthetic_board().cells[3].ids[0]}"])
def test_a_phone_shows_it_without_scrolling_sideways(show: Show, state: str) -> None:
    driver = show(state=state, width=360, height=740)
    driver.execute_script("document.getElementById('filters').open = true")
    assert driver.execute_script("return document.documentElement.scrollWidth") <= 360
    assert driver.execute_script("const d = document.querySelector('dialog'); return d.scrollWidth <= d.clientWidth")
    small = "return [...document.querySelectorAll('.frame button, #views button, select, #sees label')]" \
        ".filter(b => b.checkVisibility()).map(b => b.getBoundingClientRect().height).filter(h => h < 40)"  # fmt: skip
    assert driver.execute_script(small) == []
    # The first column stays while the others move.
    move = (
        "const f = document.querySelector('.frame'); f.scrollLeft = 200;"
        "return f.querySelector('tbody th').getBoundingClientRect().left"
    )
    assert driver.execute_script(move) <= 1
    driver.execute_script(
        "document.getElementById('filters').open = false; document.querySelector('.frame').scrollLeft = 0"
    )
    shot(driver, "phone" + re.sub(r"\W|\d", "", state)[:9])


def luminance(colour: str) -> float:
    parts = [float(v) / 255 for v in re.findall(r"[\d.]+", colour)[:3]]
    linear = [v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


PAIRS = """
const ground = (node) => { for (; node; node = node.parentElement) {
  const c = getComputedStyle(node).backgroundColor; if (!c.endsWith(', 0)') && c !== 'transparent') return c; } };
return [...document.querySelectorAll('body *')].filter((n) => n.checkVisibility() &&
  [...n.childNodes].some((c) => c.nodeType === 3 && c.data.trim())).map((n) =>
  [getComputedStyle(n).color, ground(n), n.tagName + '.' + n.className]);
"""


def test_both_themes_can_be_read_and_the_switch_is_remembered(show: Show) -> None:
    grounds = []
    for scheme in ("light", "dark"):
        driver = show(scheme=scheme)
        grounds.append(driver.execute_script("return getComputedStyle(document.body).backgroundColor"))
        for state in ("board", "table"):
            one(driver, f"[data-view={state}]").click()
            pairs = {tuple(pair) for pair in driver.execute_script(PAIRS)}
            assert len(pairs) > 8
            faint = [pair for pair in pairs if contrast(pair[0], pair[1]) < 4.5]
            assert faint == [], scheme
        one(driver, "[data-view=board]").click()
        shot(driver, f"desktop-{scheme}")
    assert grounds[0] != grounds[1]
    assert luminance(grounds[0]) > 0.8 > 0.1 > luminance(grounds[1])
    one(driver, "#theme").click()
    assert driver.execute_script("return getComputedStyle(document.body).backgroundColor") == grounds[0]
    assert show(scheme="dark").execute_script("return getComputedStyle(document.body).backgroundColor") == grounds[0]


def test_what_strangers_wrote_is_shown_and_not_run(show: Show) -> None:
    made = hostile_board()
    driver = show("hostile", state=f"#view=table&q=evil&cell={made.cells[0].ids[0]}")
    assert driver.find_elements("css selector", "main img, dialog img, body > img") == []
    assert len(driver.find_elements("css selector", "script")) == 2
    # Asked inside the browser: half a surrogate pair does not survive the way here.
    holds = "return document.querySelector(arguments[0]).textContent.includes(arguments[1])"
    visible = HOSTILE_TEXT.split("\x07")[0]
    assert driver.execute_script(holds, "dialog", visible)
    press(driver, "ESCAPE")
    assert driver.execute_script(holds, ".flat", visible)
    one(driver, "[data-view=board]").click()
    assert driver.execute_script(holds, ".matrix", visible)


def test_five_thousand_rows_are_sorted_within_a_second(show: Show) -> None:
    driver = show("large", state="#view=table")
    clock = """
    const [key, done] = arguments; const start = performance.now();
    document.querySelector(`[data-sort="${key}"]`).click();
    requestAnimationFrame(() => setTimeout(() => done(performance.now() - start)));
    """
    first = driver.execute_async_script(clock, "defense")
    again = driver.execute_async_script(clock, "random")
    ready = driver.execute_script("return performance.getEntriesByType('navigation')[0].domContentLoadedEventEnd")
    print(f"\n5,000 rows: ready after {ready:.0f} ms, first sort {first:.0f} ms, second {again:.0f} ms")
    assert first < 1000
    assert len(column(driver, 0)) < 500
    driver.execute_script("document.querySelector('.frame').scrollTop = 1e6")
    pause(driver, 300)
    assert len(column(driver, 0)) >= 160


def test_print_takes_every_row_and_no_controls(show: Show) -> None:
    driver = show("large", state="#view=table&dataset=data00")
    driver.execute_cdp_cmd("Page.printToPDF", {})
    assert len(column(driver, 0)) == 108
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})
    assert not one(driver, "#filters").is_displayed()
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": ""})
