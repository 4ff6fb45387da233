"""`bench report` from end to end, on the demo's sentences and an encoder without weights."""

from __future__ import annotations

import json
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path

import pytest

import bench as hideseek
from bench.plugins.registry import Registry
from bench.reporting import steps
from bench.reporting.figures import look_up
from bench.reporting.steps import Subject
from bench.reporting.writing import browser
from bench.scheduling.tasks import AttackTask
from tests.helpers.cli import PLUGINS
from tests.helpers.processes import heed_ctrl_c

Run = Callable[..., subprocess.CompletedProcess[str]]
RECIPE = Path(__file__).parent / "recipe.toml"
SMALL = ("--dataset", "demo", "--encoder", "toy", "--plugin", str(PLUGINS / "toy.py"), "--steps", str(RECIPE))
# Numbers that are no results: the level of confidence, the exact cosine and "about ten" of the glossary and footnotes.
ALLOWED = {"95"}


class Numbers(HTMLParser):
    """The figures of a page, and the words around them."""

    def __init__(self, page: str):
        super().__init__()
        self.figures: list[dict[str, str]] = []
        self.words = ""
        self._inside: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in ("data", "svg", "style", "code", "head", "script", "span"):
            self._inside.append(tag)
        if tag == "data":
            self.figures.append({**{name: value or "" for name, value in attrs}, "text": ""})

    def handle_endtag(self, tag: str) -> None:
        if self._inside and self._inside[-1] == tag:
            self._inside.pop()

    def handle_data(self, data: str) -> None:
        if self._inside and self._inside[-1] == "data":
            self.figures[-1]["text"] += data
        elif not self._inside:
            self.words += data


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, warm_cache: None) -> Path:
    """The folder of a report, made once."""
    folder = tmp_path_factory.mktemp("made")
    paths = [folder / "report.html", folder / "report.json"]
    hideseek.report("demo", paths, encoder="toy", plugins=[PLUGINS / "toy.py"], steps=RECIPE, progress=False)
    return folder


@pytest.fixture
def reported(made: Path, tmp_path: Path) -> Path:
    """A copy of it to work on."""
    return Path(shutil.copytree(made, tmp_path / "made"))


def test_every_number_of_the_page_is_one_of_a_record(made: Path) -> None:
    records = {}
    for path in (made / "report-records").rglob("*.json"):
        content = json.loads(path.read_text())
        records[content["id"]] = content
    page = Numbers((made / "report.html").read_text())
    assert len(page.figures) > 20
    for one in page.figures:
        value = float(look_up(records[one["data-record"]], one["data-at"]))
        assert value == float(one["value"])
        assert _says(one["text"], value), one
    labels = {
        c[part]["label"] for c in records.values() for part in ("defense", "dataset", "encoder", "attack") if part in c
    }
    words = page.words
    for label in sorted(labels, key=len, reverse=True):
        words = words.replace(label, "")
    assert set(re.findall(r"\d+(?:[.,]\d+)*", words)) <= ALLOWED


def _says(text: str, value: float) -> bool:
    """Whether a text is that number, rounded."""
    if text == "over 99 %":
        return 0.99 < value < 1
    number = float(text.replace(",", "").removesuffix(" %").removesuffix(" s"))
    digits = len(text.partition(".")[2].removesuffix(" %").removesuffix(" s"))
    scale = 100 if text.endswith("%") else 1
    return abs(number - scale * value) <= max(0.51 * 10**-digits, 0.051 * abs(number) if scale * value < 1 else 0)


def test_the_same_command_again_takes_what_is_on_record(bench: Run, reported: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in (reported / "report-records").rglob("*.json")}
    page = (reported / "report.html").read_text().partition("<h2>Again")[0]
    out = ("--out", str(reported / "report.html"), "--out", str(reported / "report.json"))
    done = bench("report", *SMALL, *out)
    assert done.returncode == 0
    assert "about 0 s; the budget is 15 min" in done.stderr
    assert {path: path.stat().st_mtime_ns for path in (reported / "report-records").rglob("*.json")} == before
    assert (reported / "report.html").read_text().startswith(page)


@pytest.mark.slow
def test_ctrl_c_keeps_what_is_finished_and_the_same_command_goes_on(tmp_path: Path, warm_cache: None) -> None:
    command = [sys.executable, "-m", "bench", "report", *SMALL, "--out", str(tmp_path / "r.md")]
    begun = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, cwd=tmp_path, preexec_fn=heed_ctrl_c)
    assert begun.stderr is not None
    said = ""
    for line in begun.stderr:
        said += line
        if line.startswith("[1/"):
            begun.send_signal(signal.SIGINT)
            break
    said += begun.stderr.read()
    assert begun.wait() == 130
    assert "encoding 64 of them to see how fast this machine is\n3 steps: about " in said
    assert said.endswith("bench: interrupted: what is finished is saved; the same command goes on from there\n")
    assert not (tmp_path / "r.md").exists()
    before = {path: path.read_bytes() for path in (tmp_path / "r-records").glob("*.json")}
    assert before
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert re.search(r"[12] of 2 cells are on record", done.stderr)
    assert {path: path.read_bytes() for path in before} == before
    assert "## Verdict" in (tmp_path / "r.md").read_text()


def test_the_command_that_repeats_it_stands_on_the_page(made: Path) -> None:
    found = json.loads((made / "report.json").read_text())
    assert found["command"][:4] == ["bench", "report", "--dataset", "demo"]
    assert found["command"][4:6] == ["--out", str(made / "report.html")]
    assert "--encoder" in found["command"]
    assert "--budget" not in found["command"]
    assert set(found["records"]) == {path.stem.rpartition(".")[2] for path in (made / "report-records").rglob("*.json")}


def test_a_budget_leaves_steps_out_and_the_page_names_them(bench: Run, tmp_path: Path) -> None:
    done = bench("report", *SMALL, "--out", str(tmp_path / "r.md"), "--budget", "0.0001")
    assert done.returncode == 0, done.stderr
    assert "step 2 of 3, accuracy: left out" in done.stderr
    page = (tmp_path / "r.md").read_text()
    assert "bench: 2 steps were left out: the same command again goes on with what is missing" in done.stderr
    assert "## Not run" in page
    assert "- accuracy" in page
    assert "not measured" in page


@pytest.mark.parametrize(
    ("given", "said", "status"),
    [
        (("--dataset", "file:nowhere.csv"), "nowhere.csv: no such file", 1),
        (("--dataset", "file:few.csv"), "a report needs at least 100", 1),
        (("--dataset", "file:unlabelled.csv"), "has no label column; say which it is with label=NAME", 1),
        (("--dataset", "file:one.csv"), "has one class, 'good': there is nothing to learn", 1),
        (("--dataset", "file:names.csv"), "has 108 classes in 108 rows: is the label another column", 1),
        (("--dataset", "digits"), "holds images", 2),
        (("--dataset", "demmo"), "did you mean 'demo'?", 2),
        (("--dataset", "demo", "--out", "report.doc"), "must end in .html, .md, .json, .pdf", 2),
        (("--dataset", "demo", "--out", "/proc/report.html"), "cannot write", 1),
        (("--dataset", "demo", "--budget", "-1"), "minutes above 0", 2),
        (("--dataset", "demo", "--steps", "few.csv"), "no recipe of a report", 2),
        (("--dataset", "demo", "--steps", "wrong.toml"), "steps.0.attack.texts = -1", 2),
        (("--dataset", "demo", "--steps", "unknown.toml"), "unknown attack 'rsss'", 2),
    ],
)
def test_what_is_wrong_is_one_line_before_anything_is_run(
    bench: Run, tmp_path: Path, given: tuple[str, ...], said: str, status: int
) -> None:
    rows = "".join(f"sentence number {i},{i % 2}\n" for i in range(40))
    files = {
        "few.csv": "text,label\n" + rows,
        "unlabelled.csv": "text,stars\n" + rows,
        "one.csv": "text,label\n" + "".join(f"sentence number {i},good\n" for i in range(120)),
        "names.csv": "text,label\n" + "".join(f"sentence number {i},user{i}\n" for i in range(120)),
        "wrong.toml": '[[steps]]\ntitle = "x"\nkind = "attack"\ntexts = -1\n',
        "unknown.toml": '[[steps]]\ntitle = "x"\nkind = "attack"\ndefense = ["none"]\nattack = ["rsss"]\n',
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    words = [word.replace("file:", f"file:{tmp_path}/") if word.startswith("file:") else word for word in given]
    words = [str(tmp_path / word) if word in files else word for word in words]
    done = bench("report", *words)
    assert done.returncode == status, done.stderr
    assert said in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert not list(tmp_path.rglob("*-records/*.json"))


@pytest.mark.parametrize("rows", [100, 127, 180, 255, 3000])
def test_the_recommended_recipe_fits_data_of_every_size(rows: int) -> None:
    """Updates of 32 from a quarter of few rows: they are as full as the rows allow."""
    subject = Subject(Registry(), "demo", "minilm")
    found = [task.cell for step in steps.read(steps.RECOMMENDED, subject, rows) for task in step.tasks
             if isinstance(task, AttackTask)]  # fmt: skip
    batches = {(some.examples, size) for cell in found if (size := getattr(some := cell.protocol, "batch", None))}
    ((examples, batch),) = batches
    assert examples % batch == 0
    assert examples <= max(64, rows // 4)
    assert (examples, batch) == (64, 32) or rows < 256


def test_pdf_needs_a_browser_and_says_so_before_it_runs(bench: Run, tmp_path: Path) -> None:
    done = bench("report", *SMALL, "--out", str(tmp_path / "r.pdf"), env={"PATH": str(tmp_path)})
    assert done.returncode == 2
    assert "neither is on PATH: write .html" in done.stderr


@pytest.mark.skipif(browser() is None, reason="no browser that prints")
def test_pdf_is_printed(bench: Run, reported: Path) -> None:
    done = bench("report", *SMALL, "--results", str(reported / "report-records"), "--out", str(reported / "r.pdf"))
    assert done.returncode == 0, done.stderr
    assert (reported / "r.pdf").read_bytes().startswith(b"%PDF-")


def test_from_python(made: Path) -> None:
    found = hideseek.report(
        "demo", made / "again.md", results=made / "report-records", encoder="toy", plugins=[PLUGINS / "toy.py"],
        steps=RECIPE, progress=False,
    )  # fmt: skip
    assert found.markdown == (made / "again.md").read_text()
    assert found.html.startswith("<!DOCTYPE html>")
    assert "<iframe" in found._repr_html_()
    assert {record.status for record in found.records} == {"ok"}


def test_a_number_of_the_report_is_the_one_that_the_same_question_has_elsewhere(made: Path) -> None:
    """The very record: data, encoder, public corpus and seed are those of `bench utility` without further words."""
    reported = {path.stem.rpartition(".")[2] for path in (made / "report-records" / "utility").glob("*.json")}
    again = hideseek.utility(
        defense=["none", "dp-ie-gaussian:epsilon=8"], dataset="demo", encoder="toy", plugins=[PLUGINS / "toy.py"],
        out=made / "report-records", progress=False,
    )  # fmt: skip
    assert {record.id for record in again} == reported


@pytest.mark.parametrize(
    ("dataset", "public", "taken"),
    [("demo:label=sentiment", None, "demo"), ("file:mine.csv", None, "demo"), ("cola", None, "mnli"),
     ("cola", "imdb", "imdb")],
)  # fmt: skip
def test_the_public_corpus_is_the_one_that_the_data_set_names(dataset: str, public: str | None, taken: str) -> None:
    assert Subject(Registry(), dataset, "minilm", public).public_corpus == taken
