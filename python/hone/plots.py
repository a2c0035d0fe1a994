"""Pictures of results, with Matplotlib. Each draws into `ax` (a new figure's unless given) and gives it back."""
from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import _hone
from .extras import needs

if TYPE_CHECKING:
    from .results import Results


def _axes(what: str, ax: Any) -> Any:
    if ax is not None:
        return ax
    pyplot = needs("matplotlib.pyplot", what)
    return pyplot.subplots(figsize=(7, 4), layout="constrained")[1]


def convergence(results: "Results", ax: Any = None) -> Any:
    ax = _axes("plot_convergence", ax)
    best_of = max if results.maximize[0] else min
    ids: list[int] = []
    values: list[float] = []
    best: list[float] = []
    for t in results.trials:
        if t.feasible and t.phase != "baseline":
            ids.append(t.id)
            values.append(t.values[0])
            best.append(best_of([*best[-1:], t.values[0]]))
    failed = [t.id for t in results.trials if not t.ok]
    ax.plot(ids, values, ".", color="0.65", label="trial")
    ax.step(ids, best, where="post", color="C0", label="best so far")
    for k, at in enumerate(failed):
        ax.axvline(at, ymax=0.03, color="C3", label="failed" if k == 0 else None)
    if results.baseline is not None:
        ax.axhline(results.baseline[0], color="0.3", linestyle="--", label="baseline")
    ax.set(xlabel="trial", ylabel=results.objectives[0])
    ax.legend()
    return ax


def pareto(results: "Results", x: int, y: int, ax: Any = None) -> Any:
    m = len(results.objectives)
    if m < 2 or not (0 <= x < m and 0 <= y < m and x != y):
        raise _hone.UsageError(f"plot_pareto needs two different objectives of 0..{m - 1}, not {x} and {y}")
    ax = _axes("plot_pareto", ax)
    everything = results.candidates()
    front = sorted(results.pareto_front(), key=lambda t: t.values[x])
    ax.plot([t.values[x] for t in everything], [t.values[y] for t in everything], ".", color="0.65", label="trial")
    ax.plot([t.values[x] for t in front], [t.values[y] for t in front], "o-", color="C0", label="front")
    ax.set(xlabel=results.objectives[x], ylabel=results.objectives[y])
    ax.legend()
    return ax


def importance(results: "Results", most: int, ax: Any = None) -> Any:
    ax = _axes("plot_importance", ax)
    shares = list(results.importance().items())[:most][::-1]
    ax.barh([name for name, _ in shares], [share for _, share in shares], color="C0")
    ax.set(xlabel="share of the ranking explained", xlim=(0, 1))
    return ax
