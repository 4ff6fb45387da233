"""Where what was learnt about an encoder and a public corpus is kept, by all that it depends on."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import numpy as np

from bench import Floats

STORE = "decoders"


def digest(vectors: Floats | None, facts: Any) -> str:
    """Vectors of the public corpus stand for the encoder: another encoder, other vectors."""
    sha = hashlib.sha256(json.dumps(list(facts)).encode())
    if vectors is not None:
        sha.update(np.ascontiguousarray(vectors, dtype="<f4").tobytes())
    return sha.hexdigest()[:16]
