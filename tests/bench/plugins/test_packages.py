"""Lines of plugins.toml: a name, an exact version, hashes, no more; and nothing of a package runs on installation."""

from __future__ import annotations

import hashlib
import zipfile
from pathlib import Path

import pytest

from bench.errors import BenchError, UsageError
from bench.plugins import packages
from bench.plugins.packages import Package

HASH = "0" * 64


def read(line: str) -> dict[str, Package]:
    return packages.read(f"[packages]\n{line}\n", "plugins.toml")


def test_a_line_names_a_package_with_its_version_and_hashes() -> None:
    assert read('a-b = "1.0"') == {"a-b": Package("a-b", "1.0")}
    assert read(f'a = {{ version = "2", sha256 = ["{HASH}"] }}') == {"a": Package("a", "2", (HASH,))}
    assert packages.read("", "plugins.toml") == {}


@pytest.mark.parametrize(
    "line",
    [
        '"x @ https://example.org/x-1.0.tar.gz" = "1.0"',
        'x = "1.0 @ https://example.org/x.tar.gz"',
        'x = "@ git+https://example.org/x"',
        '"git+https://example.org/x" = "1.0"',
        '"./x" = "1.0"',
        '"x\\n--index-url=https://example.org" = "1.0"',
        'x = "1.0\\n-e ."',
        'x = "1.0 --no-binary :all:"',
        'x = ">=1.0"',
        'x = "1.*"',
        'x = ""',
        "x = 1.0",
        "x = []",
        'x = { url = "https://example.org/x" }',
        'x = { version = "1.0", url = "https://example.org/x" }',
        'x = { version = "1.0", sha256 = "0" }',
        'x = { version = "1.0", sha256 = ["sha256:0"] }',
        '"x[extra]" = "1.0"',
        '"-r" = "1.0"',
        "x = ",
    ],
)
def test_anything_else_is_refused_in_one_line(line: str) -> None:
    with pytest.raises(UsageError) as caught:
        read(line)
    assert str(caught.value).isprintable()
    assert str(caught.value).startswith("plugins.toml")


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "wheels"
    folder.mkdir()
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    return folder


def wheel(index: Path, name: str, *files: str) -> Package:
    """A wheel of these files, made by hand."""
    path = index / f"{name}-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for file in files:
            archive.writestr(file, "")
        archive.writestr(f"{name}-1.0.dist-info/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        archive.writestr(
            f"{name}-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        archive.writestr(f"{name}-1.0.dist-info/RECORD", "")
    return Package(name, "1.0", (hashlib.sha256(path.read_bytes()).hexdigest(),))


def test_a_wheel_of_the_right_hash_is_installed_and_no_other(index: Path, tmp_path: Path) -> None:
    good = wheel(index, "brought", "brought.py")
    folder = tmp_path / "packages"
    with pytest.raises(UsageError, match="is not installed: install it, or add --install"):
        packages.see_to(good, folder, install=False)
    with pytest.raises(UsageError, match="has no hash"):
        packages.see_to(Package("brought", "1.0"), folder, install=True)
    with pytest.raises(BenchError, match=r"refused: brought==1\.0 cannot be installed from a wheel of that hash"):
        packages.see_to(Package("brought", "1.0", (HASH,)), folder, install=True)
    assert not (folder / "brought.py").exists()
    packages.see_to(good, folder, install=True)
    assert (folder / "brought.py").exists()


def test_a_source_distribution_is_not_built(index: Path, tmp_path: Path) -> None:
    import io
    import tarfile

    marker = tmp_path / "built"
    code = f"import pathlib; pathlib.Path({str(marker)!r}).touch()".encode()
    path = index / "built-1.0.tar.gz"
    with tarfile.open(path, "w:gz") as archive:
        entry = tarfile.TarInfo("built-1.0/setup.py")
        entry.size = len(code)
        archive.addfile(entry, io.BytesIO(code))
    package = Package("built", "1.0", (hashlib.sha256(path.read_bytes()).hexdigest(),))
    with pytest.raises(BenchError, match="cannot be installed from a wheel"):
        packages.see_to(package, tmp_path / "packages", install=True)
    assert not marker.exists()


@pytest.mark.parametrize("file", ["sitecustomize.py", "usercustomize/__init__.py", "hook.pth"])
def test_what_python_would_run_when_it_starts_is_refused(index: Path, tmp_path: Path, file: str) -> None:
    package = wheel(index, "startup", "startup.py", file)
    with pytest.raises(BenchError, match=r"refused: startup==1\.0 brings .*, which Python runs when it starts"):
        packages.see_to(package, tmp_path / "packages", install=True)
    assert not (tmp_path / "packages").exists()
