"""The first code in the sandbox: sets the limits, and only then lets Python find libraries and plugins.

Run as a file, `python -I -S -B start.py MEMORY_MIB FOLDERS MODULE ...`: isolated and without `site`, so that neither a
variable, nor a `.pth` file, nor a module called sitecustomize in a plugin's folder runs before the limits are set.
FOLDERS, a JSON list, is where plugins are that do not lie among the libraries. They come last, and `site` never looks
there.
"""

from __future__ import annotations

import importlib
import json
import os
import sys


def main() -> None:
    memory, folders, module, *rest = sys.argv[1:]
    # This project's own code alone; in a checkout its folder must not stay on the path, where its datasets/ would
    # shadow Hugging Face's `datasets`.
    sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
    limits = importlib.import_module("bench.isolation.limits")
    sys.path.pop(0)
    limits.restrict(int(memory), sealed=True)
    import site

    site.main()
    if beside := json.loads(folders):
        sys.path += beside
        # For processes that this one starts, such as those of `bench plugin check`: they have its limits already.
        os.environ["PYTHONPATH"] = os.pathsep.join(beside)
    sys.argv = [module, *rest]
    importlib.import_module(module).main()


if __name__ == "__main__":
    main()
