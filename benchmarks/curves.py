"""Figure 3 of TextHide from records: gradient distance, input and mask error over the iterations; and picture strips.

    python benchmarks/curves.py RECORD.json … [--out FOLDER]

For each record of `dlg` on pictures, FOLDER/NAME.png holds a panel for one success and one failure. Where the run kept
its answers (`bench run --details`), FOLDER/NAME.strip.png shows originals above what was recovered.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

LINES = {"distance": "gradient distance", "input_error": "error of the picture", "mask_error": "error of the mask"}
# Readable without colour.
STYLES = {"distance": "-", "input_error": "--", "mask_error": ":"}
# Pictures side by side in a strip.
WIDTH = 16


def name_of(record: dict[str, Any]) -> str:
    parts = (
        record["dataset"]["label"],
        record["encoder"]["label"],
        record["defense"]["label"],
        record["attack"]["label"],
    )
    return "-".join(parts).replace(":", "_").replace(",", "_")


def draw(record: dict[str, Any], path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    curves = record["details"]["curves"]
    figure, panels = plt.subplots(1, len(curves), figsize=(5 * len(curves), 3.4), squeeze=False, sharey=True)
    for panel, curve in zip(panels[0], curves, strict=True):
        for key, label in LINES.items():
            if key in curve:
                panel.loglog(curve["iteration"], np.maximum(curve[key], 1e-12), label=label, linestyle=STYLES[key])
        panel.set_title(f"{'success' if curve['success'] else 'failure'} (item {curve['item']})")
        panel.set_xlabel("iteration")
    panels[0][0].legend()
    figure.suptitle(f"{record['encoder']['label']}, {record['defense']['label']}")
    figure.tight_layout()
    figure.savefig(path, dpi=120)
    plt.close(figure)


def strip(answers: Path, path: Path) -> None:
    """Originals in the upper row, recovered pictures below; pixels outside [0, 1] are cut."""
    import matplotlib
    import pandas as pd

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    table = pd.read_parquet(answers)
    shape = tuple(table["shape"].iloc[0])
    rows = []
    for column in ("original", "recovered"):
        pictures = np.stack([np.asarray(value).reshape(shape) for value in table[column].iloc[:WIDTH]])
        rows.append(np.concatenate(list(pictures.transpose(0, 2, 3, 1)), axis=1))
    both = np.clip(np.concatenate(rows), 0, 1)
    both = both.repeat(4, 0).repeat(4, 1)
    plt.imsave(path, both if both.shape[2] == 3 else both[:, :, 0], cmap="gray", vmin=0, vmax=1)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("records", nargs="+", type=Path)
    parser.add_argument("--out", type=Path, default=Path())
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    made = 0
    for path in args.records:
        record = json.loads(path.read_text(encoding="utf-8"))
        name = f"{name_of(record)}.s{record['seed']}"
        if record["details"].get("curves"):
            draw(record, args.out / f"{name}.png")
            made += 1
        if (answers := path.with_suffix(".parquet")).exists():
            strip(answers, args.out / f"{name}.strip.png")
            made += 1
    if not made:
        print(
            "no curves and no answers in these records: run dlg on pictures, with --details for strips", file=sys.stderr
        )
    return 0 if made else 1


if __name__ == "__main__":
    raise SystemExit(main())
