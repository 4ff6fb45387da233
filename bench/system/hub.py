"""Downloads from the Hugging Face hub, with one error that says what else to do where the hub cannot be reached."""

from __future__ import annotations

import socket
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import getproxies

from bench.errors import BenchError


def dataset_file(repository: str, name: str, *, what: str, otherwise: str) -> Path:
    """One file of a data set's repository, from the hub's own cache where it is there already.

    `what` and `otherwise` complete the error: what cannot be fetched, and what to do instead.
    """
    from huggingface_hub import hf_hub_download

    return _download(
        lambda: hf_hub_download(repository, name, repo_type="dataset", local_files_only=offline()), what, otherwise
    )


def model_folder(repository: str, patterns: Sequence[str], *, what: str, otherwise: str) -> Path:
    """A folder with the files of a model's repository that match `patterns`."""
    from huggingface_hub import snapshot_download

    return _download(
        lambda: snapshot_download(repository, allow_patterns=list(patterns), local_files_only=offline()),
        what,
        otherwise,
    )


def parquet_folder(repository: str, *, what: str, otherwise: str) -> Path:
    """A data set as the hub itself converts it: CONFIG/SPLIT/*.parquet, whatever form it was uploaded in."""
    from huggingface_hub import snapshot_download

    def download() -> str:
        return snapshot_download(
            repository,
            repo_type="dataset",
            revision="refs/convert/parquet",
            allow_patterns=["*.parquet"],
            local_files_only=offline(),
        )

    return _download(download, what, otherwise)


@lru_cache(maxsize=1)
def offline() -> bool:
    """Whether the hub's name has no address here. The library would ask for the file six times, half a minute in all.

    Behind a proxy the name need not have one: the proxy looks it up.
    """
    from huggingface_hub import constants

    if getproxies():
        return False
    try:
        socket.getaddrinfo(urlsplit(constants.ENDPOINT).hostname, None)
    except OSError:
        return True
    return False


def _download(download: Callable[[], str], what: str, otherwise: str) -> Path:
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError, LocalEntryNotFoundError

    try:
        return Path(download())
    except (HFValidationError, HfHubHTTPError, LocalEntryNotFoundError, OSError) as error:
        reason = type(error).__name__
        raise BenchError(f"cannot fetch {what} from the hub ({reason}): connect to it, {otherwise}") from error
