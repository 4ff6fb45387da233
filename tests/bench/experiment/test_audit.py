"""`bench audit` from end to end: records, and one line for whatever is wrong."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

import bench as hideseek
from bench.records import store
from bench.records.model import AuditRecord
from tests.helpers.cli import PLUGINS

Run = Callable[..., subprocess.CompletedProcess[str]]
TOY = ("--encoder", "toy:dim=16", "--plugin", str(PLUGINS / "toy.py"))
ODD = ("--plugin", str(PLUGINS / "audited.py"))
SMALL = ("--epochs", "4", "--trials", "400", "--canaries", "100")


def test_a_false_claim_is_refuted_and_on_record(bench: Run, tmp_path: Path) -> None:
    args = ("audit", "--defense", "dp-ie-laplace:epsilon=2,k=1", "--defense", "texthide:k=2", *TOY, *SMALL)
    done = bench(*args, "--json")
    assert done.returncode == 0, done.stderr
    found = {(r["defense"]["name"], r["protocol"]["game"]): r for r in json.loads(done.stdout)}
    assert len(found) == 4
    noisy = found["dp-ie-laplace", "pair"]
    assert noisy["claimed"] == 2.0
    assert noisy["actual"] == pytest.approx(2 * 4 * 16**0.5)  # four epochs, √d
    assert noisy["claimed"] < noisy["audited"] <= min(noisy["actual"], noisy["ceiling"])
    assert noisy["verdict"] == "refuted"
    assert noisy["delta"] == 0.0
    masked = found["texthide", "pair"]
    assert masked["claimed"] is None
    assert masked["verdict"] == "vacuous"
    assert masked["delta"] == 1e-5
    assert found["texthide", "canaries"]["audited"] > 2
    # From the record, not played again; and it verifies.
    again = bench(*args)
    assert "4 of 4 audits are on record" in again.stderr
    assert "refuted" in again.stdout
    verified = bench("records", "verify", "--results", "results", "--plugin", str(PLUGINS / "toy.py"))
    assert "4 records: 4 current" in verified.stdout, verified.stdout
    assert "repeat  bench audit --defense dp-ie-laplace" in bench("show", noisy["id"]).stdout
    boards = bench("leaderboard", "--results", "results", "--out", "board", "--plugin", str(PLUGINS / "toy.py"))
    assert boards.returncode == 0, boards.stderr
    assert "refuted 1/1" in (tmp_path / "home/board/boards/adhoc.md").read_text()
    assert (tmp_path / "home/board/pictures/audits.svg").exists()
    assert "refuted" in (tmp_path / "home/board/boards/adhoc.audits.csv").read_text()


def test_an_audit_repeats_bit_for_bit(bench: Run) -> None:
    assert bench("audit", "--defense", "texthide:k=2", "--game", "canaries", *TOY, *SMALL).returncode == 0
    done = bench("records", "replay", "--results", "results", "--sample", "1", "--plugin", str(PLUGINS / "toy.py"))
    assert "reproduced: bit for bit" in done.stdout


def test_audits_from_python(tmp_path: Path) -> None:
    results = hideseek.audit(
        defense="dp-ie-gaussian:k=1",
        encoder="toy:dim=16",
        game="pair",
        epochs=2,
        trials=100,
        plugins=[PLUGINS / "toy.py"],
        out=tmp_path,
        progress=False,
    )
    (record,) = results
    assert isinstance(record, AuditRecord)
    assert record.protocol.examples == 1
    assert store.read_all(tmp_path) == [record]
    assert set(results.to_dataframe().metric) == {"claimed", "actual", "audited"}
    # A verdict that its numbers do not give is no record.
    forged = tmp_path / "audit" / "forged.json"
    forged.write_text(json.dumps({**record.to_dict(), "verdict": "vacuous"}))
    from bench.experiment.integrity import check_folder

    said = [problem.said for problem in check_folder(tmp_path, {forged: store.parse(forged)})]
    assert any("is not that of its numbers" in line for line in said)


@pytest.mark.parametrize(
    ("words", "said", "code"),
    [
        (("--defense", "odd-claim"), "claims ε = inf: no experiment can refute that; give it a finite ε", 1),
        (("--defense", "odd-claim:claim=bare"), "claims ε = 1 without a δ: its notes need nominal.delta", 1),
        (("--defense", "dp-ie-gaussian", "--delta", "1e-3"), "claims its ε at δ = 1e-05; leave --delta out", 1),
        (
            ("--defense", "none", "--game", "canaries", "--canaries", "3000"),
            "lower --canaries to 2,400",
            2,
        ),
        (("--defense", "none", "--game", "pear"), "pair", 2),
        (("--defense", "none", "--trials", "3"), "--trials 3: at least 100 were expected", 2),
        (("--defense", "none", "--delta", "2"), "--delta 2.0: a probability below 1 was expected", 2),
    ],
)
def test_what_cannot_be_audited_is_said_in_one_line(bench: Run, words: tuple[str, ...], said: str, code: int) -> None:
    done = bench("audit", *words, *TOY, *ODD, "--epochs", "2", "--no-progress")
    assert done.returncode == code, done.stderr + done.stdout
    assert said in (done.stdout + done.stderr).replace("\n", " ")
    assert "Traceback" not in done.stderr


def test_a_suite_of_attacks_is_not_one_of_audits(bench: Run) -> None:
    done = bench("audit", "--suite", "smoke")
    assert done.returncode == 2
    assert "is a key of suites for `bench run --suite`, which is how to run this one" in done.stderr
