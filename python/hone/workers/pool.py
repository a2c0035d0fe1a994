"""Evaluations in processes of this machine: a pool of them, or one per task.

Every process stands below a guardian (hone/process.h): when it is ended, for being late or because the search is over,
everything it started goes with it, grandchildren too. A process that dies costs the trial it had, nothing else.
"""
from __future__ import annotations

import os
import pickle
import signal
import sys
import threading
import time
from typing import Any, Optional

from .. import _hone
from ..outcome import DETAIL_MOST, Evaluator, Outcome, describe_status, failed
from .base import Done, Job, Task, Worker


def _flush() -> None:
    """What is printed is printed once: before a fork, and at the end of one."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except Exception:
            pass  # closed, or none at all


def _serve(conn: Any, evaluate: Evaluator, space: Optional[_hone.Space]) -> None:
    """In the process: tasks in, outcomes out, until the other end is closed."""
    while True:
        try:
            number, given = pickle.loads(conn.recv_bytes())
        except (EOFError, OSError):
            return
        outcome = evaluate(space.config(given) if space is not None else given)
        _flush()  # the process may be ended at any time from here on
        conn.send_bytes(pickle.dumps((number, tuple(outcome)), -1))


def _run_child(conn: Any, evaluate: Evaluator, space: Optional[_hone.Space]) -> None:
    code = 1
    try:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        if space is None:
            conn.send_bytes(b"")  # started afresh: the time-out counts from here
        _serve(conn, evaluate, space)
        code = 0
    except BaseException:
        import traceback

        traceback.print_exc()
    finally:
        _flush()
        os._exit(code)


# One fork at a time: a process that inherited the other end of a neighbour's pipe would hide that neighbour's death.
_forking = threading.Lock()


def _fork(evaluate: Evaluator, space: Optional[_hone.Space], give: Any = None) -> tuple[int, Any]:
    """A guarded fork that serves tasks (or runs `give`, with its end of the pipe): its pid and our end of the pipe."""
    global _forking
    from multiprocessing import Pipe

    with _forking:
        here, there = Pipe()
        _flush()
        pid = _hone.guard_fork()
        if pid == 0:
            _forking = threading.Lock()  # ours is held, by a thread that is not here
            here.close()
            if give is None:
                _run_child(there, evaluate, space)
            try:
                give(there)
            finally:
                _flush()
                os._exit(0)
        there.close()
    return pid, here


def _spawned(conn: Any, evaluate: Evaluator) -> None:
    """In a process started afresh: puts a guardian between itself and the one that works."""
    pid = _hone.guard_fork()
    if pid == 0:
        _run_child(conn, evaluate, None)
    conn.close()
    _, status = os.waitpid(pid, 0)
    if os.WIFSIGNALED(status):
        signal.signal(os.WTERMSIG(status), signal.SIG_DFL)
        os.kill(os.getpid(), os.WTERMSIG(status))
    os._exit(os.WEXITSTATUS(status) if os.WIFEXITED(status) else 1)


class _Process:
    """One worker process and its end of the pipe."""

    def __init__(self, job: Job, method: str) -> None:
        self.task: Optional[int] = None
        self.deadline = float("inf")
        self._timeout: Optional[float] = None
        self._ready = method == "fork"
        self._spawned: Any = None
        self._sends_point = method == "fork"
        self._reaped: Optional[int] = None
        self._gone = False
        if self._sends_point:
            self.pid, self.conn = _fork(job.evaluate, job.space)
        else:
            from multiprocessing import Pipe, get_context

            self.conn, other = Pipe()
            context: Any = get_context(method)
            self._spawned = context.Process(target=_spawned, args=(other, job.evaluate), daemon=False)
            self._spawned.start()
            self.pid = self._spawned.pid
            other.close()

    def give(self, task: Task, timeout: Optional[float]) -> None:
        self.task = task.id
        self._timeout = timeout
        self._begin()
        try:
            self.conn.send_bytes(pickle.dumps((task.id, task.point if self._sends_point else task.config), -1))
        except (BrokenPipeError, ConnectionError):
            pass  # it died while idle: seen as the end of its pipe

    def _begin(self) -> None:
        if self._ready and self._timeout is not None:
            self.deadline = time.monotonic() + self._timeout

    def take(self) -> tuple[bool, Optional[Outcome]]:
        """Is its task over? And the outcome; None when the pipe has ended."""
        try:
            data = self.conn.recv_bytes()
            if not data:
                self._ready = True
                self._begin()
                return False, None
            _, fields = pickle.loads(data)
        except (EOFError, OSError):
            return True, None
        self.task = None
        self.deadline = float("inf")
        return True, Outcome(*fields)

    def end(self) -> None:
        """Ends it with all its descendants."""
        if not self._gone:
            try:
                os.kill(self.pid, signal.SIGTERM if self._spawned is None else signal.SIGKILL)
            except ProcessLookupError:
                pass
        self.reap()

    def reap(self) -> Optional[int]:
        """Waits for its end; the status as waitpid gives it."""
        if not self._gone:
            self._gone = True
            self.conn.close()
            if self._spawned is not None:
                self._spawned.join()
                code = self._spawned.exitcode
                self._reaped = -code if code < 0 else code << 8
                self._spawned.close()
            else:
                try:
                    self._reaped = os.waitpid(self.pid, 0)[1]
                except ChildProcessError:
                    self._reaped = None
        return self._reaped


class PoolWorker(Worker):
    """num_workers processes (cores unless given) that take one task after the other.

    start_method: "fork" (objectives and values need not be picklable; not after CUDA was initialised) or "spawn".
    fresh: a process per task.
    """

    def __init__(self, start_method: str = "fork", fresh: bool = False) -> None:
        if start_method not in ("fork", "spawn"):
            raise _hone.UsageError(f"'start_method' is 'fork' or 'spawn', not {start_method!r}")
        self._method = start_method
        self._fresh = fresh
        self._busy: dict[Any, _Process] = {}
        self._idle: list[_Process] = []

    def start(self, job: Job) -> None:
        self._job = job
        self._room = job.num_workers or len(os.sched_getaffinity(0))
        if self._method == "spawn":
            try:
                pickle.dumps(job.evaluate)
            except Exception as error:
                raise _hone.UsageError(f"start_method='spawn' needs an objective that pickle takes ({error}); "
                                       "define it in a module, or use 'fork'") from error

    def free(self) -> int:
        return self._room - len(self._busy)

    def submit(self, task: Task) -> None:
        process = self._idle.pop() if self._idle else _Process(self._job, self._method)
        process.give(task, self._job.task_timeout)
        self._busy[process.conn] = process

    def wait(self, timeout: Optional[float]) -> list[Done]:
        from multiprocessing.connection import wait

        if not self._busy:
            return []
        first = min(p.deadline for p in self._busy.values())
        left = None if first == float("inf") else max(0.0, first - time.monotonic())
        if timeout is not None:
            left = timeout if left is None else min(left, timeout)
        done: list[Done] = []
        for conn in wait(list(self._busy), left):
            self._finish(conn, done)
        now = time.monotonic()
        for conn in [c for c, p in self._busy.items() if p.deadline <= now]:
            done.append(self._late(conn))
        return done

    def _finish(self, conn: Any, done: list[Done]) -> None:
        process = self._busy[conn]
        number = process.task
        assert number is not None
        over, outcome = process.take()
        if not over:
            return
        del self._busy[conn]
        if outcome is None:
            outcome = failed("run_crash", describe_status(process.reap()))
        elif self._fresh:
            process.end()
        else:
            self._idle.append(process)
        done.append(Done(number, outcome))

    def _late(self, conn: Any) -> Done:
        process = self._busy.pop(conn)
        assert process.task is not None
        process.end()
        limit = self._job.task_timeout
        return Done(process.task, failed("run_timeout", f"ran longer than {limit:g} s", limit or 0.0))

    def stop(self) -> None:
        processes = [*self._busy.values(), *self._idle]
        self._busy, self._idle = {}, []
        for process in processes:
            process.end()


def evaluate_guarded(evaluate: Evaluator, config: Any, timeout: float) -> Outcome:
    """One evaluation in a process of its own, ended with all its descendants after `timeout` seconds."""
    pid, here = _fork(evaluate, None, lambda there: there.send_bytes(pickle.dumps(tuple(evaluate(config)), -1)))
    fields: Optional[tuple[Any, ...]] = None
    late = not here.poll(timeout)
    if not late:
        try:
            fields = pickle.loads(here.recv_bytes())
        except (EOFError, OSError):
            fields = None
    if fields is not None or late:
        os.kill(pid, signal.SIGTERM)
    here.close()
    status = os.waitpid(pid, 0)[1]
    if late:
        return failed("run_timeout", f"ran longer than {timeout:g} s", timeout)
    return Outcome(*fields) if fields is not None else failed("run_crash", describe_status(status)[:DETAIL_MOST])
