"""`python .github/hashes.py > constraints-hashes.txt`: every package that CI installs, with the hash of its file.

Asks pip what it would install under constraints.txt on this machine and Python. To be run, after every change of
constraints.txt, on what CI runs on (Linux, Python 3.11): elsewhere other files are chosen. The setup action installs
from it with --require-hashes.
"""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

# PyPI's build of torch brings gigabytes of CUDA.
HEAD = "# Made by .github/hashes.py; do not edit.\n--extra-index-url https://download.pytorch.org/whl/cpu"
WANTED = ["-c", "constraints.txt", "-e", ".[offline,test]"]


def lines(report: dict[str, Any]) -> list[str]:
    """`name==version --hash=sha256:…` of every file in pip's report; this project itself has none."""
    found = []
    for package in report["install"]:
        source, about = package["download_info"], package["metadata"]
        if "archive_info" not in source:
            continue
        digest = source["archive_info"]["hashes"]["sha256"]
        found.append(f"{about['name'].lower()}=={about['version']} --hash=sha256:{digest}")
    return sorted(found)


def main() -> None:
    command = [sys.executable, "-m", "pip", "install", "--dry-run", "--ignore-installed", "--quiet", "--report", "-"]
    done = subprocess.run([*command, *WANTED], check=True, capture_output=True, text=True)
    print("\n".join([HEAD, *lines(json.loads(done.stdout))]))


if __name__ == "__main__":
    main()
