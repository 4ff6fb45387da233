"""A Dask cluster whose members show each other certificates."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from bench.errors import BenchError, UsageError
from bench.scheduling import executors

pytest.importorskip("distributed")
pytestmark = pytest.mark.skipif(not shutil.which("openssl"), reason="openssl is not installed")


def made(folder: Path, name: str) -> tuple[str, str]:
    """A key with a certificate that is its own authority, as docs/scale-out.md makes it."""
    key, cert = folder / f"{name}.key", folder / f"{name}.crt"
    words = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=hideseek", "-keyout"]
    subprocess.run(["openssl", *words, str(key), "-out", str(cert)], check=True, capture_output=True)
    return str(cert), str(key)


def settings(cert: str, key: str) -> dict[str, str]:
    start = "DASK_DISTRIBUTED__COMM__"
    found = {f"{start}REQUIRE_ENCRYPTION": "true", f"{start}TLS__CA_FILE": cert}
    for part in ("SCHEDULER", "WORKER", "CLIENT"):
        found |= {f"{start}TLS__{part}__CERT": cert, f"{start}TLS__{part}__KEY": key}
    return found


@contextlib.contextmanager
def configured(env: dict[str, str]) -> Iterator[None]:
    import dask

    keys = {name.removeprefix("DASK_").lower().replace("__", ".").replace("_", "-"): name for name in env}
    with dask.config.set({key: env[name] for key, name in keys.items()}):
        yield


@contextlib.contextmanager
def cluster(env: dict[str, str]) -> Iterator[str]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    start = [sys.executable, "-m"]
    head = [*start, "distributed.cli.dask_scheduler", "--protocol", "tls", "--host", "127.0.0.1", "--port", str(port)]
    hand = [*start, "distributed.cli.dask_worker", f"tls://127.0.0.1:{port}", "--nthreads", "1", "--no-nanny"]
    running = []
    try:
        for words in (head, hand):
            running.append(
                subprocess.Popen([*words, "--no-dashboard"], env={**os.environ, **env}, stderr=subprocess.DEVNULL)
            )
        for _ in range(300):  # until it listens
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                break
            time.sleep(0.2)
        yield f"127.0.0.1:{port}"
    finally:
        for process in reversed(running):
            process.terminate()
            process.wait(20)


def double(number: int) -> int:
    return 2 * number


@pytest.mark.slow
def test_work_goes_to_who_holds_the_key_and_to_nobody_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mine, theirs = settings(*made(tmp_path, "mine")), settings(*made(tmp_path, "theirs"))
    with cluster(mine) as address:
        with configured(mine):
            monkeypatch.setattr("bench.scheduling.executors.dask.CONNECT_S", 60.0)
            executor = executors.create(f"dask+tls://{address}")
            executor.open(lambda: None)
            assert executor.submit(abs, -21).result(timeout=60) == 21
            executor.shutdown()
        monkeypatch.setattr("bench.scheduling.executors.dask.CONNECT_S", 3.0)
        with configured(theirs), pytest.raises(BenchError, match="no Dask scheduler answers at tls://"):
            executors.create(f"dask+tls://{address}").open(lambda: None)
        with pytest.raises(BenchError, match="no Dask scheduler answers at tcp://"):
            executors.create(f"dask://{address}").open(lambda: None)


def test_a_key_that_is_not_set_or_cannot_be_read_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="set DASK_DISTRIBUTED__COMM__TLS__CA_FILE, DASK_"):
        executors.create("dask+tls://127.0.0.1:1").open(lambda: None)
    gone = str(tmp_path / "gone")
    with configured(settings(gone, gone)), pytest.raises(UsageError, match="cannot be read"):
        executors.create("dask+tls://127.0.0.1:1").open(lambda: None)
