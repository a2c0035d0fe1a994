"""Evaluations in this process and thread, one at a time."""
from __future__ import annotations

from typing import Optional

from .. import _hone
from .base import Done, Job, Task, Worker


class InlineWorker(Worker):
    """No isolation: an objective that crashes takes the search with it, and none can be stopped."""

    def start(self, job: Job) -> None:
        if job.task_timeout is not None:
            raise _hone.UsageError("'task_timeout' needs a process that can be ended: use worker='pool' or 'process'")
        self._evaluate = job.evaluate
        self._done: list[Done] = []

    def free(self) -> int:
        return 0 if self._done else 1

    def submit(self, task: Task) -> None:
        self._done.append(Done(task.id, self._evaluate(task.space.config(task.point))))

    def wait(self, timeout: Optional[float]) -> list[Done]:
        done, self._done = self._done, []
        return done

    def stop(self) -> None:
        self._done = []
