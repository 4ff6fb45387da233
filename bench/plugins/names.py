"""What plugins, their options and their modules may be called.

The name of a plugin becomes part of the names of files, of lines on a terminal and of tables, so that it may hold
nothing that means something there: no `/`, no line break, no escape code.
"""

from __future__ import annotations

import re

from bench.errors import UsageError
from bench.system.text import printable

# Four of them, a seed and an id make the name of a record's file, which may have 255 letters.
LONGEST = 40
OPTIONS = 64
# Letters of a summary, of the default of an option as it is listed, and of what a package says of itself.
SHOWN = 300
# Python imports these by itself when it starts, from wherever it finds them.
STARTUP = ("sitecustomize", "usercustomize")
_NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
# ASCII: Python takes "ſelf" for "self".
_OPTION = re.compile(r"[A-Za-z][A-Za-z0-9_]*")


def is_name(name: object) -> bool:
    return isinstance(name, str) and len(name) <= LONGEST and _NAME.fullmatch(name) is not None


def is_option(name: object) -> bool:
    return isinstance(name, str) and len(name) <= LONGEST and _OPTION.fullmatch(name) is not None


def why_not(name: object, kind: str) -> str:
    """What is wrong with a name, in one line."""
    said = repr(str(name)[:LONGEST])
    rule = f"use small letters, digits and single hyphens, as in my-{kind}"
    return f"{said} cannot be a name: {rule}; at most {LONGEST} letters"


def check(name: object, kind: str) -> None:
    if not is_name(name):
        raise UsageError(why_not(name, kind))


def stand_in(name: object) -> str:
    """What to list a plugin by whose name cannot be one; it is nobody's name, because of the question mark."""
    return "?" + re.sub(r"[^a-z0-9-]", "?", str(name)[: LONGEST - 1])


def cut(text: object) -> str:
    """Text of a stranger, fit for one line of a list."""
    return printable(str(text)[:SHOWN])
