"""The sandbox for code that is not trusted: bubblewrap around an attack's process.

No network, no other processes, an empty environment, a read-only system, a private /tmp of limited size. Of this
machine the attack sees Python, the installed libraries, this project's code and its view; nothing of results, caches,
data sets, home folders, or of the rest of the repository. The first code that runs inside is bench.isolation.start.
"""

from __future__ import annotations

import importlib.util
import json
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterable, Mapping
from pathlib import Path

from bench import IN_CHECKOUT, ROOT
from bench.encoders.weights import OFFLINE_PACKAGE
from bench.errors import UsageError
from bench.isolation.limits import SCRATCH_BYTES, SHARED_BYTES
from bench.system.processor import kernel_variables
from bench.system.threads import PATIENT, thread_variables

VIEW = Path("/view")
SCRATCH = Path("/tmp")
# All that bubblewrap itself is told: its first process, whose environment the attack can read, keeps what it was given.
OUTSIDE = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8"}
# What a program needs to start and a numerical library to know the processor. Missing ones are left out.
SYSTEM = (
    *("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/nix/store", "/etc/localtime", "/etc/alternatives"),
    *("/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/sys/devices/system/cpu"),
)
CODE = ("setup.cfg", "bench", "attacks", "defenses")
# Sentences with their labels, pictures and weights that lie among the code. What an attack may see of them is in its
# view; here it would find them undeclared.
DATA = ("bench/datasets", "sklearn/datasets/data")
START = Path(__file__).resolve().parent / "start.py"
INSTALL = (
    "install bubblewrap (Debian and Ubuntu: apt-get install bubblewrap; Fedora: dnf install bubblewrap), or leave "
    "--sealed out for code that you trust"
)


def require() -> None:
    """Refuse, with what to do about it, where there is no sandbox to be had: never run without it in silence."""
    if sys.platform != "linux":
        raise UsageError(
            "--sealed needs Linux, where its sandbox (bubblewrap) runs: use a Linux machine or a virtual one, or leave "
            "--sealed out for code that you trust"
        )
    if shutil.which("bwrap") is None:
        raise UsageError(f"--sealed runs attacks in a bubblewrap sandbox, and there is no bwrap here: {INSTALL}")
    trial = [*_isolation(), *_shown(SYSTEM), "--remount-ro", "/", shutil.which("true") or "/bin/true"]
    done = subprocess.run(trial, capture_output=True, text=True, stdin=subprocess.DEVNULL, env=OUTSIDE)
    if done.returncode:
        said = (done.stderr.strip().splitlines() or [f"status {done.returncode}"])[-1]
        raise UsageError(
            f"--sealed needs bubblewrap, which cannot make its namespaces here ({said}): allow unprivileged user "
            "namespaces (sysctl kernel.unprivileged_userns_clone=1; in a container, run it with a profile that lets "
            "them be made), or leave --sealed out for code that you trust"
        )


def command(
    folder: Path,
    needed: Iterable[Path],
    environment: Mapping[str, str],
    inner: list[str],
    memory_mib: int,
    *,
    blind: bool = True,
) -> list[str]:
    """`main()` of the module `inner[0]` behind the wall, with the rest of `inner` as its arguments.

    The view is at VIEW, and `needed` are paths it must see besides the system's own. `blind`: without the data and
    weights that lie among the code. To be started with OUTSIDE as its environment.
    """
    needed = list(needed)
    shown = [*SYSTEM, *_python()]
    if IN_CHECKOUT:
        shown += [str(ROOT / name) for name in (*CODE, *(() if blind else ("datasets",)))]
    hidden = _data() if blind else []
    # Files in memory count against its limit; the size binds at once, where the watchdog only looks now and then.
    scratch = min(SCRATCH_BYTES, memory_mib << 20) if memory_mib else SCRATCH_BYTES
    devices = [str(path) for path in sorted(Path("/dev").glob("nvidia*"))]
    variables = [word for name, value in environment.items() for word in ("--setenv", name, value)]
    return [
        *_isolation(),
        *_tmpfs(scratch, "/tmp"),
        *_tmpfs(SHARED_BYTES, "/dev/shm"),
        *(word for path in devices for word in ("--dev-bind-try", path, path)),
        *_shown(shown),
        *("--remount-ro", "/dev"),  # its own file system has no size; /dev/shm is another, which has
        *(word for path in hidden for word in _tmpfs(4096, path)),
        *_shown(map(str, needed)),  # after that: weights that are granted lie where others are hidden
        *("--ro-bind", str(folder), str(VIEW)),
        *(word for path in (*hidden, "/") for word in ("--remount-ro", path)),
        *("--chdir", str(Path(__file__).resolve().parents[2])),
        *variables,
        *(sys.executable, "-I", "-S", "-B", str(START), str(memory_mib), json.dumps(_beside(needed)), *inner),
    ]


def environment(threads: int | None) -> dict[str, str]:
    """All that the attack is told of the world outside."""
    found = {
        "PATH": "/usr/bin:/bin",
        "HOME": str(SCRATCH),
        "LANG": "C.UTF-8",
        "USER": "attack",  # libraries ask who they are; there is no /etc/passwd to answer
        "BENCH_CACHE_DIR": str(SCRATCH / "cache"),
        "HF_HUB_OFFLINE": "1",
        "PYTHONDONTWRITEBYTECODE": "1",  # for processes that the first one starts; it has a flag
    }
    return found | PATIENT | thread_variables(threads) | kernel_variables()


def files_of(module: str) -> list[Path]:
    """The file of a file plugin, or the package of an installed one: it may lie anywhere, as when installed with -e."""
    if module.endswith(".py"):
        return [Path(module)]
    top = module.split(".")[0]
    spec = importlib.util.find_spec(top)
    if top == "bench" or spec is None:
        return []
    if spec.submodule_search_locations:
        return [Path(place) for place in spec.submodule_search_locations]
    return [Path(spec.origin)] if spec.origin else []


def _data() -> list[str]:
    """Folders among the libraries whose content is hidden."""
    homes = [path for path in _python() if Path(path).name in ("site-packages", "dist-packages")]
    return [str(place) for home in homes for name in (*DATA, OFFLINE_PACKAGE) if (place := Path(home, name)).is_dir()]


def _beside(needed: Iterable[Path]) -> list[str]:
    """Where Python must look for plugins that are not among the libraries, such as packages installed with -e."""
    folders = {str(place) for path in needed for place in (path, path.parent)} & set(sys.path)
    return sorted(folder for folder in folders if Path(folder).name not in ("site-packages", "dist-packages"))


def _isolation() -> list[str]:
    # The order matters to bwrap: what comes later lies on top.
    return [
        *(
            shutil.which("bwrap") or "bwrap",
            "--unshare-all",
            "--unshare-user",
            "--disable-userns",
            "--die-with-parent",
            "--new-session",
        ),
        *("--cap-drop", "ALL", "--clearenv", "--hostname", "sealed", "--proc", "/proc", "--dev", "/dev"),
    ]


def _tmpfs(size: int, path: str) -> list[str]:
    return ["--size", str(size), "--tmpfs", path]


def _shown(paths: Iterable[str]) -> list[str]:
    return [word for path in dict.fromkeys(paths) for word in ("--ro-bind-try", path, path)]


def _python() -> list[str]:
    """The interpreter and its libraries; of other entries of sys.path, which may be anything, nothing."""
    homes = [sys.prefix, sys.base_prefix, sysconfig.get_path("stdlib"), sysconfig.get_path("purelib")]
    libraries = [path for path in sys.path if Path(path).name in ("site-packages", "dist-packages")]
    return [path for path in (*homes, *libraries) if Path(path) != Path("/")]
