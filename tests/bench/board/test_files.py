from __future__ import annotations

import csv
import json
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from bench.board import files as board_files
from bench.board.render.markup import Table, escaped, markdown
from bench.errors import BenchError
from bench.records.model import AttackRecord, UtilityRecord
from tests.helpers.cli import PLUGINS, TINY
from tests.helpers.records import attack_record, budget, failed_record, utility_record, write_damaged, write_records

Run = Callable[..., subprocess.CompletedProcess[str]]
LEAK = np.arange(200) < 80


def texts(*records: AttackRecord, utility: tuple[UtilityRecord, ...] = ()) -> dict[str, str]:
    files = board_files.build(records, utility)
    return {name: content.decode() for name, content in files.items() if not name.endswith(".png")}


def published(folder: Path) -> Path:
    """A checkout in small: records to publish, and a README to put the summary into."""
    tag = {"main": 1}
    some = [
        attack_record(d, a, LEAK * (d == "none"), suites=tag) for d in ("none", "texthide") for a in ("rss", "unmix")
    ]
    write_records(
        folder / "leaderboards" / "records",
        *some,
        failed_record("mix-only", suites=tag),
        utility_record("none", 0.9, suites=tag),
    )
    (folder / "README.md").write_text("before\n<!-- board:start -->\nold\n<!-- board:end -->\nafter\n")
    return folder


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return published(tmp_path / "home")


def tree(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def test_from_a_run_to_the_tables(bench: Run, tmp_path: Path) -> None:
    args = ("--defense", "none", "--defense", "texthide", "--attack", "rss", "--attack", "raises", "--seed", "0", "1")
    assert bench("run", *args, *TINY, "--plugin", str(PLUGINS / "hostile.py")).returncode == 1
    done = bench("leaderboard", "--out", "board")
    assert done.returncode == 0, done.stderr
    text = (tmp_path / "home" / "board" / "boards" / "adhoc.md").read_text()
    assert "| rss<br>40 × 1, 120 candidates<br>recall |" in text
    (line,) = (row for row in text.splitlines() if row.startswith("| 2 | none |"))
    assert "| 1.000 [0.9" in line
    assert "✗ failed 2/2" in line
    assert text.count("the dog ate it") == 4
    rows = list(csv.DictReader((tmp_path / "home" / "board" / "boards" / "adhoc.csv").open()))
    ids = {json.loads(p.read_text())["id"] for p in (tmp_path / "home" / "results").glob("*.json")}
    assert {row["id"] for row in rows} == ids
    assert len(rows) == 8
    assert all(i[:10] in text for i in ids)


def test_deleted_files_come_back_byte_for_byte_and_check_names_what_is_wrong(bench: Run, home: Path) -> None:
    board = home / "leaderboards"
    missing = bench("leaderboard", "--check")
    assert missing.returncode == 1
    assert "leaderboards/boards/main.md is missing: run bench leaderboard" in missing.stderr
    assert not (board / "boards").exists()
    assert bench("leaderboard").returncode == 0
    before = tree(home)
    assert bench("leaderboard", "--check").returncode == 0
    shutil.rmtree(board / "boards")
    (board / "board.json").unlink()
    (board / "leaderboard.md").write_text("by hand")
    readme = (home / "README.md").read_text()
    (home / "README.md").write_text(readme.replace("0.400", "0.100"))
    (board / "leaderboard.csv").write_text("of an older version")
    done = bench("leaderboard", "--check")
    assert done.returncode == 1
    for said in (
        "leaderboard.md is not what",
        "README.md is not what",
        "board.json is missing",
        "leaderboard.csv is made",
    ):
        assert said in done.stderr
    (board / "leaderboard.csv").unlink()
    bench("leaderboard")
    assert tree(home) == before
    (board / "boards" / "gone.md").write_text("of a suite that is no more")
    for words in (["--check"], []):
        said = bench("leaderboard", *words).stderr
        assert said == "leaderboards/boards/gone.md is made from no record: delete it\n"


def test_the_readme_gets_a_summary_between_its_markers(bench: Run, home: Path) -> None:
    bench("leaderboard")
    text = (home / "README.md").read_text()
    assert text.startswith("before\n<!-- board:start -->\nEach cell: the share of private sentences")
    assert "the strongest attack finds (recall or success)" in text
    assert text.endswith("<!-- board:end -->\nafter\n")
    assert "| none |  | 0.400 [0.390, 0.410]<br>unmix, tier 2 |" in text
    assert "\nold\n" not in text
    (home / "README.md").write_text("no markers")
    done = bench("leaderboard")
    assert done.returncode == 0
    assert "README.md: no summary: the lines <!-- board:start -->" in done.stderr
    assert (home / "README.md").read_text() == "no markers"
    assert bench("leaderboard", "--check").returncode == 0


def test_the_order_in_which_records_come_does_not_matter() -> None:
    some = [attack_record(d, a, LEAK, seed=s, suites={"s": 1}) for d in "abc" for a in ("rss", "unmix") for s in (0, 1)]
    assert board_files.build(some) == board_files.build(some[::-1])


def test_a_table_has_the_worst_case_first_and_marks() -> None:
    weak = attack_record("texthide", "rss", LEAK * 0)
    strong = attack_record("texthide", "unmix", LEAK, notes=budget(1.0, 27.123))
    lines = texts(weak, strong, failed_record("texthide", seed=1))["boards/adhoc.md"].splitlines()
    (row,) = (line for line in lines if line.startswith("| 1 | texthide"))
    cells = [cell.strip() for cell in row.strip("|").split("|")]
    assert cells[2] == "1 → 27.12"
    assert cells[3] == "0.400 [0.390, 0.410]<br>unmix, 200 × 1, of 2 attacks"
    assert cells[4].startswith("0.000 [0.000, 0.010] ≈ ↑")
    assert "identity 0.000, theirs 0.000 (TextHide table 3a)" in cells[4]
    assert any(line.startswith("|  | sees |") and "corpus, encodings" in line for line in lines)


def test_the_summary_gives_the_epsilon_that_holds_for_the_strongest_attack_of_each_place() -> None:
    held = {"cola": 27.123, "sst2": 9021.6}
    some = [
        attack_record("a", "unmix", LEAK, dataset=d, suites={"main": 1}, notes=budget(8.0, e)) for d, e in held.items()
    ]
    (row,) = (line for line in texts(*some)["leaderboard.md"].splitlines() if line.startswith("| a |"))
    epsilon, first, second = (cell.strip() for cell in row.strip("|").split("|")[1:])
    assert epsilon == "8"
    assert first.endswith("<br>unmix, tier 1, actual ε 27.12")
    assert second.endswith("<br>unmix, tier 1, actual ε 9,022")


def test_a_worst_case_that_is_a_random_guess_says_so() -> None:
    hidden = attack_record("a", "rss", LEAK * 0, suites={"main": 1})
    files = texts(hidden, attack_record("b", "rss", LEAK, suites={"main": 1}))
    assert "| 0.000 [0.000, 0.010] ≈<br>rss, tier 1 |" in files["leaderboard.md"]
    assert "≈: no better than random guessing" in files["leaderboard.md"]
    assert "≈" not in next(line for line in files["leaderboard.md"].splitlines() if line.startswith("| b |"))
    assert "≈" not in texts(attack_record("b", "rss", LEAK, suites={"main": 1}))["leaderboard.md"]


def test_guessing_is_the_worst_case_only_where_nothing_is_better() -> None:
    chance = {"random": 0.2, "random_low": 0.1, "random_high": 0.45}
    lucky = attack_record("a", "xie-hong", LEAK, suites={"main": 1}, random=chance)
    real = attack_record("a", "rss", LEAK / 2, suites={"main": 1})
    (row,) = json.loads(texts(lucky, real)["board.json"])["defenses"]
    assert (row["worst"]["attack"], row["worst"]["at_random"]) == ("rss", False)
    (row,) = json.loads(texts(lucky)["board.json"])["defenses"]
    assert (row["worst"]["attack"], row["worst"]["at_random"]) == ("xie-hong", True)


def test_failures_stay_in_the_worst_case_and_in_the_summary() -> None:
    tag = {"main": 1}
    some = [
        attack_record("a", "unmix", LEAK, suites=tag),
        *(failed_record("a", "unmix", LEAK, seed=s, suites=tag) for s in (1, 2)),
    ]
    lost = [failed_record(d, "rss", LEAK, seed=s, suites=tag) for d in "ab" for s in (0, 1, 2)]
    files = texts(*some, *lost)
    rows = {row["defense"]: row for row in json.loads(files["board.json"])["defenses"]}
    assert (rows["a"]["attacks"], rows["a"]["attacks_failed"]) == (2, 1)
    assert (rows["a"]["worst"]["failed"], rows["a"]["worst"]["runs"]) == (2, 3)
    assert (rows["b"]["worst"], rows["b"]["attacks"], rows["b"]["attacks_failed"]) == (None, 1, 1)
    summary = files["../README.md"]
    assert "| a |  | 0.400 [0.390, 0.410] ✗ 2/3<br>unmix, tier 1, of 2 attacks, 1 failed |" in summary
    assert "| b |  | ✗ every attack failed |" in summary
    assert "✗: runs that failed" in summary
    table = files["boards/main.md"]
    assert "| 1 | a | 0.400 [0.390, 0.410] ✗ 2/3<br>unmix, 200 × 1, of 2 attacks, 1 failed |" in table
    assert "| – | b | ✗ every attack failed |" in table


def test_other_protocols_are_other_columns() -> None:
    half = attack_record(leak=LEAK, protocol={"coverage": 0.5})
    table = texts(attack_record(leak=LEAK), half)["boards/adhoc.md"]
    assert "| rss<br>200 × 1<br>recall | rss<br>200 × 1, coverage 0.5<br>recall |" in table


def test_theirs_and_ours_stand_side_by_side_and_missing_cells_are_said() -> None:
    table = texts(attack_record("texthide", leak=np.arange(1000) < 10, suites={"texthide-table3": 1}))[
        "boards/texthide-table3.md"
    ]
    assert "- 17 of 18 planned runs are not finished" in table
    assert "8 of 9 cells are missing here." in table
    assert (
        "| cola | minilm | texthide | rss | identity | 0.000 (0.000) | 0.010 [0.000, 0.020] (0.001), 1000 × 1 | "
        "TextHide table 3a, TextHide |" in table
    )
    assert "| sst2 |  | none | rss | identity | 0.992 (0.000) | not run | TextHide table 3b, baseline |" in table
    assert "| metric | theirs (random) | ours (random) | source |" in table
    assert "They fine-tune BERT" in table


def test_failures_stay_beside_what_the_papers_print_and_among_all_metrics() -> None:
    tag = {"texthide-table3": 1}
    lost = [failed_record("texthide", leak=LEAK, seed=s, suites=tag) for s in (0, 1, 2)]
    some = [attack_record("none", leak=LEAK, suites=tag), failed_record("none", leak=LEAK, seed=1, suites=tag)]
    table = texts(*lost, *some)["boards/texthide-table3.md"]
    assert "| cola | minilm | texthide | rss | identity | 0.000 (0.000) | –, 200 × 1, ✗ 3/3 |" in table
    assert "identity | 0.993 (0.000) | 0.400 [0.390, 0.410] (0.001), 200 × 1, ✗ 1/2 |" in table
    (row,) = (line for line in table.splitlines() if line.startswith("| none | rss | 200 × 1 |"))
    assert row.endswith("` ✗ 1/2 |")


def test_what_no_attack_reads_is_shown_by_the_one_furthest_above_guessing_and_the_largest_budget() -> None:
    chance = {"few": {"random": 0.0, "random_high": 0.01}, "many": {"random": 0.02, "random_high": 0.03}}
    few = attack_record("a", "rss", [0.002] * 9, random=chance["few"], notes=budget(8.0, 13.6))
    many = attack_record("a", "xie-hong", [0.02] * 9, epochs=50, random=chance["many"], notes=budget(8.0, 144.4))
    (row,) = json.loads(texts(few, many)["board.json"])["defenses"]
    assert (row["worst"]["attack"], row["epsilon"]["accounted"]) == ("rss", 144.4)
    # Where one does read something, it is what that one saw.
    recall = few.metrics["recall"].replace(low=0.5, value=0.6, high=0.7)
    read = few.replace(metrics={**few.metrics, "recall": recall})
    (row,) = json.loads(texts(read, many)["board.json"])["defenses"]
    assert (row["worst"]["attack"], row["epsilon"]["accounted"]) == ("rss", 13.6)


def test_samples_are_a_table_and_anybodys_text_is_harmless() -> None:
    sample = {"example": "A | <b>query</b> & 100%", "answer": "a_b", "right": False}
    made_of = texts(attack_record(leak=LEAK, samples=[sample]), failed_record("b", error="<script>\x07\ud800\n| x"))
    assert "| none | rss | A \\| &lt;b>query&lt;/b> & 100% | a_b | no |" in made_of["boards/adhoc.md"]
    unsaid = texts(attack_record(leak=LEAK, samples=[sample, {**sample, "answer": None}]))["boards/adhoc.md"]
    assert "query" not in unsaid
    assert "<script>" not in made_of["boards/adhoc.md"]
    assert "A | $<$b$>$query$<$/b$>$ \\& 100\\%" in made_of["boards/adhoc.tex"]
    assert "\\toprule" in made_of["boards/adhoc.tex"]
    assert escaped("50% of a_b → {ε} [x](y)") == "50\\% of a\\_b $\\to$ \\{$\\varepsilon$\\} x"


def test_markdown_of_strangers_stays_text() -> None:
    error = "![x](https://evil.example/p.png) [click](boards/../../x) **b** `a b` [1, 2](www.evil.example) &lt; \\| $x$"
    name = "mine:text=_[a]_"
    sample = {"example": "![q](//evil.example/q.png) snake_case", "answer": "__loud__", "right": False}
    made_of = texts(
        failed_record(name, error=error),
        attack_record("b", leak=LEAK, samples=[sample]),
        attack_record("b", name, LEAK),
    )
    table = made_of["boards/adhoc.md"]
    said = (
        r"!\[x\](https\://evil.example/p.png) \[click\](boards/../../x) \*\*b\*\* \`a b\` "
        r"\[1, 2\](www\.evil.example) &amp;lt; \\| \$x\$"
    )
    assert said in table
    assert r"| !\[q\](//evil.example/q.png) snake_case | \_\_loud\_\_ |" in table
    assert r"mine:text=\_\[a\]\_" in table
    # The board's own markup is as it was.
    assert re.search(r"seed 0 \(`\w{10}`\): ", table)
    assert "| 0.400 [0.390, 0.410]<br>" in table
    assert "| [adhoc](boards/adhoc.md) |" in made_of["leaderboard.md"]


@pytest.mark.parametrize(
    ("text", "row"),
    [
        ("a\\|b", "| a\\\\\\|b |"),  # a backslash of theirs must not free the bar
        ("[x](boards/../x.md)", "| \\[x\\](boards/../x.md) |"),
        ("``x` y", "| \\``x` y |"),
        ("# big", "| \\# big |"),
        ("[0.1, 0.2]: x", "| \\[0.1, 0.2\\]: x |"),
        ("0.5 [-0.1, 0.2] (0.3)", "| 0.5 [-0.1, 0.2] (0.3) |"),
    ],
)
def test_a_cell_of_a_table_is_one_line_of_text(text: str, row: str) -> None:
    assert markdown([Table(["h"], [[text]])]).splitlines()[-1] == row


def test_utility_has_tables_of_its_own() -> None:
    tag = {"texthide-table1": 1}
    trials = tuple(utility_record(d, v, suites=tag) for d, v in (("none", 0.9), ("texthide", 0.6)))
    files = texts(utility=trials)
    assert (
        "| texthide |  | accuracy | 5 | 0.600 | 0.900 | 0.500 | 0.917 ± 0.005 (TextHide table 1) |"
        in files["boards/texthide-table1.md"]
    )
    assert len(list(csv.DictReader(files["boards/texthide-table1.csv"].splitlines()))) == 2
    both = texts(attack_record(suites=tag), utility=trials)
    assert {"boards/texthide-table1.csv", "boards/texthide-table1.utility.csv"} <= both.keys()


def test_damaged_and_foreign_records_are_left_out_with_a_word(bench: Run, home: Path) -> None:
    folder = home / "leaderboards" / "records"
    bench("leaderboard", "--out", "one")
    (folder / "half.json").write_text('{"schema": 2, "id"')
    (folder / "list.json").write_text("[]")
    one, number = attack_record("x"), attack_record("x").metrics["recall"].to_dict()
    damaged = {
        "later": ({"schema": 3}, "a record of schema 3; this version reads 2"),
        "bare": ({"protocol": None}, "protocol"),
        "escaped": ({"suites": {"../../escaped": 1}}, "suites"),
        "flat": ({"metrics": {"recall": 0.5}}, "metrics.recall"),
        "odd": ({"outcomes": {"metric": "recall", "values": 7}}, "outcomes.values"),
        "when": ({"cost": {"ended": 3}}, "cost.ended"),
        "unsaid": ({"samples": [{"example": "q"}]}, "samples.0.answer"),
        "weird": ({"status": "weird"}, "status"),
        "many": ({"metrics": {"recall": {**number, "value": 7.5}}}, "metrics.recall"),
        "huge": ({"metrics": {"recall": {**number, "value": 10**400}}}, "metrics.recall"),
        "slow": ({"cost": {"attack_s": 1e301}}, "cost.attack_s"),
    }
    for name, (changes, _) in damaged.items():
        write_damaged(folder, name, one, **changes)
    write_damaged(folder / "utility", "cheap", utility_record("cheap", 0.9), majority={})
    done = bench("leaderboard", "--out", "two")
    assert done.returncode == 0
    said = {line.partition(".json: ")[0].rpartition("/")[2]: line for line in done.stderr.splitlines()}
    assert said.keys() == {"half", "list", "cheap", *damaged}
    assert "majority" in said["cheap"]
    for name, (_, expected) in damaged.items():
        assert expected in said[name], said[name]
    assert tree(home / "one") == tree(home / "two")
    # The tables are as the whole records have them, and yet numbers are gone: that is not in order.
    checked = bench("leaderboard", "--out", "two", "--check")
    assert checked.returncode == 1
    assert "leaderboards/records: 14 of the records cannot be used" in checked.stderr


def test_no_records_is_explained(bench: Run, tmp_path: Path) -> None:
    done = bench("leaderboard", "--results", "nowhere")
    assert done.returncode == 1
    assert "nowhere: no such folder; run some cells first" in done.stderr
    (tmp_path / "home" / "empty").mkdir()
    assert "no records to make tables from" in bench("leaderboard", "--results", "empty").stderr
    with pytest.raises(BenchError, match="no records"):
        board_files.build([])
