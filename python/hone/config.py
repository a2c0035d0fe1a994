"""SearchConfiguration: the options of a search besides its objective and its space."""
from __future__ import annotations

import numbers
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Optional, Union

from . import _hone

_LIMIT = re.compile(r"^\s*([A-Za-z_][\w.\-]*)\s*(<=|>=|<|>)\s*([-+0-9.eE]+)\s*$")
_DEFAULT_EVALS = 200
_POOL = 32
# Of every table of results.
COLUMNS = {"id", "phase", "class", "wall_s", "ended_at", "origin", "detail", "problem_type", "violation", "point"}


@dataclass(frozen=True)
class Constraint:
    """An outcome constraint: the metric `name` is at most (sign 1) or at least (sign -1) `limit`."""

    name: str
    sign: int
    limit: float

    def violation(self, value: float) -> float:
        """The violation relative to the limit; 0 or less: satisfied."""
        return self.sign * (value - self.limit) / (abs(self.limit) or 1.0)


def whole_number(name: str, value: Any, least: Optional[int] = None) -> None:
    """UsageError unless `value` is one (2.0 is), or None."""
    if value is None:
        return
    good = isinstance(value, numbers.Real) and not isinstance(value, bool) and float(value).is_integer()
    if not good or least is not None and float(value) < least:
        raise _hone.UsageError(f"'{name}' is a whole number{'' if least is None else f' from {least}'}, not {value!r}")


def positive(name: str, value: Any) -> None:
    """UsageError unless `value` is a number above 0, or None."""
    if value is not None and not (isinstance(value, numbers.Real) and float(value) > 0):
        raise _hone.UsageError(f"'{name}' is a number above 0, not {value!r}")


def read_constraint(text: Union[str, Constraint]) -> Constraint:
    """ "memory_mb <= 512" """
    if isinstance(text, Constraint):
        return text
    found = _LIMIT.match(text)
    if not found:
        raise _hone.UsageError(f"constraint '{text}' is not of the form 'metric <= number' or 'metric >= number'")
    name, relation, limit = found.groups()
    return Constraint(name, 1 if relation[0] == "<" else -1, float(limit))


@dataclass
class SearchConfiguration:
    """All fields have defaults; a keyword of `Search` overrides the field of its name.

    generations, pool_size: the budget is generations * pool_size evaluations unless max_evals says otherwise.
    pool_size, cull_size, mutate_rate: of the genetic engines: points of a generation, how many of them are left as
        parents, share of children with mutated genes (0..1). Giving one of them chooses the engine "evolve" ("nsga2" for
        several objectives) unless `engine` is given.
    problem_type: "min" or "max". directions: one of them per objective instead.
    num_objectives: how many numbers the objective returns; at most 8.
    objectives: their names; "score", or "score_0", "score_1", ... unless given.
    constraints: limits such as "memory_mb <= 512" on further numbers that the objective returns behind its objectives (or
        by name, in a mapping). Points beyond a limit are never the best.
    engine: one of these, "auto" unless given. engine_options: its options (docs/engines.md) by name:
        {engines}
    seed: the same seed gives the same points (with one worker; with several the order of results decides, too).
    max_evals, max_seconds, patience: end of the search: evaluations, wall time, evaluations without a gain.
        Without any of them, and no generations: 200 evaluations.
    repeats: evaluations of a point within one trial; the median counts.
    baseline: True (the default point) or a config that is measured first and again every `baseline_every` trials;
        scores are scaled by first / latest baseline, so that a machine's drift cancels.
    seeds: configs to try first.
    """

    generations: Optional[int] = None
    pool_size: Optional[int] = None
    cull_size: Optional[int] = None
    mutate_rate: Optional[float] = None
    problem_type: str = "min"
    num_objectives: int = 1
    directions: Optional[Sequence[str]] = None
    objectives: Optional[Sequence[str]] = None
    constraints: Sequence[Union[str, Constraint]] = ()
    engine: Optional[str] = None
    engine_options: Mapping[str, Any] = field(default_factory=dict)
    seed: int = 0
    max_evals: Optional[int] = None
    max_seconds: Optional[float] = None
    patience: Optional[int] = None
    repeats: int = 1
    baseline: Any = None
    baseline_every: int = 10
    seeds: Sequence[Any] = ()

    def __post_init__(self) -> None:
        for name in ("generations", "pool_size", "cull_size", "max_evals", "patience", "repeats", "num_objectives",
                     "baseline_every"):
            whole_number(name, getattr(self, name), 1)
        whole_number("seed", self.seed)
        positive("max_seconds", self.max_seconds)
        for name in ("directions", "objectives", "constraints"):
            if isinstance(getattr(self, name), str):
                setattr(self, name, (getattr(self, name),))
        if isinstance(self.seeds, Mapping):
            self.seeds = (self.seeds,)
        if self.cull_size is not None and self.cull_size > (self.pool_size or _POOL):
            raise _hone.UsageError(f"'cull_size' ({self.cull_size}) is more than 'pool_size' ({self.pool_size or _POOL})")
        if len(self.names()) != self.num_objectives or len(self.maximize()) != self.num_objectives:
            raise _hone.UsageError(f"'objectives' and 'directions' have one entry per objective ({self.num_objectives})")
        everything = [*self.names(), *(c.name for c in self.limits())]
        for name in everything:
            if name in COLUMNS:
                raise _hone.UsageError(f"'{name}' is a column of every table of results; call it otherwise")
            if everything.count(name) > 1:
                raise _hone.UsageError(f"'{name}' is given twice among objectives and constraints")

    def maximize(self) -> tuple[bool, ...]:
        """Per objective: is more better?"""
        words = list(self.directions) if self.directions is not None else [self.problem_type] * self.num_objectives
        for word in words:
            if word not in ("min", "max", "minimize", "maximize"):
                raise _hone.UsageError(f"a direction is 'min' or 'max', not {word!r}")
        return tuple(word.startswith("max") for word in words)

    def names(self) -> tuple[str, ...]:
        """Of the objectives."""
        if self.objectives is not None:
            return tuple(self.objectives)
        return ("score",) if self.num_objectives == 1 else tuple(f"score_{k}" for k in range(self.num_objectives))

    def limits(self) -> tuple[Constraint, ...]:
        """The constraints, read."""
        return tuple(read_constraint(text) for text in self.constraints)

    def budget(self) -> Optional[int]:
        """Evaluations; None: no limit of that kind."""
        if self.max_evals is not None:
            return self.max_evals
        if self.generations is not None:
            return self.generations * (self.pool_size or _POOL)
        return _DEFAULT_EVALS if self.max_seconds is None and self.patience is None else None

    def engine_name(self) -> str:
        """The engine that is taken."""
        genetic = (self.pool_size, self.cull_size, self.mutate_rate) != (None, None, None)
        if self.engine is not None or not genetic:
            return self.engine or "auto"
        return "evolve" if self.num_objectives == 1 else "nsga2"

    def engine_texts(self) -> tuple[str, ...]:
        """Engine options as the library takes them."""
        known = {row[0]: row[2] for row in _hone.engines()}.get(self.engine_name(), "")
        mine = {"pool": self.pool_size, "parents": self.cull_size, "mutate": self.mutate_rate}
        texts = [f"{k}={v!r}" for k, v in mine.items() if v is not None and re.search(rf"\b{k}=", known)]
        return (*texts, *(f"{k}={v}" for k, v in self.engine_options.items()))


def _engines(indent: str) -> str:
    return f"\n{indent}".join(f"{name}: {summary}" + (f" ({options})" if options else "")
                              for name, summary, options in _hone.engines())  # fmt: skip


SearchConfiguration.__doc__ = (SearchConfiguration.__doc__ or "").replace("{engines}", _engines("        "))
