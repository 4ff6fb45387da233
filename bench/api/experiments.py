"""`bench.run`, `bench.utility`, `bench.audit` and `bench.evaluate`: experiments from Python, as on the command line.

Errors are exceptions with the text that the command line prints: UsageError for a wrong name or option, BenchError for
anything else that the user can mend. Ctrl-C raises `bench.errors.Interrupted`, a KeyboardInterrupt that
carries the records of finished cells; all of them are saved.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from functools import wraps
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from bench.api.objects import plugin_info
from bench.api.requests import AttackRequest, AuditRequest, UtilityRequest
from bench.errors import UsageError, unknown

if TYPE_CHECKING:
    from bench.api.results import Results
    from bench.records.model import AttackRecord, AuditRecord, Record, UtilityRecord
    from bench.scheduling.settings import RunSettings
    from bench.scheduling.tasks import Task

P = ParamSpec("P")
Q = TypeVar("Q")
R = TypeVar("R")
A = TypeVar("A", bound="Record")


def _takes(make: Callable[P, Q]) -> Callable[[Callable[[Q], R]], Callable[P, R]]:
    """The arguments of a function are the fields of its request, written down in one place."""

    signature = inspect.signature(make)

    def decorate(function: Callable[[Q], R]) -> Callable[P, R]:
        @wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> R:
            for name in kwargs:
                if name not in signature.parameters:
                    said = unknown(f"argument of bench.{function.__name__}", name, signature.parameters)
                    raise TypeError(str(said))
            return function(make(*args, **kwargs))

        answer = inspect.signature(function).return_annotation
        call.__signature__ = signature.replace(return_annotation=answer)  # type: ignore[attr-defined]
        return call

    return decorate


@_takes(AttackRequest)
def run(request: AttackRequest) -> Results[AttackRecord]:
    """Run every defense against every attack, and score them; finished cells are taken from `out`.

    Takes what `bench run` takes, by the same names: `bench.run(defense="texthide:m=16", attack=["rss", "unmix"],
    dataset="cola", seed=[0, 1])`. In place of a name there may be a plugin object, such as `MyAttack(top=3)`.
    """
    return _results(request.tasks(), request.settings(), progress=request.progress)


@_takes(UtilityRequest)
def utility(request: UtilityRequest) -> Results[UtilityRecord]:
    """Measure what defenses cost in accuracy: train on their releases, judge on dev. Takes what `bench utility` takes.

    The undefended figure (defense none) is measured beside them.
    """
    return _results(request.tasks(), request.settings(), progress=request.progress)


@_takes(AuditRequest)
def audit(request: AuditRequest) -> Results[AuditRecord]:
    """Bound the ε of defenses from below by experiment, and hold it against what they claim. Takes what `bench audit`
    takes: `bench.audit(defense="dp-ie-gaussian:epsilon=8", dataset="sst2")` (docs/audit.md).
    """
    return _results(request.tasks(), request.settings(), progress=request.progress)


def _results(tasks: Sequence[Task[A]], settings: RunSettings, *, progress: bool) -> Results[A]:
    # Imported here: that there are tasks means that every name is right, and a wrong one is to be answered at once.
    from bench.api.results import Results
    from bench.board.learnt import trainings_of
    from bench.scheduling import own_data, runner
    from bench.scheduling.progress import Progress

    with Progress(quiet=not progress) as shown:
        for said in own_data.described(tasks):
            shown.note(said)
        records, errors = runner.run(tasks, settings, shown)
    if errors and not records:
        raise errors[0]
    return Results(records, errors, trainings_of(records, settings.out))


def evaluate(plugin: Any, **options: Any) -> Results[AttackRecord]:
    """Run a plugin object: `bench.evaluate(MyAttack(), defense="texthide")`, or a defense against `attack="rss"`.

    `options` are those of `bench.run`. The class may stand in a file, a notebook cell or a script.
    """
    kind = plugin_info(plugin).kind
    if kind in options:
        raise UsageError(f"{kind}={options[kind]!r}: the {kind} is the object that is evaluated; leave it out")
    return run(**{kind: plugin}, **options)
