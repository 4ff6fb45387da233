"""A report as files: HTML, Markdown, JSON, and PDF through a browser that is installed."""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from bench.errors import BenchError, UsageError
from bench.reporting import markdown, page
from bench.reporting.content import Report
from bench.reporting.figures import Figure, Sentence, plain
from bench.reporting.verdict import recommendation, verdict
from bench.system.files import atomic_write, write_text

ENDINGS = (".html", ".md", ".json", ".pdf")
# Browsers that print to PDF, by the names that they are installed under.
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
PRINT_SECONDS = 120


def check(paths: Iterable[Path]) -> None:
    """Before anything is run: endings, a folder that can be written to, a browser for PDF."""
    for path in paths:
        if path.suffix not in ENDINGS:
            raise UsageError(f"--out {path}: the name must end in {', '.join(ENDINGS)}")
        if path.is_dir():
            raise UsageError(f"--out {path} is a folder: give the name of a file")
        if path.suffix == ".pdf" and browser() is None:
            raise UsageError(
                f"--out {path}: PDF is printed by Chromium or Chrome, and neither is on PATH: write .html, and "
                "print it from a browser"
            )
        probe = path.with_name(f".{path.name}.writable")
        write_text(probe, "")
        probe.unlink(missing_ok=True)


def browser() -> str | None:
    return next((found for name in BROWSERS if (found := shutil.which(name))), None)


def write(report: Report, path: Path) -> None:
    if path.suffix == ".pdf":
        _print(page.render(report), path)
    elif path.suffix == ".json":
        write_text(path, json.dumps(to_dict(report), indent=1, ensure_ascii=False) + "\n")
    else:
        write_text(path, markdown.render(report) if path.suffix == ".md" else page.render(report))


def to_dict(report: Report) -> dict[str, Any]:
    """For programs: the sentences, each with the numbers in it and where they come from, and all findings."""
    found = report.findings
    return {
        "title": report.title,
        "verdict": [_sentence(one) for one in verdict(found)],
        "recommendation": [_sentence(one) for one in recommendation(found)],
        "defenses": [_plain(one) | {"holds": one.holds, "sound": one.sound} for one in found],
        "left_out": list(report.left_out),
        "command": list(report.command),
        "records": [record.id for record in report.records],
    }


def _sentence(sentence: Sentence) -> dict[str, Any]:
    return {"text": plain(sentence), "numbers": [vars(part) for part in sentence if isinstance(part, Figure)]}


def _plain(value: Any) -> Any:
    if isinstance(value, list):
        return [_plain(each) for each in value]
    return {key: _plain(each) for key, each in vars(value).items()} if hasattr(value, "__dict__") else value


def _print(html: str, path: Path) -> None:
    command = browser()
    assert command is not None
    with tempfile.TemporaryDirectory(prefix="hideseek-report-") as folder, atomic_write(path) as part:
        source, made = Path(folder) / "report.html", Path(folder) / "report.pdf"
        source.write_text(html, encoding="utf-8")
        words = [command, "--headless", "--disable-gpu", "--no-sandbox", f"--user-data-dir={folder}/profile"]
        words += ["--no-pdf-header-footer", f"--print-to-pdf={made}", source.as_uri()]
        try:
            subprocess.run(words, capture_output=True, timeout=PRINT_SECONDS, check=False)
        except (OSError, subprocess.TimeoutExpired) as error:
            raise BenchError(f"{path}: {command} did not print it ({error.__class__.__name__}): write .html") from error
        if not made.is_file():
            raise BenchError(f"{path}: {command} printed nothing: write .html, and print it from a browser")
        part.write_bytes(made.read_bytes())
