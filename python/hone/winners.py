"""Winners: schedules that tuning a model's kernels has proven faster, which later compilations take."""
from __future__ import annotations

import functools
import math
import os
import re
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple, Optional, Union

from . import _hone
from ._options import documented, plain
from ._show import html_table, number, seconds, text_table
from .model import Symbols, _sizes, _symbols
from .precision import KINDS, Precision, choose, open_samples, read

PathLike = Union[str, "os.PathLike[str]"]
Interval = tuple[float, float, float]  # low, middle, high
# Of options those that say how a choice is made.
_CHOICE = ("calibrate", "percentile", "smooth", "max_error", "metric", "metric_limit", "front", "points")
_HEADS = ["kernel", "kind", "share", "default", "tuned", "gain", "schedule", "search"]


class TunedEvent(NamedTuple):
    """What tuning a model says as it goes."""

    stage: str  #: "precision" (text: its part), "profile", "search", "proof", "winner", "check", "warning"
    kernel: Optional[str]
    kind: Optional[str]
    share: float  #: of the model's time in default kernels
    default_s: float  #: of one call; NaN while unknown
    best_s: float
    gain: Interval  #: of "winner" and "check"
    done: int  #: kernels whose search has ended
    total: int
    candidates: int
    elapsed_s: float
    left_s: float
    text: Optional[str]


class TunedModel(NamedTuple):
    """What tuning a model found. Rows of `kernels` are dicts, by share: `kernel`, `kind`, `share`, `default_s`, `tuned_s`, `gain`,
    `schedule`, `flags`, `candidates`, `winner`, `new`, `end` ..."""

    kernels: list[dict[str, Any]]
    gain: Interval  #: of the whole model on one thread, default / tuned; NaNs where it was not compared
    gain_all_cores: Interval
    dropped: bool  #: the tuned model was slower: this run's winners were taken out again
    candidates: int
    rate: float  #: candidates per second
    elapsed_s: float
    winners: Union[Path, str]  #: their file; of a server its URL, without user and password
    gain_also: Interval  #: as gain, at the sizes of `also`; of a language model, a prompt
    precision: Optional[Precision] = None  #: the choice that was made first
    precision_file: Optional[Path] = None  #: where it stands
    judged: Optional[dict[str, Any]] = None  #: what it costs: `samples`, `held_out`, `outputs` (dicts of `name`, `elements`, `other`, `rms`, `largest`, `rows`, `same_top`), `latency` (by that of floats: low, middle, high), `pairs`

    def _rows(self) -> list[list[str]]:
        return [[k["kernel"], k["kind"], number(100 * k["share"], 1) + " %", seconds(k["default_s"]), seconds(k["tuned_s"]),
                 number(k["gain"][1], 3), k["schedule"], k["end"]] for k in self.kernels]  # fmt: skip

    def __str__(self) -> str:
        low, middle, high = (number(x, 3) for x in self.gain)
        return f"{text_table(_HEADS, self._rows())}\nmodel {middle} ({low} .. {high}), {self.candidates} candidates"

    def _repr_html_(self) -> str:
        return html_table(_HEADS, self._rows(), f"model {number(self.gain[1], 3)}")


class _Tuning(NamedTuple):
    model: str
    symbols: Symbols
    sizes: Union[None, str, Mapping[str, int]]
    callback: Optional[Callable[[TunedEvent], object]]
    options: dict[str, Any]


def tune_model(
    model: PathLike,
    budget: Union[str, float, None] = None,
    *,
    symbols: Symbols = None,
    sizes: Union[None, str, Mapping[str, int]] = None,
    callback: Optional[Callable[[TunedEvent], object]] = None,
    precision: Union[None, PathLike, Precision] = None,
    data: Any = None,
    output: Optional[PathLike] = None,
    key: Optional[PathLike] = None,
    prove_latency: bool = False,
    **options: Any,
) -> TunedModel:
    """Searches schedules and compiler flags for the kernels of a model that take the time; `hone.tune("model.onnx")` is this.

    model: path of an .onnx or .ir file. budget: "90s", "5m", "1h", or seconds; a minute. What is proven faster and right goes
    into the file of winners, and `hone.compile` takes it from then on. Ctrl-C ends it: what was proven by then stays.

    Options:
      symbols: as of `hone.compile`
      callback: called with a TunedEvent as things happen
      data: samples for precision, and calibrate, percentile, smooth, max_error, metric, metric_limit, front, points: as of
        `hone.choose_precision`, whose search is made first
      output: "dir/name": the choice is written as dir/name.precision and its points as dir/name.front; None: beside the model
      key: the file that precision names must be signed with this key
      prove_latency: also time the tuned model beside that of floats, in pairs
      {options}

    Raises:
      {raises}
    """
    if budget is not None:
        options["budget_s"] = duration_s(budget)
    words = {k: options.pop(k) for k in _CHOICE if k in options}
    if precision is None and (words or data is not None or output is not None or key is not None or prove_latency):
        raise _hone.UsageError("samples, and how a choice is made of them, go with precision=")
    if precision is not None:
        return _tune_chosen(_Tuning(os.fspath(model), symbols, sizes, callback, options), precision, data, output, key, prove_latency, words)
    return _tune(_Tuning(os.fspath(model), symbols, sizes, callback, options))


def _tune(t: _Tuning) -> TunedModel:
    callback = t.callback
    got = _hone.tune_model(t.model, _symbols(t.symbols), {**plain(t.options), "sizes": _sizes(t.sizes)},
                           None if callback is None else lambda event: callback(TunedEvent(**event)))  # fmt: skip
    got["winners"] = _shown(got["winners"])
    return TunedModel(**got)


def _stage(t: _Tuning, stage: str, done: int, total: int) -> None:
    if t.callback:
        none = (math.nan, math.nan, math.nan)
        t.callback(TunedEvent("precision", None, None, math.nan, math.nan, math.nan, none, done, total, 0, math.nan, math.nan, stage))


def _tune_chosen(t: _Tuning, precision: Any, data: Any, output: Optional[PathLike], key: Optional[PathLike], prove_latency: bool,
                 words: dict[str, Any]) -> TunedModel:  # fmt: skip
    """The choice, then the kernels of what was chosen, then what it costs."""
    start_s, budget_s = time.monotonic(), t.options.get("budget_s", 0)
    now = isinstance(precision, str) and precision in KINDS
    if prove_latency and data is None:
        raise _hone.UsageError("prove_latency goes with data=")
    if now and key is not None:
        raise _hone.UsageError("'key' goes with a file: what is chosen now is not signed")
    samples = open_samples(t.model, t.symbols, data, precision if now else "file")
    stem = os.fspath(output) if output is not None else os.path.splitext(t.model)[0]
    if now:
        shared: dict[str, Any] = {k: t.options[k] for k in ("engine", "seed", "threads", "compiler", "jobs") if k in t.options}
        if precision == "mixed":
            words.setdefault("front", stem + ".front")
        chosen = choose(samples, precision, words.pop("metric", None), words.pop("metric_limit", 600), functools.partial(_stage, t),
                        {**shared, **words, "budget_s": _hone.precision_choice_s(budget_s)})
        file: Optional[Path] = chosen.save(stem + ".precision")
    else:
        chosen = precision if isinstance(precision, Precision) else read(precision, key)
        file = None if isinstance(precision, Precision) else Path(precision)
    if budget_s > 0:
        t.options["budget_s"] = _hone.precision_kernels_s(budget_s, time.monotonic() - start_s, data is not None)
    made = _tune(t._replace(options={**t.options, "precision": chosen.text}))
    judged = None
    if data is not None:
        o = plain(t.options)
        judged = _hone.precision_judge(samples, chosen.text, o.get("target"), o.get("compiler"), o.get("winners"), o.get("threads", 0),
                                       bool(o.get("relaxed")), prove_latency)
    return made._replace(precision=chosen, precision_file=file, judged=judged)


def duration_s(text: Union[str, float]) -> float:
    """Seconds of "90", "90s", "5m", "1.5h"."""
    if not isinstance(text, str):
        return float(text)
    found = re.fullmatch(r"\s*([0-9.]+)\s*([smh]?)\s*", text)
    if not found:
        raise _hone.UsageError(f"'{text}' is no duration: 90s, 5m, 1h")
    return float(found[1]) * {"": 1, "s": 1, "m": 60, "h": 3600}[found[2]]


def _shown(name: str) -> Union[Path, str]:
    return name if "://" in name else Path(name)


class Winners:
    """Winners in a file or at a server, `postgresql://HOST/DATABASE`; without a path those that compilations take. Iterates over rows, the newest first: dicts of `id`,
    `kind`, `sizes`, `target`, `device`, `compiler`, `schedule`, `flags`, `default_s`, `tuned_s`, `gain` (low, middle, high), `body` ..."""

    def __init__(self, path: Optional[PathLike] = None) -> None:
        self._given = None if path is None else os.fspath(path)

    @property
    def path(self) -> Union[Path, str]:
        """The file; of a server its URL, without user and password."""
        return _shown(_hone.winners_name(self._given))

    def rows(self) -> list[dict[str, Any]]:
        """All of them; none where there is no file yet."""
        try:
            return _hone.winners_list(self._given)
        except _hone.NotFoundError:
            return []

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self.rows())

    def __len__(self) -> int:
        return len(self.rows())

    def remove(self, id: str) -> None:
        """Takes a row out, with what was measured for it. hone.NotFoundError where there is none."""
        _hone.winners_remove(self._given, id)

    def export(self) -> str:
        """All rows as YAML, for another machine of the same kind."""
        return _hone.winners_export(self._given)

    def take(self, text: str, label: str = "winners") -> tuple[int, int]:
        """Adds the rows of an exported text; what is there already stays when it is newer. Returns how many were read and how
        many are new. hone.InputError names line and column."""
        return _hone.winners_import(self._given, text, label)

    def __repr__(self) -> str:
        return f"<hone.Winners '{self.path}'>"

    def _repr_html_(self) -> str:
        rows = [[w["kind"], w["sizes"], w["schedule"], seconds(w["default_s"]), seconds(w["tuned_s"]), number(w["gain"][1], 3)]
                for w in self]  # fmt: skip
        return html_table(["kind", "sizes", "schedule", "default", "tuned", "gain"], rows, str(self.path))


documented(tune_model, _hone.tune_model_options, raises="tune_model")
