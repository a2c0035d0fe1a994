"""The result of an objective as one of hone's outcome classes.

    ok            numbers, as many as there are objectives and constraints
    run_crash     an exception, sys.exit, a signal, a lost process (a worker that segfaults)
    run_timeout   longer than task_timeout, or the objective raised TimeoutError
    wrong_result  INVALID_SCORE
    no_metric     NaN, infinite, no number, or another number of values than expected
    over_limit    MemoryError
"""
from __future__ import annotations

import time
from array import array
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple, Optional

from . import _hone

DETAIL_MOST = 2000  # characters kept of a failure's text, its end


class _Invalid(float):
    """Type of INVALID_SCORE: a NaN that says what it is."""

    __slots__ = ()

    def __new__(cls) -> "_Invalid":
        return super().__new__(cls, "nan")

    def __repr__(self) -> str:
        return "INVALID_SCORE"

    def __reduce__(self) -> str:
        return "INVALID_SCORE"


INVALID_SCORE: Final[float] = _Invalid()
"""What an objective returns (alone, or as one of several values) when its result is wrong."""


class Outcome(NamedTuple):
    """How one evaluation ended. `values`: objectives; `metrics`: what constraints limit; `seconds`: wall time."""

    cls: str
    values: tuple[float, ...] = ()
    metrics: tuple[float, ...] = ()
    detail: str = ""
    seconds: float = 0.0

    @property
    def ok(self) -> bool:
        return self.cls == "ok"


def failed(cls: str, detail: str, seconds: float = 0.0) -> Outcome:
    return Outcome(cls, (), (), detail[-DETAIL_MOST:], seconds)


def of_exception(error: BaseException, seconds: float = 0.0) -> Outcome:
    """An exception as an outcome; `detail` is the end of its traceback."""
    import traceback

    cls = "run_timeout" if isinstance(error, TimeoutError) else "over_limit" if isinstance(error, MemoryError) else "run_crash"
    return failed(cls, "".join(traceback.format_exception(type(error), error, error.__traceback__)).strip(), seconds)


_FINITE = float("inf")


class Evaluator:
    """The objective, and how its result is read; what workers call with a config. Picklable when the objective is."""

    def __init__(self, objective: Callable[[Any], Any], objectives: Sequence[str], constraints: Sequence[str] = (),
                 repeats: int = 1) -> None:
        self.objective = objective
        self.names = (*objectives, *constraints)
        self.n_objectives = len(objectives)
        self.repeats = repeats
        self.single = len(self.names) == 1

    def read(self, result: Any, seconds: float = 0.0) -> Outcome:
        """What the objective returned: a number, a sequence of them (objectives, then constrained metrics) or a mapping by
        their names."""
        if self.single and type(result) is float and -_FINITE < result < _FINITE:
            return Outcome("ok", (result,), (), "", seconds)
        try:
            return self._read_any(result, seconds)
        except Exception as error:
            return failed("no_metric", f"the objective returned {_shown(result)}: {error}", seconds)

    def _read_any(self, result: Any, seconds: float) -> Outcome:
        if isinstance(result, BaseException):
            return of_exception(result, seconds)
        values = self._values(result)
        if any(type(v) is _Invalid for v in values):
            return failed("wrong_result", "the objective returned INVALID_SCORE", seconds)
        if len(values) != len(self.names):
            return failed("no_metric", f"the objective returned {_count(len(values))}, expected {len(self.names)} "
                          f"({', '.join(self.names)})", seconds)
        numbers = tuple(float(v) for v in values)
        for name, v in zip(self.names, numbers):
            if not -_FINITE < v < _FINITE:
                return failed("no_metric", f"'{name}' is {v}", seconds)
        return Outcome("ok", numbers[:self.n_objectives], numbers[self.n_objectives:], "", seconds)

    def _values(self, result: Any) -> Sequence[Any]:
        if isinstance(result, Mapping):
            missing = [name for name in self.names if name not in result]
            if missing:
                raise ValueError(f"'{missing[0]}' is missing")
            return [result[name] for name in self.names]
        if isinstance(result, (tuple, list)):
            return result
        if result is None or isinstance(result, (str, bytes)):
            raise ValueError("expected a number" if self.single else f"expected {len(self.names)} numbers")
        return [result]

    def _once(self, config: Any) -> Outcome:
        start = time.perf_counter()
        try:
            result = self.objective(config)
            if hasattr(result, "__await__"):
                result = _awaited(result)
        except (Exception, SystemExit) as error:
            return of_exception(error, time.perf_counter() - start)
        return self.read(result, time.perf_counter() - start)

    def __call__(self, config: Any) -> Outcome:
        """Evaluates; never raises but for KeyboardInterrupt."""
        if self.repeats == 1:
            return self._once(config)
        seen = []
        for _ in range(self.repeats):
            seen.append(self._once(config))
            if not seen[-1].ok:
                return seen[-1]
        return self.joined(seen)

    def joined(self, seen: Sequence[Outcome]) -> Outcome:
        """The medians of repeats."""
        values, metrics = _medians([o.values for o in seen]), _medians([o.metrics for o in seen])
        return Outcome("ok", values, metrics, "", sum(o.seconds for o in seen))

    async def call_async(self, config: Any) -> Outcome:
        """As a call, for objectives that are coroutine functions."""
        seen = []
        for _ in range(self.repeats):
            start = time.perf_counter()
            try:
                result = await self.objective(config)
            except (Exception, SystemExit) as error:
                return of_exception(error, time.perf_counter() - start)
            seen.append(self.read(result, time.perf_counter() - start))
            if not seen[-1].ok:
                return seen[-1]
        return seen[0] if len(seen) == 1 else self.joined(seen)


def _awaited(result: Any) -> Any:
    import asyncio

    async def wait() -> Any:
        return await result

    return asyncio.run(wait())


def _medians(rows: Sequence[tuple[float, ...]]) -> tuple[float, ...]:
    return tuple(_hone.median(array("d", column)) for column in zip(*rows))


def _count(n: int) -> str:
    return "one value" if n == 1 else f"{n} values"


def _shown(result: Any) -> str:
    try:
        text = repr(result)
    except Exception:
        text = f"a {type(result).__name__}"
    return text if len(text) < 200 else text[:200] + "…"


def describe_status(status: Optional[int]) -> str:
    """What waitpid gave, for a person."""
    import os
    import signal

    if status is None:
        return "the worker was lost"
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        try:
            return f"killed by {signal.Signals(number).name}"
        except ValueError:
            return f"killed by signal {number}"
    return f"the worker ended with exit status {os.WEXITSTATUS(status)}"
