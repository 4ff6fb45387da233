"""Packages that leaderboards/plugins.toml names, and how one is installed without any of its code being run.

    [packages]
    my-package = { version = "1.0.0", sha256 = ["…"] }

A name, an exact version, and the hashes of its wheels, as its index shows them: a line that says anything else, such as
an address, a folder or a repository, is refused.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from packaging.utils import InvalidName, canonicalize_name
from packaging.version import InvalidVersion, Version

from bench.errors import BenchError, UsageError
from bench.plugins.names import STARTUP

_SHA256 = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True)
class Package:
    name: str
    version: str
    sha256: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.name}=={self.version}"


def read(text: str, where: str) -> dict[str, Package]:
    """The packages of a plugins.toml, by name; UsageError says which line is none."""
    try:
        listed = tomllib.loads(text).get("packages", {})
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise UsageError(f"{where} is not TOML: {error}") from error
    if not isinstance(listed, dict):
        raise UsageError(f"{where}: packages is a table of name = version")
    found = [_package(name, given, where) for name, given in listed.items()]
    return {package.name: package for package in found}


def see_to(package: Package, folder: Path, *, install: bool) -> None:
    """See to it that a package is there: in this environment, or in `folder`."""
    try:
        if version(package.name) == package.version:
            return
    except PackageNotFoundError:
        pass
    if not install:
        raise UsageError(f"{package} of plugins.toml is not installed: install it, or add --install")
    if not package.sha256:
        raise UsageError(
            f"{package} of plugins.toml has no hash: write {package.name} = "
            f'{{ version = "{package.version}", sha256 = ["…"] }} with the hash that its index shows for the wheel'
        )
    # None of its code must run outside the sandbox: wheels only, since building runs code, and into a folder of its
    # own, where Python does not look for .pth files. What it needs besides must be here already.
    with tempfile.TemporaryDirectory() as place:
        wanted = Path(place, "wanted.txt")
        wanted.write_text(f"{package} {' '.join(f'--hash=sha256:{one}' for one in package.sha256)}\n", encoding="utf-8")
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--upgrade"]
        command += ["--require-hashes", "--no-deps", "--only-binary", ":all:", "--target", str(folder)]
        done = subprocess.run([*command, "-r", str(wanted)])
    if done.returncode:
        raise BenchError(f"refused: {package} cannot be installed from a wheel of that hash")
    if runs := next(_run_at_start(folder), None):
        shutil.rmtree(folder, ignore_errors=True)
        raise BenchError(f"refused: {package} brings {runs}, which Python runs when it starts")


def _package(name: str, given: Any, where: str) -> Package:
    given = {"version": given} if isinstance(given, str) else given
    if not isinstance(given, dict) or not {"version"} <= given.keys() <= {"version", "sha256"}:
        raise UsageError(f'{where}: {name[:60]!r} is not followed by {{ version = "1.0.0", sha256 = ["…"] }}')
    hashes = given.get("sha256", [])
    try:
        canonicalize_name(name, validate=True)
        exact = str(Version(given["version"]))
    except InvalidName as error:
        raise UsageError(f"{where}: {name[:60]!r} is not the name of a package on an index") from error
    except (InvalidVersion, TypeError) as error:
        said = f"{name} {str(given['version'])[:60]!r}"
        raise UsageError(f"{where}: {said} is not one exact version: no address, no range") from error
    if not isinstance(hashes, list) or not all(isinstance(one, str) and _SHA256.fullmatch(one) for one in hashes):
        raise UsageError(f"{where}: sha256 of {name} is a list of hashes, 64 digits and letters a to f each")
    return Package(name, exact, tuple(hashes))


def _run_at_start(folder: Path) -> Iterator[str]:
    for path in sorted(folder.glob("*")):
        if path.suffix == ".pth" or path.name.partition(".")[0] in STARTUP:
            yield path.name
