"""`python -m bench`, also from the root of a checkout that is not installed."""

import sys

from bench import ROOT

# `-m` puts the current folder first; in a checkout its datasets/ would shadow Hugging Face's `datasets`.
sys.path[:] = [p for p in sys.path if p not in ("", str(ROOT)) or "site-packages" in p]

from bench.cli.main import main  # noqa: E402

if __name__ == "__main__":
    sys.exit(main())
