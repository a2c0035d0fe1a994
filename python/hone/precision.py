"""Products in fewer bits: which ones, chosen on samples, and what it costs."""
from __future__ import annotations

import math
import os
import subprocess
import tempfile
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any, Callable, NamedTuple, Optional, Union

from . import _hone
from ._options import documented, plain
from ._show import count_b, html_table, number, text_table
from .model import Progress, Symbols, _model_file, _spread, _symbols, _view

PathLike = Union[str, "os.PathLike[str]"]
Metric = Callable[[dict[int, dict[str, Any]]], float]
KINDS = ("int8", "bf16", "mixed")
_HEADS = ["", "error", "held out", "95 %", "proven", "latency", "weights", "narrow", "ranges"]


class Precision(NamedTuple):
    """Which products of a model are in fewer bits: `text` is the file that `hone compile --precision` takes, and `hone.compile`
    takes this itself. Rows of `front` (of "mixed", error ascending) are dicts: `chosen`, `error`, `held_error`, `held_bound`,
    `proven`, `latency` (by that of f32), `weights_b`, `narrow`, `calibrate`, `f32` (names of products that stay)."""

    kind: str  #: "int8", "bf16", "mixed", or "file"
    text: str
    products: int
    narrow: int  #: of the products
    front: list[dict[str, Any]] = []
    max_error: float = math.nan  #: that was applied
    late: bool = False  #: time was over before everything was tried
    alone: int = 0  #: products that were tried alone
    evaluated: int = 0  #: points that were run
    known: int = 0  #: points that stood in the file

    def save(self, path: PathLike) -> Path:
        """Writes the text, whole or not at all."""
        to = Path(path)
        part = to.with_name(to.name + ".new")
        part.write_text(self.text)
        part.replace(to)
        return to

    def _rows(self) -> list[list[str]]:
        return [["*" if p["chosen"] else "", number(p["error"], 3), number(p["held_error"], 3), number(p["held_bound"], 3),
                 "yes" if p["proven"] else "no", number(p["latency"], 3), count_b(p["weights_b"]), str(p["narrow"]), p["calibrate"]]
                for p in self.front]  # fmt: skip

    def __str__(self) -> str:
        says = f"{self.kind}: {self.narrow} of {self.products} products narrow"
        return f"{text_table(_HEADS, self._rows())}\n{says}" if self.front else says

    def __repr__(self) -> str:
        return f"<hone.Precision {self.kind}, {self.narrow} of {self.products} products narrow>"

    def _repr_html_(self) -> str:
        return html_table(_HEADS, self._rows(), repr(self)[1:-1])


def choose_precision(
    model: Any,
    precision: str = "mixed",
    data: Any = None,
    *,
    symbols: Symbols = None,
    metric: Union[None, str, Metric] = None,
    metric_limit: float = 600,
    callback: Optional[Progress] = None,
    **options: Any,
) -> Precision:
    """Chooses which products of a model of floats are in fewer bits, as `hone compile --precision` does.

    precision: "mixed" searches which products may be in bytes (error, latency and size are objectives; every fourth sample is held
    out for the proof), "int8" takes all with ranges from the samples, "bf16" takes all and needs no samples.
    data: samples: an .npz or .npy file, a folder of such, a dict of an array for each input by its name, or one array. The first
    axis is the samples.

    Options:
      symbols: as of `hone.compile`
      metric: mixed: a function that gives the error, less for better, of outputs: a dict by sample (counted from 0) of dicts by
        output of arrays; a str is a command that is run on a folder with SAMPLE.npz for each sample and prints the error
      metric_limit: seconds that one call of such a command may take
      callback: called as callback(stage, done, total)
      {options}

    Raises:
      {raises}
    """
    if precision not in KINDS:
        raise _hone.UsageError(f"precision is 'mixed', 'int8' or 'bf16', not {precision!r}")
    with closing(_hone.Temp("hone-model-")) as work:
        samples = open_samples(_model_file(model, work.path), symbols, data, precision)
        return choose(samples, precision, metric, metric_limit, callback, options)


def open_samples(path: str, symbols: Symbols, data: Any, kind: str) -> Any:
    if data is None and kind in ("int8", "mixed"):
        raise _hone.UsageError(f"precision '{kind}' takes ranges from samples: give data=, an .npz file or a dict of arrays by input")
    return _hone.precision_open(path, _symbols(symbols), tuple(_arrays(data)))


def choose(samples: Any, kind: str, metric: Union[None, str, Metric], limit_s: float, callback: Optional[Progress],
           options: Mapping[str, Any]) -> Precision:  # fmt: skip
    words = plain(options)
    if isinstance(words.get("max_error"), str):
        words["max_error"] = _share(words["max_error"])
    if metric is not None and kind != "mixed":
        raise _hone.UsageError("a metric goes with precision 'mixed'")
    asked = None if metric is None else _asked(metric, limit_s)
    name = metric if isinstance(metric, str) else getattr(metric, "__qualname__", repr(metric)) if metric else None
    return Precision(**_hone.precision_choose(samples, kind, words, asked, name, _spread(callback)))


def read(file: PathLike, key: Optional[PathLike] = None) -> Precision:
    """A file of an earlier choice; key: it must be signed with this one."""
    try:
        text = Path(file).read_text()
    except FileNotFoundError:
        known = "" if set("./") & set(os.fspath(file)) else "; precision is 'mixed', 'int8', 'bf16' or such a file"
        raise _hone.IOFailure(f"there is no precision file '{os.fspath(file)}'{known}") from None
    products, narrow = _hone.precision_read(text, os.fspath(file), None if key is None else os.fspath(key))
    return Precision("file", text, products, narrow)


def take(model: str, precision: Any, data: Any, symbols: Symbols) -> Optional[str]:
    """The text of a choice, of what `hone.compile` is given."""
    if precision is None and data is not None:
        raise _hone.UsageError("'data' goes with 'precision'")
    if precision is None or isinstance(precision, Precision):
        return precision.text if precision else None
    if precision in KINDS:
        return choose_precision(model, precision, data, symbols=symbols).text
    return read(precision).text


def _share(text: str) -> float:
    """0.01 of "1%" or "0.01"."""
    try:
        return float(text.rstrip("% ")) / (100 if text.rstrip().endswith("%") else 1)
    except ValueError:
        raise _hone.UsageError(f"max_error takes a number from 0 on, such as 0.01 or '1%', not {text!r}") from None


def _arrays(data: Any) -> list[tuple[str, dict[str, Any]]]:
    """(label, arrays by name) of what holds samples."""
    if data is None:
        return []
    if isinstance(data, Mapping):
        return [("data", dict(data))]
    if not isinstance(data, (str, os.PathLike)):
        return [("data", {"": data})]
    import numpy

    path = Path(data)
    files = sorted(f for f in path.iterdir() if f.suffix in (".npz", ".npy")) if path.is_dir() else [path]
    if not files:
        raise _hone.InputError(f"folder '{path}' holds no .npz or .npy files")
    found = []
    for f in files:
        try:
            held = numpy.load(f)
        except (OSError, ValueError) as error:
            raise _hone.IOFailure(f"cannot read '{f}': {error}") from None
        found.append((str(f), {"": held} if isinstance(held, numpy.ndarray) else dict(held)))
    return found


def _asked(metric: Union[str, Metric], limit_s: float) -> Callable[[dict[int, dict[str, Any]]], float]:
    """A metric of arrays of NumPy, of a function or a command."""

    def of_arrays(outputs: dict[int, dict[str, Any]]) -> float:
        held = {i: {name: _view(a, None) for name, a in arrays.items()} for i, arrays in outputs.items()}
        return _run(metric, held, limit_s) if isinstance(metric, str) else metric(held)

    return of_arrays


def _run(command: str, outputs: dict[int, dict[str, Any]], limit_s: float) -> float:
    import numpy

    with tempfile.TemporaryDirectory(prefix="hone-outputs-") as folder:
        for i, arrays in outputs.items():
            numpy.savez(os.path.join(folder, f"{i:06}.npz"), **arrays)
        try:
            done = subprocess.run(f'{command} "$HONE_OUTPUTS"', shell=True, env={**os.environ, "HONE_OUTPUTS": folder}, stdout=subprocess.PIPE,
                                  text=True, timeout=limit_s)  # fmt: skip
        except subprocess.TimeoutExpired:
            raise _hone.LimitError(f"the metric '{command}' ran for more than {limit_s:g} s and was ended; metric_limit= gives it more") from None
    if done.returncode:
        raise _hone.FailedError(f"the metric '{command}' ended with exit code {done.returncode}")
    last = (done.stdout.split("\n") if not done.stdout.strip() else done.stdout.strip().split("\n"))[-1].strip()
    try:
        return float(last)
    except ValueError:
        raise _hone.FailedError(f"the last line that the metric '{command}' prints is {last!r}; it should be one number") from None


documented(choose_precision, _hone.precision_options, raises="choose_precision")
