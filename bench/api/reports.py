"""`bench.report`: somebody's own data, a recommended set of defenses and attacks, one page for who has to decide."""

from __future__ import annotations

import inspect
import os
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.api.requests import listed
from bench.errors import UsageError
from bench.plugins.registry import Registry

if TYPE_CHECKING:
    from bench.records.model import Record
    from bench.reporting.content import Report

PathLike = str | os.PathLike[str]
# Minutes that `bench report` may take unless another budget is given, and the most that is no slip of the finger.
BUDGET, LONGEST = 15.0, 100_000.0


@dataclass(frozen=True)
class ReportPage:
    """A report that was made. In a notebook it shows itself."""

    report: Report
    written: list[Path]

    @property
    def records(self) -> list[Record]:
        return list(self.report.records)

    @property
    def html(self) -> str:
        from bench.reporting import page

        return page.render(self.report)

    @property
    def markdown(self) -> str:
        from bench.reporting import markdown

        return markdown.render(self.report)

    def to_dict(self) -> dict[str, Any]:
        """Verdict, recommendation and findings; every number with its record."""
        from bench.reporting import writing

        return writing.to_dict(self.report)

    def _repr_html_(self) -> str:
        return (
            f'<iframe srcdoc="{self.html.replace("&", "&amp;").replace(chr(34), "&quot;")}" width="100%" height="900">'
            "</iframe>"
        )


def report(
    dataset: str,
    out: PathLike | Iterable[PathLike] = "report.html",
    *,
    results: PathLike | None = None,
    budget: float = BUDGET,
    encoder: str = "minilm",
    public: str | None = None,
    seed: int = 0,
    jobs: int | None = None,
    device: str = "auto",
    steps: PathLike | None = None,
    plugins: Iterable[PathLike] = (),
    progress: bool = True,
) -> ReportPage:
    """Run a recommended set of defenses and attacks on a data set, and write what came of it as one page.

    `out`: one file or several, by their endings .html, .md, .json or .pdf. `results`: the folder of the records, by
    default one beside the first file; what is there is not run again. `budget`: minutes. `public`: the public corpus of
    defenses and attacks that want one; by default the data set's own, as in `bench.utility`, or the demo's sentences.
    `steps`: another recipe than the recommended one (docs/report.md).
    """
    paths = [Path(path) for path in listed(out) or []]
    if not paths:
        raise UsageError("name a file to write: --out report.html")
    if not 0 < budget <= LONGEST:
        raise UsageError(f"--budget {budget}: minutes above 0 and up to {LONGEST:,.0f} were expected")
    registry = Registry(tuple(os.fspath(path) for path in plugins))
    for name in filter(None, (dataset, public)):
        registry.get("dataset", name.partition(":")[0])
    from bench.reporting import writing

    writing.check(paths)
    from bench.reporting.run import Order, run
    from bench.reporting.steps import RECOMMENDED, Subject
    from bench.scheduling import executors
    from bench.scheduling.progress import Progress
    from bench.scheduling.settings import RunSettings
    from bench.system.device import resolve

    folder = Path(results) if results is not None else paths[0].with_name(f"{paths[0].stem}-records")
    executor = executors.for_jobs(1 if jobs is None else jobs)
    executors.create(executor)
    settings = RunSettings(out=folder, device=resolve(device), executor=executor, files=registry.files)
    subject = Subject(registry, dataset, encoder, public, seed)
    given = {"results": results, "budget": budget, "encoder": encoder, "public": public, "seed": seed, "steps": steps}
    words = _command(dataset, paths, {**given, "jobs": jobs}, registry.files)
    order = Order(subject, 60 * budget, words, Path(steps) if steps is not None else RECOMMENDED)
    with Progress(quiet=not progress) as shown:
        made = run(order, settings, shown)
    for path in paths:
        writing.write(made, path)
    return ReportPage(made, paths)


def _command(dataset: str, paths: Iterable[Path], given: dict[str, Any], plugins: Iterable[str]) -> list[str]:
    """What to type for the same report, without what is the default."""
    usual = {name: parameter.default for name, parameter in inspect.signature(report).parameters.items()}
    words = ["bench", "report", "--dataset", dataset, *(word for path in paths for word in ("--out", str(path)))]
    words += [word for name, value in given.items() if value != usual[name] for word in (f"--{name}", str(value))]
    return words + [word for file in plugins for word in ("--plugin", file)]
