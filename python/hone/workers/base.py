"""The contract of workers: where objectives run.

A search calls, from one thread: start(job) once; submit(task) while free() > 0; wait(timeout) for what is finished; stop()
once. A worker never raises for what an objective does: that is an Outcome. Your own worker is a subclass, given to
`Search.start(worker=...)` as an instance.
"""
from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, NamedTuple, Optional

from .. import _hone
from ..outcome import Evaluator, Outcome


class Task(NamedTuple):
    """One evaluation. `config` makes what the objective receives, anew at each use."""

    id: int
    point: bytes
    space: _hone.Space

    @property
    def config(self) -> Any:
        return self.space.config(self.point)


class Job(NamedTuple):
    """What all tasks of a search share. `evaluate(config)` gives the Outcome; task_timeout: seconds or None."""

    evaluate: Evaluator
    space: _hone.Space
    num_workers: Optional[int]
    task_timeout: Optional[float]


class Done(NamedTuple):
    id: int
    outcome: Outcome


class Worker(ABC):
    """Runs tasks; see the module's text for the order of calls."""

    @abstractmethod
    def start(self, job: Job) -> None:
        """Takes up the job. Raises UsageError or UnsupportedError when it cannot do what the job asks."""

    @abstractmethod
    def free(self) -> int:
        """How many more tasks it takes now."""

    @abstractmethod
    def submit(self, task: Task) -> None:
        """Takes one task; may evaluate it at once."""

    @abstractmethod
    def wait(self, timeout: Optional[float]) -> list[Done]:
        """What has finished since the last call: at least one, unless `timeout` seconds (None: no limit) pass first."""

    @abstractmethod
    def stop(self) -> None:
        """Gives up what is running and frees everything. May be called twice."""
