"""Workers: where objectives run. base.py has their contract; `make` finds one by name."""
from __future__ import annotations

from typing import Any, Optional, Union

from .. import _hone
from .base import Done, Job, Task, Worker

__all__ = ["Done", "Job", "Task", "Worker", "make"]

NAMES = ("inline", "pool", "process", "asyncio", "ray")


def _named(name: str) -> Worker:
    if name == "inline":
        from .inline import InlineWorker

        return InlineWorker()
    if name in ("pool", "process"):
        from .pool import PoolWorker

        return PoolWorker(fresh=name == "process")
    if name == "asyncio":
        from .aio import AsyncWorker

        return AsyncWorker()
    if name == "ray":
        from .on_ray import RayWorker

        return RayWorker()
    raise _hone.UsageError(f"there is no worker '{name}': {', '.join(NAMES)}")


def make(worker: Union[None, str, Worker, type[Worker]], objective: Any, num_workers: Optional[int],
         task_timeout: Optional[float]) -> Worker:
    """None chooses: asyncio for coroutine functions, inline for one worker without a time-out, else a pool."""
    if isinstance(worker, Worker):
        return worker
    if isinstance(worker, type):
        return worker()
    if worker is None:
        import inspect

        alone = (num_workers is None or num_workers == 1) and task_timeout is None
        worker = "asyncio" if inspect.iscoroutinefunction(objective) else "inline" if alone else "pool"
    return _named(worker)
