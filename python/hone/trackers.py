"""Trackers: where a search tells how it goes. A tracker is a Callback, so one of your own is a class with the methods you need.

    hone.Search(objective, space, callbacks=[hone.trackers.Log(), hone.trackers.MLflow("http://localhost:5000")])
"""
from __future__ import annotations

import json
import logging
import math
import os
import re
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator, Mapping
from typing import Any, Optional, TextIO, Union

from . import _hone
from ._show import seconds
from .extras import needs
from .results import Results, Trial
from .search import Callback, Search


class Log(Callback):
    """One line per trial that matters.

    to: a text stream (None: standard error), or a logging.Logger, which gets it at level INFO. every: 1 is a line per
    trial, n a line per n trials and for every new best one, 0 for new best ones alone.
    """

    def __init__(self, to: Union[None, TextIO, logging.Logger] = None, every: int = 0) -> None:
        self.to = to
        self.every = every
        self._best: Optional[Trial] = None
        self._begun = 0.0

    def say(self, line: str) -> None:
        """Where lines go; override it to send them elsewhere."""
        if isinstance(self.to, logging.Logger):
            self.to.info("%s", line)
        else:
            print(line, file=self.to or sys.stderr, flush=True)

    def on_start(self, search: Search) -> None:
        self._best, self._begun = search.results.get_best_result(), time.monotonic()
        budget = search.config.budget()
        self.say(f"{search.name}: engine {search.config.engine_name()}, seed {search.config.seed}, "
                 f"{f'{budget} evaluations at most' if budget else 'no limit of evaluations'}")  # fmt: skip

    def on_trial(self, search: Search, trial: Trial) -> None:
        better = trial.feasible and _is_better(search.results, trial, self._best)
        if better:
            self._best = trial
        if better or (self.every and trial.id % self.every == 0):
            what = f"{trial.score!r}" if trial.ok else f"{trial.cls}: {_last_line(trial.detail)}"
            self.say(f"{trial.id}: {what}{' (best)' if better else ''} in {seconds(trial.seconds)} {trial.config!r}")

    def on_end(self, search: Search, results: Results) -> None:
        failed = sum(not t.ok for t in results)
        best = f"best {self._best.score!r} of trial {self._best.id} {self._best.config!r}" if self._best else "nothing worked"
        self.say(f"{search.name}: {len(results)} trials, {failed} failed, in {seconds(time.monotonic() - self._begun)}"
                 f" ({results.reason}); {best}")  # fmt: skip


class MLflow(Callback):
    """Writes a search to an MLflow server: a run with the configuration as params, the scores and the best so far as
    metrics by trial, the space and the results as artifacts; and, nested in it, a run per trial.

    uri: of the server, as "http://localhost:5000"; None: MLflow's own default ($MLFLOW_TRACKING_URI). experiment: its name,
    made where there is none. run_name: None is the search's name. trials: False writes no runs for single trials.
    tags: for the run. Needs the package mlflow (hone.UnsupportedError names it).

    Talks to the server through MlflowClient and touches no active run of yours. When the server fails, one warning says so
    and tracking ends; the search goes on.
    """

    def __init__(self, uri: Optional[str] = None, experiment: str = "hone", *, run_name: Optional[str] = None,
                 trials: bool = True, tags: Optional[Mapping[str, str]] = None) -> None:  # fmt: skip
        needs("mlflow", "hone.trackers.MLflow")
        self.uri = uri
        self.experiment = experiment
        self.run_name = run_name
        self.trials = trials
        self.tags = dict(tags or {})
        #: The run's id, once the search has begun.
        self.run_id: Optional[str] = None
        self.failed: Optional[Exception] = None
        self._client: Any = None
        self._experiment_id = ""
        self._best: Optional[Trial] = None

    # --- what a search tells

    def on_start(self, search: Search) -> None:
        self._best, self.run_id, self.failed = search.results.get_best_result(), None, None
        self._safely(self._begin, search)

    def on_trial(self, search: Search, trial: Trial) -> None:
        self._safely(self._write, search, trial)

    def on_end(self, search: Search, results: Results) -> None:
        self._safely(self._finish, search, results)

    # --- what is written

    def _safely(self, call: Any, *args: Any) -> None:
        if self.failed is not None:
            return
        try:
            call(*args)
        except Exception as error:  # whatever a server's client raises
            self.failed = error
            warnings.warn(f"MLflow tracking ends: {error}", RuntimeWarning, stacklevel=4)

    def _begin(self, search: Search) -> None:
        from mlflow import MlflowClient

        self._client = MlflowClient(self.uri)
        found = self._client.get_experiment_by_name(self.experiment)
        self._experiment_id = found.experiment_id if found else self._client.create_experiment(self.experiment)
        run = self._client.create_run(self._experiment_id, run_name=self.run_name or search.name, tags=self.tags)
        self.run_id = run.info.run_id
        self._log(self.run_id, params=_settings(search), tags={"hone.version": _hone.__version__})
        self._client.log_text(self.run_id, search.space.to_yaml(), "space.yaml")

    def _write(self, search: Search, trial: Trial) -> None:
        names = (*search.results.objectives, *search.results.constraints)
        metrics = {**dict(zip(names, (*trial.values, *trial.metrics))), "seconds": trial.seconds}
        if trial.feasible and _is_better(search.results, trial, self._best):
            self._best = trial
            metrics[f"best_{names[0]}"] = trial.values[0]
        self._log(str(self.run_id), metrics, step=trial.id)
        metrics.pop(f"best_{names[0]}", None)
        if self.trials:
            tags = {"mlflow.parentRunId": str(self.run_id), "hone.class": trial.cls, "hone.origin": trial.origin,
                    "hone.phase": trial.phase}  # fmt: skip
            run = self._client.create_run(self._experiment_id, run_name=f"trial {trial.id}", tags=tags)
            params = {name: value for name, value in _flat(trial.config)}
            notes = {"hone.detail": trial.detail[-4000:]} if trial.detail else {}
            self._log(run.info.run_id, metrics, params=params, tags=notes)
            self._client.set_terminated(run.info.run_id, "FINISHED" if trial.ok else "FAILED")

    def _finish(self, search: Search, results: Results) -> None:
        run_id = str(self.run_id)
        best = results.get_best_result()
        tags = {"hone.reason": results.reason, "hone.trials": str(len(results))}
        tags.update({f"best.{name}": value for name, value in _flat(best.config)} if best else {})
        self._log(run_id, tags=tags)
        with tempfile.TemporaryDirectory(prefix="hone-mlflow-") as folder:
            path = os.path.join(folder, "results.csv")
            results.save(path)
            self._client.log_artifact(run_id, path)
        front = [{"id": t.id, "values": t.values, "config": dict(_flat(t.config))} for t in results.pareto_front()]
        self._client.log_text(run_id, json.dumps(front, indent=1), "front.json")
        self._client.set_terminated(run_id, "KILLED" if results.reason == "interrupted" else "FINISHED")

    def _log(self, run_id: str, metrics: Optional[Mapping[str, float]] = None, *, params: Optional[Mapping[str, str]] = None,
             tags: Optional[Mapping[str, str]] = None, step: int = 0) -> None:  # fmt: skip
        from mlflow.entities import Metric, Param, RunTag

        now = int(time.time() * 1000)
        self._client.log_batch(
            run_id,
            [Metric(_key(k), v, now, step) for k, v in (metrics or {}).items() if math.isfinite(v)],
            [Param(_key(k), v[:6000]) for k, v in (params or {}).items()],
            [RunTag(_key(k), v[:5000]) for k, v in (tags or {}).items()],
        )


# --- small parts


def _is_better(results: Results, trial: Trial, best: Optional[Trial]) -> bool:
    """By the first objective."""
    if best is None:
        return True
    return trial.values[0] > best.values[0] if results.maximize[0] else trial.values[0] < best.values[0]


def _last_line(text: str) -> str:
    lines = text.strip().splitlines()
    return lines[-1] if lines else ""


def _settings(search: Search) -> dict[str, str]:
    c = search.config
    directions = ["max" if up else "min" for up in c.maximize()]
    return {"engine": c.engine_name(), "seed": str(c.seed), "objectives": ", ".join(c.names()),
            "directions": ", ".join(directions), "budget": str(c.budget()), "max_seconds": str(c.max_seconds),
            "patience": str(c.patience), "repeats": str(c.repeats), "space_hash": search.space.hash}  # fmt: skip


def _flat(config: Any, prefix: str = "") -> Iterator[tuple[str, str]]:
    """The values of a config by their path: ("tile.x", "8")."""
    if isinstance(config, Mapping):
        parts = list(config.items())
    elif isinstance(config, (list, tuple)) and not prefix:
        parts = list(enumerate(config))
    else:
        yield prefix or "value", str(config)
        return
    for key, value in parts:
        yield from _flat(value, f"{prefix}.{key}" if prefix else str(key))


def _key(name: str) -> str:
    """As MLflow allows names."""
    return re.sub(r"[^\w\-. :/]", "_", name)[:250]
