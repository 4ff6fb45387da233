"""Public corpora: chosen by the defense or by the data set, and never among the attacker's candidates."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

from tests.helpers.cli import TINY

Run = Callable[..., subprocess.CompletedProcess[str]]


def test_public_sentences_do_not_leak_into_the_corpus(bench: Run) -> None:
    args = ("--defense", "texthide", "--defense", "texthide-inter", "--attack", "rss", *TINY, "--json")
    intra, inter = json.loads(bench("run", *args).stdout)
    assert intra["public"] is None
    assert inter["public"]["name"] == "demo"
    assert inter["dataset"]["candidates"] == intra["dataset"]["candidates"] == 120


def test_a_public_corpus_can_be_named(bench: Run, tmp_path: Path) -> None:
    path = tmp_path / "lines.txt"
    path.write_text("\n".join(f"public sentence number {i}" for i in range(30)))
    done = bench("run", "--defense", f"texthide:public=file:{path}", "--attack", "rss", *TINY, "--json")
    (record,) = json.loads(done.stdout)
    assert record["status"] == "ok", record["error"]
    assert record["public"]["name"] == "file"


def test_a_data_set_that_names_no_public_corpus_says_what_to_do(bench: Run, tmp_path: Path) -> None:
    path = tmp_path / "mine.csv"
    path.write_text("text,label\n" + "\n".join(f"sentence number {i},{i % 2}" for i in range(150)))
    done = bench("run", "--defense", "texthide-inter", "--attack", "rss", "--dataset", f"file:{path}")
    assert done.returncode == 2
    assert "choose one with --public NAME" in done.stderr
    lent = bench(
        "run", "--defense", "texthide-inter", "--attack", "rss", "--dataset", f"file:{path}", "--public", "demo", *TINY
    )
    assert lent.returncode == 0, lent.stderr


def test_an_empty_public_corpus_is_one_line(bench: Run, tmp_path: Path) -> None:
    path = tmp_path / "lines.txt"
    path.write_text("\n\n")
    done = bench("run", "--defense", f"texthide:public=file:{path}", "--attack", "rss", *TINY)
    assert done.returncode == 1
    assert "at least 2 are needed" in done.stderr
    assert "Traceback" not in done.stderr
