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
from tests.helpers.rounds import write_sentences
from tests.helpers.tiny_models import save_tiny

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
    assert "Warning" not in done.stderr


def test_a_suite_of_attacks_is_not_one_of_audits(bench: Run) -> None:
    done = bench("audit", "--suite", "smoke")
    assert done.returncode == 2
    assert "is a key of suites for `bench run --suite`, which is how to run this one" in done.stderr


@pytest.fixture
def tiny(tmp_path: Path) -> tuple[str, ...]:
    """A tiny transformer and sentences of its words: what updates are made of."""
    save_tiny(tmp_path / "bert", initializer_range=0.4)
    (tmp_path / "data").mkdir()
    data = write_sentences(tmp_path / "data")
    return ("--encoder", f"hub:{tmp_path / 'bert'}", "--dataset", data, "--no-progress")


def test_updates_are_audited_and_on_record(bench: Run, tiny: tuple[str, ...]) -> None:
    """A defense of updates is put to the game of updates, any other one where it is asked for."""
    done = bench("audit", "--defense", "dp-sgd:noise=2,delta=0.05", *tiny, "--trials", "2000", "--json")
    assert done.returncode == 0, done.stderr
    (plain,) = json.loads(done.stdout)
    assert plain["protocol"] == {"game": "updates", "examples": 1, "epochs": 1, "trials": 2000, "delta": None}
    assert plain["claimed"] == plain["actual"] == plain["notes"]["accounted"]["epsilon"]
    assert 0.5 * plain["claimed"] < plain["audited"] <= plain["claimed"]
    assert plain["verdict"] == "consistent"
    assert plain["details"]["shared"] == "all"
    behind = bench(
        "audit", "--defense", "dp-sgd:of=texthide/k=2,noise=4,delta=0.05", *tiny, "--trials", "100", "--json"
    )
    (mixed,) = json.loads(behind.stdout)
    assert mixed["protocol"]["examples"] == 2
    assert mixed["claimed"] == plain["claimed"]  # an example enters two items, under twice the noise
    assert mixed["audited"] <= mixed["claimed"]
    assert mixed["details"]["shared"] == "head"
    bare = bench("audit", "--defense", "texthide:k=2", "--game", "updates", *tiny, "--trials", "100", "--json")
    (masked,) = json.loads(bare.stdout)
    assert masked["claimed"] is None
    assert masked["audited"] > 0.9 * masked["ceiling"]
    assert "--game updates" in bench("show", plain["id"]).stdout
    replayed = bench("records", "replay", "--results", "results", "--sample", "3")
    assert replayed.stdout.count("reproduced: bit for bit") == 3, replayed.stdout


def test_rounds_of_an_audit_are_those_that_the_claim_is_for(bench: Run, tiny: tuple[str, ...]) -> None:
    some = ("--trials", "100", "--json", *tiny)
    four = json.loads(bench("audit", "--defense", "dp-sgd:noise=4,rounds=4", *some).stdout)
    named = json.loads(bench("audit", "--defense", "dp-sgd:noise=4", "--epochs", "4", *some).stdout)
    one = json.loads(bench("audit", "--defense", "dp-sgd:noise=2", *some).stdout)
    assert four[0]["protocol"]["epochs"] == 4
    assert four[0]["claimed"] == named[0]["claimed"] == one[0]["claimed"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--defense", "odd-claim-of-updates"), "claims ε = inf: no experiment can refute that; give it a finite ε"),
        (("--defense", "odd-claim-of-updates:claim=bare"), "claims ε = 1 without a δ: its notes need nominal.delta"),
        (("--defense", "dp-sgd", "--delta", "1e-3"), "claims its ε at δ = 1e-05; leave --delta out"),
        (("--defense", "dp-sgd:noise=inf"), "what is sent is not finite"),
        (("--defense", "dp-sgd:clip=1e30"), "what is sent is not finite"),
        (("--defense", "dp-sgd", "--examples", "500"), "different examples: lower --examples"),
        (("--defense", "release-once", "--game", "updates", "--public", "demo"), "take --training frozen"),
        (("--defense", "none", "--game", "updates", *TOY[:2]), "has no folder of weights, so it has no updates"),
    ],
)
def test_updates_that_cannot_be_audited(bench: Run, tiny: tuple[str, ...], words: tuple[str, ...], said: str) -> None:
    done = bench("audit", *tiny, *ODD, *TOY[2:], *words, "--trials", "100")
    assert done.returncode in (1, 2), done.stderr + done.stdout
    assert said in (done.stdout + done.stderr).replace("\n", " ")
    assert "Traceback" not in done.stderr
    assert "Warning" not in done.stderr
