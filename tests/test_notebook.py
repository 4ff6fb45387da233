"""The notebook in examples/ runs from top to bottom, offline, and ends in a picture."""

from __future__ import annotations

import os
import time
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from tests.helpers.cli import ROOT

NOTEBOOK = ROOT / "examples" / "own-data.ipynb"


def code_cells(notebook: nbformat.NotebookNode) -> list[nbformat.NotebookNode]:
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def test_it_is_committed_without_outputs() -> None:
    for cell in code_cells(nbformat.read(NOTEBOOK, as_version=4)):
        assert cell.outputs == []
        assert cell.execution_count is None


@pytest.mark.slow
def test_it_runs_offline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(tmp_path))
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    before = time.perf_counter()
    where = {"metadata": {"path": str(tmp_path)}}
    NotebookClient(notebook, timeout=300, kernel_name="python3", resources=where).execute(env=dict(os.environ))
    seconds = time.perf_counter() - before
    shown = [output for cell in code_cells(notebook) for output in cell.outputs]
    html = "".join(output.data.get("text/html", "") for output in shown if "data" in output)
    assert "private examples among" in html, "the table is shown as one"
    assert "recall" in html
    progress = "".join(output.text for output in shown if output.get("name") == "stderr")
    assert "[12/12]" in progress + html  # lines, or a live view where ipywidgets is installed
    assert any("image/png" in output.data for output in shown if "data" in output)
    (picture,) = tmp_path.glob("hideseek-*/leak.png")
    assert picture.stat().st_size > 5000
    (plugin,) = tmp_path.glob("hideseek-*/results/plugins/magnitudes-*.py")
    assert "def centred" in plugin.read_text()
    # A minute alone on two cores; more here, because tests run side by side.
    assert seconds < 180
