"""Trials and Results: the record of a search."""
from __future__ import annotations

import csv
import json
import math
import os
from array import array
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Optional, Union

from . import _hone
from .config import COLUMNS
from .extras import needs
from .outcome import Outcome

Path = Union[str, os.PathLike[str]]


class Trial:
    """One evaluation.

    id: from 1, in the order finished. phase: "search", "baseline" or "told". cls: how it ended (docs/python-search.md).
    values: the objectives, scaled by the baseline where there is one; raw: as the objective gave them. metrics: what
    constraints limit. violation: by how much they are broken, 0 when they hold. seconds: wall time of the evaluation.
    at: Unix time of its end. origin: what proposed the point.
    """

    __slots__ = ("id", "point", "space", "phase", "cls", "values", "raw", "metrics", "violation", "detail", "origin",
                 "seconds", "at")

    def __init__(self, id: int, point: bytes, space: _hone.Space, phase: str, outcome: Outcome, origin: str, at: float,
                 raw: Optional[tuple[float, ...]] = None, violation: float = 0.0) -> None:
        self.id = id
        self.point = point
        self.space = space
        self.phase = phase
        self.cls, self.values, self.metrics, self.detail, self.seconds = outcome
        self.raw = outcome.values if raw is None else raw
        self.violation = violation
        self.origin = origin
        self.at = at

    @property
    def config(self) -> Any:
        """What the objective received, made anew at each use."""
        return self.space.config(self.point)

    @property
    def score(self) -> Any:
        """The objective's number; a tuple of several objectives; None of a trial that failed."""
        if self.cls != "ok":
            return None
        return self.values[0] if len(self.values) == 1 else self.values

    @property
    def ok(self) -> bool:
        return self.cls == "ok"

    @property
    def feasible(self) -> bool:
        """Ended well, and within all constraints."""
        return self.cls == "ok" and self.violation <= 0

    def __repr__(self) -> str:
        what = f"score={self.score!r}" if self.ok else f"cls={self.cls!r}"
        return f"Trial(id={self.id}, {what}, config={self.config!r})"


class Results:
    """All trials of a search, in the order in which they finished.

    baseline: the first baseline's objectives, or None. reason: why the search ended. n_dropped: trials of a resumed record
    that the space of today cannot express.
    """

    def __init__(self, space: _hone.Space, objectives: Sequence[str] = ("score",), maximize: Sequence[bool] = (False,),
                 constraints: Sequence[str] = (), trials: Optional[list[Trial]] = None) -> None:
        self.space = space
        self.objectives = tuple(objectives)
        self.maximize = tuple(maximize)
        self.constraints = tuple(constraints)
        self.trials: list[Trial] = [] if trials is None else trials
        self.baseline: Optional[tuple[float, ...]] = None
        self.reason = ""
        self.n_dropped = 0

    def __len__(self) -> int:
        return len(self.trials)

    def __iter__(self) -> Iterator[Trial]:
        return iter(self.trials)

    # --- looking ---

    def candidates(self) -> list[Trial]:
        """Feasible trials, and of the baseline its first measurement."""
        seen_baseline = False
        out = []
        for t in self.trials:
            if t.phase == "baseline" and (seen_baseline or not t.ok):
                continue
            seen_baseline |= t.phase == "baseline"
            if t.feasible:
                out.append(t)
        return out

    def get_best_result(self) -> Optional[Trial]:
        """The best feasible trial by the first objective (the earliest of equals); None when there is none."""
        sign = -1 if self.maximize[0] else 1
        return min(self.candidates(), key=lambda t: (sign * t.values[0], t.id), default=None)

    @property
    def best(self) -> Optional[Trial]:
        return self.get_best_result()

    def _minimised(self, trials: Iterable[Trial]) -> "array[float]":
        signs = [-1.0 if up else 1.0 for up in self.maximize]
        return array("d", [s * v for t in trials for s, v in zip(signs, t.values)])

    def pareto_front(self) -> list[Trial]:
        """Feasible trials that no other one beats in all objectives; of equal ones all."""
        trials = self.candidates()
        if not trials:
            return []
        ranks = _hone.pareto_rank(self._minimised(trials), len(self.objectives))
        return [t for t, rank in zip(trials, ranks) if rank == 0]

    def hypervolume(self, reference: Sequence[float]) -> float:
        """What the front dominates within `reference` (one value per objective, in its own direction)."""
        if len(reference) != len(self.maximize):
            raise _hone.UsageError(f"'reference' has one value per objective ({len(self.maximize)}), not {len(reference)}")
        point = array("d", [-r if up else r for r, up in zip(reference, self.maximize)])
        return _hone.hypervolume(self._minimised(self.pareto_front()), point)

    def counts(self) -> dict[str, int]:
        """How many trials ended how."""
        out: dict[str, int] = {}
        for t in self.trials:
            out[t.cls] = out.get(t.cls, 0) + 1
        return out

    def importance(self) -> dict[str, float]:
        """How much of the first objective's ranking each parameter alone explains, 0..1, the largest first
        (epsilon squared of Kruskal and Wallis's test)."""
        trials = [t for t in self.trials if t.ok]
        if not trials:
            return {}
        shares = _hone.importance(self.space, [t.point for t in trials], array("d", [t.values[0] for t in trials]))
        return dict(sorted(zip(self.space.names, shares), key=lambda pair: -pair[1]))

    # --- tables ---

    def columns(self) -> list[str]:
        """Of rows(): id, phase, class, a column per parameter, objective, raw objective and constraint, …

        A parameter that is called as another column is "config.NAME".
        """
        seen = [*self.objectives, *(f"raw_{name}" for name in self.objectives), *self.constraints]
        taken = {*COLUMNS, *seen}
        parameters = [f"config.{name}" if name in taken else name for name in self.space.names]
        return ["id", "phase", "class", *parameters, *seen, "wall_s", "ended_at", "origin", "detail"]

    def rows(self) -> Iterator[list[Any]]:
        """One list per trial, as columns() says; None where there is no value."""
        m, c = len(self.objectives), len(self.constraints)
        for t in self.trials:
            none = [None] * m
            metrics = list(t.metrics) if len(t.metrics) == c else [None] * c
            yield [t.id, t.phase, t.cls, *self.space.values(t.point), *(t.values or none), *(t.raw or none), *metrics,
                   t.seconds, t.at, t.origin, t.detail]

    def get_results(self) -> Any:
        """A pandas.DataFrame, one row per trial. UnsupportedError without pandas; rows() needs nothing."""
        pandas = needs("pandas", "Results.get_results")
        names, columns = self.columns(), list(zip(*self.rows())) or [()] * len(self.columns())
        frame = pandas.concat([pandas.Series(list(c), dtype=_dtype(c)) for c in columns], axis=1)
        frame.columns = names
        return frame

    def save(self, path: Path) -> None:
        """Writes CSV, readable by from_csv and by everything that reads CSV; replaces the file at once, or not at all."""
        path = os.fspath(path)
        directions = ",".join("max" if up else "min" for up in self.maximize)
        temporary = f"{path}.{os.getpid()}.tmp"
        try:
            with open(temporary, "w", newline="", encoding="utf-8") as f:
                out = csv.writer(f)
                out.writerow([*self.columns(), "problem_type", "violation", "point"])
                for t, row in zip(self.trials, self.rows()):
                    cells = [repr(v) if isinstance(v, float) else v for v in row]
                    out.writerow([*cells, directions, repr(t.violation), self.space.to_json(t.point)])
            os.replace(temporary, path)
        except BaseException:
            if os.path.exists(temporary):
                os.unlink(temporary)
            raise

    @classmethod
    def from_csv(cls, path: Path, space: Any = None) -> "Results":
        """Reads what save wrote. space: the search space (as Search takes it); without one parameters are what the file
        holds, each a choice of the values seen. Trials outside of a given space are dropped and counted (n_dropped)."""
        return _read_csv(cls, path, space)

    # --- pictures ---

    def plot_convergence(self, ax: Any = None) -> Any:
        """Scores and the best so far, over trials; gives the Matplotlib axes."""
        from .plots import convergence

        return convergence(self, ax)

    def plot_pareto(self, x: int = 0, y: int = 1, ax: Any = None) -> Any:
        """All trials and the front, objective x against objective y (their numbers)."""
        from .plots import pareto

        return pareto(self, x, y, ax)

    def plot_importance(self, most: int = 20, ax: Any = None) -> Any:
        """The most important parameters."""
        from .plots import importance

        return importance(self, most, ax)

    def __repr__(self) -> str:
        counts = ", ".join(f"{n} {cls}" for cls, n in sorted(self.counts().items()))
        return f"Results({len(self.trials)} trials: {counts or 'none'}; best: {self.best!r})"

    def _repr_html_(self) -> str:
        """The ten best trials as a table, for notebooks."""
        from html import escape

        sign = -1 if self.maximize[0] else 1
        best = sorted(self.candidates(), key=lambda t: sign * t.values[0])[:10]
        names = ["id", *self.objectives, *self.space.names]
        head = "".join(f"<th>{escape(n)}</th>" for n in names)
        body = "".join("<tr>" + "".join(f"<td>{escape(_cell(v))}</td>" for v in
                                        [t.id, *t.values, *self.space.values(t.point)]) + "</tr>" for t in best)
        counts = ", ".join(f"{n} {escape(cls)}" for cls, n in sorted(self.counts().items()))
        return (f"<p>{len(self.trials)} trials ({counts}); ended: {escape(self.reason or 'no')}</p>"
                f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>")


def _cell(value: Any) -> str:
    return "" if value is None else f"{value:.6g}" if isinstance(value, float) else str(value)


def _dtype(column: Sequence[Any]) -> Any:
    """Numbers stay numbers although some are missing."""
    kinds = {type(v) for v in column}
    if kinds <= {float, type(None)}:
        return "float64"
    if kinds == {int, type(None)}:
        return "Int64"
    return None if len(kinds) == 1 else object


def _float(text: str) -> float:
    return float(text) if text else math.nan


def _numbers(row: dict[str, str], names: Sequence[str]) -> tuple[float, ...]:
    return tuple(_float(row[n]) for n in names) if row["class"] == "ok" else ()


def _space_of(points: Sequence[dict[str, Any]]) -> _hone.Space:
    """A space of choices that can express these points."""
    from . import space as ss

    seen: dict[str, list[Any]] = {}
    for point in points:
        for name, value in point.items():
            values = seen.setdefault(name, [])
            if value not in values:
                values.append(value)
    absent = {name for name in seen if any(name not in p for p in points)}

    def parameter(name: str, values: list[Any]) -> ss.Parameter:
        out = 0.5 if name in absent else None
        if isinstance(values[0], list):
            return ss.permutation(values[0], knockout_prob=out)
        return ss.flag(knockout_prob=out) if isinstance(values[0], bool) else ss.choice(values, knockout_prob=out)

    return ss.build({name: parameter(name, values) for name, values in seen.items()})


def _read_csv(cls: type[Results], path: Path, space: Any) -> Results:
    from . import space as ss

    with open(path, newline="", encoding="utf-8") as f:
        reader = csv.DictReader(f)
        rows, header = list(reader), list(reader.fieldnames or [])
    if not {"id", "class", "point", "problem_type"} <= set(header):
        raise _hone.InputError(f"'{os.fspath(path)}' is no file of Results.save: it lacks the column 'point' or 'class'")
    raw = [name for name in header if name.startswith("raw_") and name[4:] in header]
    objectives = [name[4:] for name in raw]
    constraints = header[header.index(raw[-1]) + 1:header.index("wall_s")] if raw else []
    directions = (rows[0]["problem_type"] if rows else ",".join(["min"] * len(objectives))).split(",")
    points = [json.loads(row["point"]) for row in rows]
    sealed = _space_of(points) if space is None else ss.build(space)
    out = cls(sealed, objectives, [d == "max" for d in directions], constraints)
    for row in rows:
        try:
            point = sealed.from_json(row["point"])
        except _hone.InputError:
            out.n_dropped += 1
            continue
        outcome = Outcome(row["class"], _numbers(row, objectives), _numbers(row, constraints), row["detail"],
                          _float(row["wall_s"]))
        trial = Trial(int(row["id"]), point, sealed, row["phase"], outcome, row["origin"], _float(row["ended_at"]),
                      _numbers(row, raw), _float(row["violation"]))
        out.trials.append(trial)
        if out.baseline is None and trial.phase == "baseline" and trial.ok:
            out.baseline = trial.raw
    return out
