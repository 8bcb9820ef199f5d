"""What a user asks of the runner, and the tasks that this comes to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..core.errors import OptionError
from .models import policies_in, shipped_policies
from .rows import Row
from .runner import Task
from .specs import parse_dataset, parse_method
from .tables import plans

PLANS = ("paper",)


@dataclass(frozen=True)
class Job:
    """The rows to make: datasets x methods, or a plan with filters.

    `models` is a folder of trained runs to add to the shipped models of the plan; `deg` and `d1`
    are the files of DEG and of the authors' D1.
    """

    dataset: Sequence[str] = ()
    method: Sequence[str] = ()
    plan: str | None = None
    only: Sequence[str] = ()
    deg: str | None = None
    d1: str | None = None
    models: str | None = None
    count: int | None = None
    device: str = "cpu"


def tasks_of(job: Job) -> list[Task]:
    """Return the tasks, dataset by dataset, or refuse a job with none."""
    if job.count is not None and job.count < 1:
        raise OptionError(f"--count must be at least 1, got {job.count}")
    if job.plan is None:
        return _product(job)
    if job.plan not in PLANS:
        raise OptionError(f"unknown plan {job.plan!r}; the plans are: {', '.join(PLANS)}")
    if job.dataset or job.method:
        raise OptionError("--plan names its datasets and methods; use --only to choose among them")
    models = shipped_policies()
    if job.models is not None:
        models += policies_in(job.models)
    files = {name: path for name, path in (("DEG", job.deg), ("D1", job.d1)) if path is not None}
    tasks = plans.paper_plan(device=job.device, files=files, models=models, count=job.count)
    return plans.only(tasks, job.only)


def _product(job: Job) -> list[Task]:
    of_plan = {"--only": job.only, "--deg": job.deg, "--d1": job.d1, "--models": job.models}
    for name, value in of_plan.items():
        if value:
            raise OptionError(f"{name} belongs to --plan")
    if not job.dataset or not job.method:
        raise OptionError(
            "give --dataset and --method, each at least once (as --dataset D1 --method greedy), "
            "or --plan paper"
        )
    datasets = [parse_dataset(text) for text in job.dataset]
    methods = [parse_method(text) for text in job.method]
    return [Task(dataset, method, job.count) for dataset in datasets for method in methods]


def row_line(task: Task, row: Row | None, skipped: str = "already there") -> str:
    """Return what to print about a finished task in one line."""
    what = f"{task.dataset.label} {task.method.text}"
    if row is None:
        return f"{what}: {skipped}"
    times = f"{row.batch_ms:.4g} ms in a batch" if row.batch_ms is not None else ""
    if row.single_ms is not None:
        times += f", {row.single_ms:.4g} ms alone"
    return f"{what}: gap {row.gap_mean:.4g} ± {row.gap_stderr:.2g} % of {row.count:,}, {times}"
