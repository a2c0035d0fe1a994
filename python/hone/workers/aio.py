"""Objectives that are coroutine functions, many at a time on one event loop in a thread of its own."""
from __future__ import annotations

import asyncio
import queue
import threading
from concurrent.futures import Future
from typing import Any, Optional

from .. import _hone
from ..outcome import failed
from .base import Done, Job, Task, Worker


class AsyncWorker(Worker):
    """num_workers evaluations at a time (16 unless given); one that is late is cancelled."""

    def start(self, job: Job) -> None:
        if not asyncio.iscoroutinefunction(job.evaluate.objective):
            raise _hone.UsageError("worker='asyncio' needs an objective that is a coroutine function (async def)")
        self._job = job
        self._room = job.num_workers or 16
        self._running: dict[int, Future[Any]] = {}
        self._done: queue.SimpleQueue[Done] = queue.SimpleQueue()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="hone-asyncio", daemon=True)
        self._thread.start()

    def free(self) -> int:
        return self._room - len(self._running)

    async def _evaluate(self, task: Task) -> None:
        limit = self._job.task_timeout
        try:
            outcome = await asyncio.wait_for(self._job.evaluate.call_async(task.config), limit)
        except asyncio.TimeoutError:
            outcome = failed("run_timeout", f"ran longer than {limit:g} s", limit or 0.0)
        except asyncio.CancelledError:
            outcome = failed("run_crash", "the evaluation was cancelled")
        self._done.put(Done(task.id, outcome))

    def submit(self, task: Task) -> None:
        self._running[task.id] = asyncio.run_coroutine_threadsafe(self._evaluate(task), self._loop)

    def wait(self, timeout: Optional[float]) -> list[Done]:
        done: list[Done] = []
        try:
            done.append(self._done.get(timeout=timeout))
            while True:
                done.append(self._done.get_nowait())
        except queue.Empty:
            pass
        for d in done:
            self._running.pop(d.id, None)
        return done

    def stop(self) -> None:
        if self._loop.is_closed():
            return
        asyncio.run_coroutine_threadsafe(_cancel_all(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


async def _cancel_all() -> None:
    mine = asyncio.current_task()
    tasks = [t for t in asyncio.all_tasks() if t is not mine]
    for task in tasks:
        task.cancel()
    await asyncio.wait(tasks, timeout=5) if tasks else None
