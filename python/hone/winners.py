"""Winners: schedules that tuning a model's kernels has proven faster, which later compilations take."""
from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple, Optional, Union

from . import _hone
from ._options import documented, plain
from ._show import html_table, number, seconds, text_table
from .model import Symbols, _sizes, _symbols

PathLike = Union[str, "os.PathLike[str]"]
Interval = tuple[float, float, float]  # low, middle, high
_HEADS = ["kernel", "kind", "share", "default", "tuned", "gain", "schedule", "search"]


class TunedEvent(NamedTuple):
    """What tuning a model says as it goes."""

    stage: str  #: "profile", "search", "proof", "winner", "check", "warning"
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

    def _rows(self) -> list[list[str]]:
        return [[k["kernel"], k["kind"], number(100 * k["share"], 1) + " %", seconds(k["default_s"]), seconds(k["tuned_s"]),
                 number(k["gain"][1], 3), k["schedule"], k["end"]] for k in self.kernels]  # fmt: skip

    def __str__(self) -> str:
        low, middle, high = (number(x, 3) for x in self.gain)
        return f"{text_table(_HEADS, self._rows())}\nmodel {middle} ({low} .. {high}), {self.candidates} candidates"

    def _repr_html_(self) -> str:
        return html_table(_HEADS, self._rows(), f"model {number(self.gain[1], 3)}")


def tune_model(
    model: PathLike,
    budget: Union[str, float, None] = None,
    *,
    symbols: Symbols = None,
    sizes: Union[None, str, Mapping[str, int]] = None,
    callback: Optional[Callable[[TunedEvent], object]] = None,
    **options: Any,
) -> TunedModel:
    """Searches schedules and compiler flags for the kernels of a model that take the time; `hone.tune("model.onnx")` is this.

    model: path of an .onnx or .ir file. budget: "90s", "5m", "1h", or seconds; a minute. What is proven faster and right goes
    into the file of winners, and `hone.compile` takes it from then on. Ctrl-C ends it: what was proven by then stays.

    Options:
      symbols: as of `hone.compile`
      callback: called with a TunedEvent as things happen
      {options}

    Raises:
      {raises}
    """
    if budget is not None:
        options["budget_s"] = duration_s(budget)
    got = _hone.tune_model(os.fspath(model), _symbols(symbols), {**plain(options), "sizes": _sizes(sizes)},
                           None if callback is None else lambda event: callback(TunedEvent(**event)))  # fmt: skip
    got["winners"] = _shown(got["winners"])
    return TunedModel(**got)


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
