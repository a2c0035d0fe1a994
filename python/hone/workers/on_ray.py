"""Evaluations as tasks of a Ray cluster, on many machines."""
from __future__ import annotations

from typing import Any, Optional

from ..extras import needs
from ..outcome import Evaluator, Outcome, failed
from .base import Done, Job, Task, Worker


def _evaluate(evaluate: Evaluator, config: Any, timeout: Optional[float]) -> tuple[Any, ...]:
    if timeout is None:
        return tuple(evaluate(config))
    from .pool import evaluate_guarded

    return tuple(evaluate_guarded(evaluate, config, timeout))


class RayWorker(Worker):
    """Tasks of Ray with the given resources each, e.g. RayWorker(num_gpus=1, resources={"tpu": 1}).

    num_workers: tasks in flight (the cluster's CPUs unless given). address: of the cluster; Ray's own rules unless given
    (a running cluster, else a local one). A task whose node or worker is lost runs again elsewhere, at most `lost_most`
    times: then the trial counts as a crash. With a time-out each evaluation runs in a process of its own, so that it can be
    ended with all it started. hone must be installed on every node.
    """

    def __init__(self, address: Optional[str] = None, lost_most: int = 3, **resources: Any) -> None:
        self._address = address
        self._lost_most = lost_most
        self._resources = resources
        self._running: dict[Any, Task] = {}
        self._lost: dict[int, int] = {}

    def start(self, job: Job) -> None:
        ray = self._ray = needs("ray", "worker='ray'")
        if not ray.is_initialized():
            ray.init(address=self._address, log_to_driver=False, configure_logging=False)
        self._job = job
        self._shared = ray.put(job.evaluate)
        self._remote = ray.remote(max_retries=0, **self._resources)(_evaluate)
        self._room = job.num_workers or max(1, int(ray.cluster_resources().get("CPU", 1)))

    def free(self) -> int:
        return self._room - len(self._running)

    def submit(self, task: Task) -> None:
        self._running[self._remote.remote(self._shared, task.config, self._job.task_timeout)] = task

    def wait(self, timeout: Optional[float]) -> list[Done]:
        done: list[Done] = []
        while self._running and not done:
            ready, _ = self._ray.wait(list(self._running), num_returns=1, timeout=timeout)
            for ref in ready:
                task = self._running.pop(ref)
                outcome = self._outcome(ref, task)
                if outcome is None:
                    self.submit(task)
                else:
                    self._lost.pop(task.id, None)
                    done.append(Done(task.id, outcome))
            if not ready and timeout is not None:
                break
        return done

    def _outcome(self, ref: Any, task: Task) -> Optional[Outcome]:
        """None: the task was lost and is to run again."""
        errors = self._ray.exceptions
        try:
            return Outcome(*self._ray.get(ref))
        except errors.OutOfMemoryError as error:
            return failed("over_limit", str(error))
        except (errors.RayTaskError, errors.TaskCancelledError) as error:
            return failed("run_crash", str(error))
        except errors.RayError as error: # the worker, its node or the objects it needs are gone
            self._lost[task.id] = self._lost.get(task.id, 0) + 1
            return failed("run_crash", f"lost {self._lost[task.id]} times: {error}") if self._lost[task.id] >= self._lost_most else None

    def stop(self) -> None:
        for ref in self._running:
            try:
                self._ray.cancel(ref, force=True)
            except Exception:
                pass
        self._running = {}
