"""Workers: where objectives run. base.py has their contract; `make` finds one by name."""
from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Optional, Union

from .. import _hone
from .base import Done, Job, Task, Worker

if TYPE_CHECKING:
    from .aio import AsyncWorker
    from .fleet import Fleet
    from .inline import InlineWorker
    from .on_ray import RayWorker
    from .pool import PoolWorker

__all__ = ["AsyncWorker", "Done", "Fleet", "InlineWorker", "Job", "PoolWorker", "RayWorker", "Task", "Worker", "make"]

_MODULES = {"AsyncWorker": "aio", "Fleet": "fleet", "InlineWorker": "inline", "PoolWorker": "pool", "RayWorker": "on_ray"}
# Name for start(worker=...) -> class and its arguments.
_NAMED: dict[str, tuple[str, dict[str, Any]]] = {
    "inline": ("InlineWorker", {}),
    "pool": ("PoolWorker", {}),
    "process": ("PoolWorker", {"fresh": True}),
    "asyncio": ("AsyncWorker", {}),
    "ray": ("RayWorker", {}),
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'hone.workers' has no attribute '{name}'")
    return getattr(import_module("." + _MODULES[name], __name__), name)


def _named(name: str) -> Worker:
    if name not in _NAMED:
        raise _hone.UsageError(f"there is no worker '{name}': {', '.join(_NAMED)}")
    kind, arguments = _NAMED[name]
    worker: Worker = __getattr__(kind)(**arguments)
    return worker


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
