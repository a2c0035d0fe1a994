"""Search: hone's engines around any Python function.

What a point is, how the next one is chosen, what is legal, statistics and the store are the library's (C); here are the loop
that feeds workers, budgets, the baseline, and the record.
"""
from __future__ import annotations

import dataclasses
import json
import os
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Optional, Union

from . import _hone
from . import space as ss
from ._options import documented
from .baseline import Baseline
from .config import SearchConfiguration, positive, whole_number
from .outcome import Evaluator, Outcome
from .record import Record, known_from
from .results import Results, Trial
from .workers import Worker, make
from .workers.base import Job, Task

_SAMPLE_STRIDE = 0x9E3779B97F4A7C15  # as `hone sample`: point i of seed s is a function of s * stride + i
_LAST = 1 << 64


class Callback:
    """What a search tells while it runs; subclass what you need. A plain function is called as on_trial(search, trial)
    is, with the trial alone; the search ends when it returns True."""

    def on_start(self, search: "Search") -> None:
        """Before the first evaluation."""

    def on_trial(self, search: "Search", trial: Trial) -> Optional[bool]:
        """A trial has been recorded. True ends the search."""
        return None

    def on_end(self, search: "Search", results: Results) -> None:
        """After the last evaluation, also when the search is broken off by an exception."""


AnyCallback = Union[Callback, Callable[[Trial], Any]]


class Search:
    """A search for the best config of `search_space`.

    objective_function(config) returns a number, a tuple of them (several objectives, then constrained metrics), a mapping by
        name, or INVALID_SCORE; it may be a coroutine function. Whatever else it does - raise, hang (with a
        time-out), crash its worker - is one failed trial. May be None when only ask and tell are used.
    search_space: see hone.space.
    search_config: a SearchConfiguration; its fields can be given as keywords here, too, and then win.
    callbacks: Callback objects, or functions of a trial; a list, or one.
    store: a folder where every trial is written (SQLite) as soon as it is finished.
    resume: go on with what is recorded: True (the newest session of this name in `store`, if there is one), a session's
        number, a CSV file of Results.save, or Results. The space may have changed: points that it cannot express any more are
        dropped (results.n_dropped), new parameters have their default in old points.
    name: of the search in the store; the objective's name unless given.

    Raises:
      {raises}
    """

    def __init__(self, objective_function: Optional[Callable[[Any], Any]] = None, search_space: Any = None,
                 search_config: Optional[SearchConfiguration] = None, *, callbacks: Union[AnyCallback, Sequence[AnyCallback]] = (),
                 store: Union[None, str, os.PathLike[str]] = None, resume: Any = None, name: Optional[str] = None,
                 **options: Any) -> None:
        if search_space is None:
            raise _hone.UsageError("'search_space' is missing")
        if objective_function is not None and not callable(objective_function):
            raise _hone.UsageError(f"'objective_function' is a function of a config, not {objective_function!r}")
        if not isinstance(search_config, (SearchConfiguration, type(None))):
            raise _hone.UsageError(f"'search_config' is a SearchConfiguration, not {search_config!r}")
        self.objective = objective_function
        self.config = dataclasses.replace(search_config or SearchConfiguration(), **options)
        self.callbacks = [callbacks] if callable(callbacks) or isinstance(callbacks, Callback) else list(callbacks)
        for callback in self.callbacks:
            if not callable(callback) and not isinstance(callback, Callback):
                raise _hone.UsageError(f"a callback is a Callback or a function of a trial, not {callback!r}")
        self.name = name or getattr(objective_function, "__qualname__", None) or "search"
        self.space, self._facts = ss._built(search_space)
        self._limits = self.config.limits()
        self.results = Results(self.space, self.config.names(), self.config.maximize(), [c.name for c in self._limits])
        self.evaluate = Evaluator(objective_function or _no_objective, self.config.names(),
                                  [c.name for c in self._limits], self.config.repeats)
        self._lock = threading.RLock()
        self._asked: dict[bytes, str] = {}
        self._n_asked = self._since_gain = 0
        self._front: list[tuple[float, ...]] = []
        self._baseline = Baseline.of(self.space, self.config)
        self._engine = self._open_engine()
        self._record: Optional[Record] = None
        self._load(store, resume)

    # --- opening ---

    def _seed_points(self) -> Iterable[bytes]:
        for config in self.config.seeds:
            yield self.space.point(config)
        for prefix, part in self._facts.parts:
            for seed in part.seeds():
                yield self._whole_point(prefix, part, seed)

    def _whole_point(self, prefix: str, part: _hone.Space, point: bytes) -> bytes:
        """A compiler's seed as a point of the whole space."""
        if not prefix:
            return point
        genes = json.loads(part.to_json(point))
        return self.space.from_json(json.dumps({f"{prefix}.{name}": value for name, value in genes.items()}))

    def _open_engine(self) -> _hone.Search:
        c = self.config
        start_known = self._baseline is not None or not self._facts.explicit_default
        return _hone.Search(self.space, c.maximize(), c.engine_name(), int(c.seed) % _LAST, len(self._limits),
                            budget=c.budget() or 0, seeds=tuple(self._seed_points()), options=c.engine_texts(),
                            no_default=start_known)

    def _load(self, store: Any, resume: Any) -> None:
        known: list[dict[str, Any]] = []
        if store is not None:
            self._record, known = Record.open(store, self._fields(), resume)
        elif isinstance(resume, int) and resume is not False:
            raise _hone.UsageError(f"resume={resume!r} names a session of a store: name its folder with store=")
        elif resume is not None and resume is not False:
            known = known_from(resume)
        for row in known:
            self._know(row)
        if self._record is not None and self._record.copied:
            for trial in self.results.trials:
                self._record.add(trial, self._n_asked)
        self._engine.skip(self._n_asked)

    def _fields(self) -> tuple[str, str, str, str, str, str, int]:
        directions = ["maximize" if up else "minimize" for up in self.config.maximize()]
        objectives = [{"expr": n, "direction": d} for n, d in zip(self.config.names(), directions)]
        meaning = json.dumps([objectives, [dataclasses.astuple(c) for c in self._limits]])
        return (self.name, meaning, self.space.hash, self.space.to_yaml(), json.dumps(objectives),
                self.config.engine_name(), int(self.config.seed) % _LAST)

    def _know(self, row: dict[str, Any]) -> None:
        """Takes over one recorded trial."""
        try:
            point = self.space.from_json(row["point"])
        except _hone.InputError:
            self.results.n_dropped += 1
            return
        metrics = tuple(v for name, v in row["samples"] if name in self.results.constraints)
        raw = tuple(v for name, v in row["samples"] if name.startswith("raw:"))
        outcome = Outcome(row["cls"], row["values"] if row["cls"] == "ok" else (), metrics, row["detail"], row["run_s"])
        self._n_asked = max(self._n_asked, row["n_asked"])
        if row["phase"] == "baseline" and self._baseline is not None:
            self._baseline.seen(outcome._replace(values=raw or outcome.values))
        self._keep(point, row["phase"], outcome, row["origin"], row["at_s"], raw or None)

    # --- points ---

    def sample(self, n: Optional[int] = None) -> Any:
        """A random config, or a list of n of them; of one seed always the same, whatever was asked. May repeat."""
        seed = int(self.config.seed) * _SAMPLE_STRIDE
        points = [self.space.sample((seed + i) % _LAST) for i in range(1 if n is None else n)]
        configs = [self.space.config(p) for p in points]
        return configs[0] if n is None else configs

    def ask(self, n: Optional[int] = None) -> Any:
        """The next config to evaluate, or a list of n (fewer when that is all there is); legal and never proposed before.

        Raises:
          {raises}
        """
        points: list[bytes] = []
        with self._lock:
            try:
                while len(points) < (1 if n is None else n):
                    points.append(self._next())
            except _hone.ExhaustedError:
                if not points:
                    raise
        configs = [self.space.config(p) for p in points]
        return configs[0] if n is None else configs

    def tell(self, config: Any, result: Any) -> Trial:
        """Reports what the objective would return for a config (or the exception it raised): asked before, or measured
        elsewhere.

        Raises:
          {raises}
        """
        point = self.space.point(config)
        return self._finish(point, self._asked.get(point, "told"), self.evaluate.read(result))

    def _next(self) -> bytes:
        point = self._engine.ask()
        self._asked[point] = self._engine.origin
        self._n_asked += 1
        return point

    # --- the record ---

    def _finish(self, point: bytes, origin: str, outcome: Outcome, phase: str = "search") -> Trial:
        with self._lock:
            raw = outcome.values
            if self._baseline is not None and outcome.ok:
                outcome = outcome._replace(values=self._baseline.scaled(raw))
            if phase == "search" and self._asked.pop(point, None) is None:
                phase = "told"
            trial = self._keep(point, phase, outcome, origin, time.time(), raw)
            if self._record is not None:
                self._record.add(trial, self._n_asked)
            return trial

    def _keep(self, point: bytes, phase: str, outcome: Outcome, origin: str, at: float,
              raw: Optional[tuple[float, ...]]) -> Trial:
        broken: tuple[float, ...] = ()
        if self._limits and outcome.ok:
            broken = tuple(c.violation(v) for c, v in zip(self._limits, outcome.metrics))
        trial = Trial(len(self.results.trials) + 1, point, self.space, phase, outcome, origin, at, raw,
                      sum(v for v in broken if v > 0))
        if phase != "baseline" or self.results.baseline is None:
            self._engine.tell(point, outcome.cls, outcome.values, broken)
            self._note_gain(trial)
        if phase == "baseline" and outcome.ok and self.results.baseline is None:
            self.results.baseline = outcome.values
        self.results.trials.append(trial)
        return trial

    def _note_gain(self, trial: Trial) -> None:
        """Counts trials since the last gain, for `patience`."""
        self._since_gain += 1
        if self.config.patience is None or not trial.feasible:
            return
        values = tuple(-v if up else v for v, up in zip(trial.values, self.results.maximize))
        if any(_at_least(old, values) for old in self._front):
            return
        self._front = [old for old in self._front if not _at_least(values, old)] + [values]
        self._since_gain = 0

    # --- running ---

    def start(self, num_workers: Optional[int] = None, task_timeout: Optional[float] = None, *,
              worker: Union[None, str, Worker, type[Worker]] = None) -> Results:
        """Evaluates until the budget is used up, `patience` ends the search, or the space is exhausted; returns the results.

        num_workers: evaluations at a time. task_timeout: seconds per evaluation (all its repeats); one that is late is ended
        with every process it started. worker: "inline" (this process), "pool" (processes that are used again), "process" (one
        per task), "asyncio", "ray", or a Worker of your own; unless given: asyncio for coroutine functions, inline for one
        worker without a time-out, else a pool.

        An exception of a callback, or Ctrl-C, ends the search and is raised; `results` holds what was seen until then, the
        store as well.

        Raises:
          {raises}
        """
        if self.objective is None:
            raise _hone.UsageError("'objective_function' is missing: without one use ask and tell")
        whole_number("num_workers", num_workers, 1)
        positive("task_timeout", task_timeout)
        chosen = make(worker, self.objective, num_workers, task_timeout)
        chosen.start(Job(self.evaluate, self.space, num_workers, task_timeout))
        return Run(self, chosen).go()

    def run(self, num_workers: Optional[int] = None, task_timeout: Optional[float] = None, *,
            worker: Union[None, str, Worker, type[Worker]] = None) -> Optional[Trial]:
        """As start; gives the best trial, None when all failed."""
        return self.start(num_workers, task_timeout, worker=worker).get_best_result()

    def close(self) -> None:
        """Lets go of the store. A search without one needs no closing."""
        if self._record is not None:
            self._record.close()

    def __enter__(self) -> "Search":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Run:
    """One start() of a search: keeps its worker busy until there is a reason to end."""

    def __init__(self, search: Search, worker: Worker) -> None:
        self.search = search
        self.worker = worker
        self.pending: dict[int, tuple[bytes, str, str]] = {}
        self.n_tasks = 0
        self.n_evals = sum(t.phase == "search" for t in search.results.trials)
        self.since_baseline = 0
        self.reason = ""
        self.budget = search.config.budget() or _LAST
        seconds = search.config.max_seconds
        self.end_at = None if seconds is None else time.monotonic() + seconds
        self.patience = search.config.patience or _LAST

    def go(self) -> Results:
        search = self.search
        state = "interrupted"
        try:
            for callback in search.callbacks:
                if isinstance(callback, Callback):
                    callback.on_start(search)
            self._measure_first_baseline()
            while not self._over():
                self._fill()
                if self.pending:
                    self._collect()
            state = "finished"
        finally:
            self._end(state)
        return search.results

    def _end(self, state: str) -> None:
        search = self.search
        self.worker.stop()
        for point, _, phase in self.pending.values():
            if phase == "search":
                search._asked.pop(point, None)
                search._engine.forget(point)
        search.results.reason = self.reason or "interrupted"
        try:
            for callback in search.callbacks:
                if isinstance(callback, Callback):
                    callback.on_end(search, search.results)
        finally:
            if search._record is not None:
                search._record.finish(state, search.results.reason)

    def _over(self) -> bool:
        """True when nothing more is to be waited for."""
        if not self.reason:
            self.reason = self._why()
        if self.reason in ("seconds", "callback"):
            return True
        return bool(self.reason) and not self.pending

    def _why(self) -> str:
        if self.n_evals >= self.budget:
            return "evaluations"
        if self.end_at is not None and time.monotonic() >= self.end_at:
            return "seconds"
        return "plateau" if self.search._since_gain >= self.patience else ""

    def _submit(self, point: bytes, origin: str, phase: str) -> None:
        self.n_tasks += 1
        self.pending[self.n_tasks] = (point, origin, phase)
        self.worker.submit(Task(self.n_tasks, point, self.search.space))

    def _fill(self) -> None:
        search = self.search
        while not self.reason and self.worker.free() > 0:
            if search._baseline is not None and self.since_baseline >= search.config.baseline_every:
                self.since_baseline = 0
                self._submit(search._baseline.point, "baseline", "baseline")
                continue
            try:
                with search._lock:
                    point = search._next()
                    origin = search._asked[point]
            except _hone.ExhaustedError:
                self.reason = "exhausted"
                return
            self.n_evals += 1
            self.since_baseline += 1
            self._submit(point, origin, "search")
            self.reason = self._why()

    def _collect(self) -> None:
        left = None if self.end_at is None else max(0.0, self.end_at - time.monotonic())
        for number, outcome in self.worker.wait(left):
            point, origin, phase = self.pending.pop(number)
            search = self.search
            if phase == "baseline" and search._baseline is not None:
                search._baseline.seen(outcome)
            trial = search._finish(point, origin, outcome, phase)
            for callback in search.callbacks:
                if (callback.on_trial if isinstance(callback, Callback) else callback)(*self._told(callback, trial)) is True:
                    self.reason = "callback"

    def _told(self, callback: AnyCallback, trial: Trial) -> tuple[Any, ...]:
        return (self.search, trial) if isinstance(callback, Callback) else (trial,)

    def _measure_first_baseline(self) -> None:
        search = self.search
        if search._baseline is None or search._baseline.reference is not None:
            return
        self._submit(search._baseline.point, "baseline", "baseline")
        while self.pending:
            self._collect()
        if search._baseline.reference is None:
            last = search.results.trials[-1]
            raise _hone.BaselineError(f"the baseline {last.config!r} failed ({last.cls}): {last.detail.splitlines()[-1:]}")


def _at_least(a: Sequence[float], b: Sequence[float]) -> bool:
    """a is as good as b in every minimised objective."""
    return all(x <= y for x, y in zip(a, b))


def _no_objective(config: Any) -> Any:
    raise _hone.UsageError("this search has no objective: use ask and tell")


documented(Search, raises="search")
for _name in ("start", "ask", "tell"):
    documented(getattr(Search, _name), raises=_name)
