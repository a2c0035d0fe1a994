"""Compilers: tune a workload file, prove what was found, and use controls files.

    result = hone.tune("hone.yaml", max_evals=200)
    hone.validate("hone.yaml", output="softmax.hone")
    flags = hone.Controls.load("softmax.hone").flags
"""
from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any, Callable, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple, Union, overload

from . import _hone
from ._options import documented, plain
from ._show import html_table, number, text_table
from .winners import TunedEvent, TunedModel, tune_model

PathLike = Union[str, "os.PathLike[str]"]
Point = Union[str, Mapping[str, Any]]
Interval = Tuple[float, float, float]  # low, middle, high


class TuneEvent(NamedTuple):
    """What `hone.tune` says as it goes."""

    stage: str  #: "discover", "baseline", "trial", "race", "done", "warning"
    done: int
    total: int  #: 0: not known
    elapsed_s: float
    eta_s: float  #: NaN: not known
    best_speedup: float  #: over the baseline, of the first objective; NaN while there is none
    outcomes: Dict[str, int]  #: trials by how they ended: "ok", "build_error" ...
    reused: int  #: trials whose object was known
    trial: Optional[Dict[str, Any]]  #: of "trial": `id`, `point`, `outcome`, `values`, `origin`, `detail`, `build_s`, `run_s` ...
    text: Optional[str]  #: of "warning"


class TuneResult(NamedTuple):
    """How a search over a workload ended."""

    session: int
    trials: int
    reused: int
    outcomes: Dict[str, int]
    speedup: float  #: of the closing race, over the baseline; 1 when nothing beat it; NaN for values that have no ratio
    interval: Tuple[float, float]  #: of it, 95 %: not yet a proof
    best_point: Optional[Dict[str, Any]]  #: of the workload's space
    best_argv: Optional[str]  #: compiler and flags, quoted for a shell
    reason: str  #: why it ended: "evaluations", "seconds", "plateau", "target", "exhausted"
    elapsed_s: float
    own_s: float  #: hone's own share of it

    def __str__(self) -> str:
        low, high = self.interval
        return f"{number(self.speedup, 3)}x ({number(low, 3)} to {number(high, 3)}) after {self.trials} trials: {self.best_argv}"

    def _repr_html_(self) -> str:
        rows = [["speedup", str(self).split(" after")[0]], ["trials", str(self.trials)], ["ended by", self.reason],
                ["build", self.best_argv or ""]]  # fmt: skip
        return html_table(["session", str(self.session)], rows)


class ProveEvent(NamedTuple):
    """What `hone.validate`, `minimize` and `check` say as they go."""

    stage: str  #: "build", "measure", "reduce", "warning"
    done: int
    total: int
    candidate: int
    candidates: int
    gain: Interval  #: so far; NaNs while unknown
    elapsed_s: float
    text: Optional[str]


class Proof:
    """The verdict on one candidate. `data` is what `hone validate --json` prints of it (docs/proof.md)."""

    def __init__(self, data: Dict[str, Any]) -> None:
        self.data = data
        self.kept: bool = data["kept"]
        self.verdict: str = data["verdict"]
        self.argv: str = data["argv"]
        self.point: Dict[str, Any] = _json(data["point"])

    def __bool__(self) -> bool:
        return self.kept

    def __repr__(self) -> str:
        return f"<hone.Proof {'kept' if self.kept else 'rejected'}: {self.verdict}>"


class Validation(NamedTuple):
    """What `hone.validate` found: true when a candidate was kept."""

    proofs: List[Proof]
    controls: Optional[Path]  #: the controls file that was written
    session: int

    def __bool__(self) -> bool:
        return any(self.proofs)


class Reduction(NamedTuple):
    """A point reduced to the controls that carry its gain."""

    point: Dict[str, Any]
    argv: str
    before: int  #: controls and parameters that differ from the baseline
    after: int
    measurements: int
    gain_before: Interval
    gain_after: Interval
    shares: List[Tuple[str, Interval]]  #: gain lost when a control alone is left out, the largest first
    complete: bool  #: False: the time ended first, a smaller set may exist
    proofs: List[Proof]  #: of the reduced point; empty with prove=False
    controls: Optional[Path]

    def __str__(self) -> str:
        rows = [[name, number(low, 3), number(mid, 3), number(high, 3)] for name, (low, mid, high) in self.shares]
        return f"{self.before} -> {self.after} controls\n{text_table(['control', 'low', 'gain', 'high'], rows)}"


class Check(NamedTuple):
    """Is a controls file still valid? True when it is."""

    status: str  #: "valid", "stale", "regressed", "tampered", "broken"
    text: str
    differences: List[Dict[str, Optional[str]]]  #: parts of the key that differ: `part`, `what`, `then`, `now`
    gain: Interval  #: measured now; NaNs without measure=True

    def __bool__(self) -> bool:
        return self.status == "valid"


class Report:
    """A session as data and as one HTML page."""

    def __init__(self, data: Dict[str, Any], html: Optional[str], path: Optional[Path]) -> None:
        self.data = data
        self.path = path
        self._html = html

    @property
    def html(self) -> str:
        """The page; needs no network and nothing beside it."""
        return self._html if self._html is not None else Path(self.path or "").read_text(encoding="utf-8")


class Controls:
    """A controls file: what to build with, where that holds, and what was proven (docs/controls-file.md)."""

    def __init__(self, path: Path, data: Dict[str, Any]) -> None:
        do = data["do"]
        self.path = path
        self.name: str = data["name"]
        #: Command of the compiler, and its floating-point contract.
        self.compiler: str = do["compiler"]
        self.floating_point: str = do["floating_point"]
        #: Words for the compiler's command line, in order.
        self.flags: List[str] = do["flags"]
        #: Variables to set for the compiler.
        self.environment: Dict[str, str] = dict(do["environment"])
        #: The controls by name, and the workload's own parameters.
        self.controls: Dict[str, str] = dict(do["controls"])
        self.parameters: Dict[str, str] = dict(do["parameters"])
        #: The build takes a training run (profile-guided optimisation).
        self.pgo: bool = do["pgo"]
        self.point: Dict[str, Any] = _json(do["point"])
        #: Public key of the signature; "" without one.
        self.signer: str = data["signer"]
        #: The text of NAME.rsp: one flag a line, read by gcc and clang with @NAME.rsp.
        self.rsp: str = data["rsp"]
        #: What must be the same for the claim to be valid, and who wrote the file when.
        self.provenance: Dict[str, Any] = {
            "created": data["created"], "hone_version": data["hone_version"],
            **{k: dict(v) if isinstance(v, list) else v for k, v in data["key"].items()},
        }  # fmt: skip
        #: The proof: `verdict`, `pairs`, `variants`, `results` by objective and input, `shares` by control.
        self.proof: Dict[str, Any] = data["proof"]

    @classmethod
    def load(cls, path: PathLike) -> Controls:
        """Reads NAME.hone.

        Raises:
          {raises}
        """
        name = os.fspath(path)
        return cls(Path(name), _hone.read_controls(name))

    def verify(self, key: Optional[PathLike] = None) -> Controls:
        """Checks the signature against a public key that you trust (NAME.pub); without one, against the key that the file
        names, which finds damage but says nothing of who signed. Returns itself.

        Raises:
          {raises}
        """
        _hone.verify_controls(os.fspath(self.path), None if key is None else os.fspath(key))
        return self

    def sign(self, key: PathLike) -> Controls:
        """Signs the file in place with a secret key (`hone.keygen`); an earlier signature is replaced. Returns it as it is
        now. Raises hone.TamperedError when it or its response file was changed since it was written."""
        _hone.sign_controls(os.fspath(self.path), os.fspath(key))
        return Controls.load(self.path)

    def check(self, **options: Any) -> Check:
        """As `hone.check` of this file."""
        return check(self.path, **options)

    @property
    def stages(self) -> Dict[str, List[str]]:
        """The flags by who reads them: "compile", "assemble" (-Wa), "link" (-Wl), "ptxas" (of nvcc, or of ptxas itself),
        "host" (nvcc's host compiler), each without the words that hand them on."""
        return _stages(self.flags, os.path.basename(self.compiler) == "ptxas")

    @property
    def ptx_options(self) -> str:
        """The options for ptxas, as one text: the launch option of that name in Triton, or an argument of cuda-python."""
        return " ".join(self.stages["ptxas"])

    def triton(self) -> Dict[str, str]:
        """Keyword arguments for the launch of a Triton kernel, `kernel[grid](..., **controls.triton())`; variables of
        the environment are set. A kernel that is compiled from the environment's settings is not compiled again when they
        change, so TRITON_ALWAYS_COMPILE is set too where there are any."""
        if self.environment:
            os.environ.update(self.environment, TRITON_ALWAYS_COMPILE="1")
        return {"ptx_options": self.ptx_options} if self.ptx_options else {}

    def __repr__(self) -> str:
        return f"<hone.Controls '{self.name}': {self.compiler} {' '.join(self.flags)}>"

    def _repr_html_(self) -> str:
        rows = [[name, value] for name, value in self.controls.items()]
        return html_table(["control", "value"], rows, f"{self.name}: {self.proof['verdict']}")


# --- the calls


@overload
def tune(
    workload: PathLike,
    *,
    budget: Union[str, float],
    callback: Optional[Callable[[TunedEvent], object]] = None,
    **options: Any,
) -> TunedModel: ...
@overload
def tune(
    workload: PathLike = "hone.yaml",
    *,
    budget: None = None,
    callback: Optional[Callable[[TuneEvent], object]] = None,
    canary: bool = True,
    seeds: Sequence[Point] = (),
    engine_options: Optional[Mapping[str, Any]] = None,
    workers: Any = None,
    **options: Any,
) -> TuneResult: ...
def tune(
    workload: PathLike = "hone.yaml",
    *,
    budget: Union[None, str, float] = None,
    callback: Optional[Callable[[Any], object]] = None,
    canary: bool = True,
    seeds: Sequence[Point] = (),
    engine_options: Optional[Mapping[str, Any]] = None,
    workers: Any = None,
    **options: Any,
) -> Union[TuneResult, TunedModel]:
    """Searches for the best controls of a workload, as the command `hone tune` does. The path of a model (.onnx, .ir) is
    tuned kernel by kernel: see `hone.tune_model`, whose options then count.

    Options:
      callback: called with a TuneEvent as things happen; an exception in it ends the search and is raised
      canary: first check that flags reach the program and that the measurement feels them
      seeds: points tried first, right after the baseline, as dicts or JSON
      engine_options: of the search engine, by name
      workers: "ray" measures on a Ray cluster, with num_workers, num_gpus, num_cpus, address, batch; or a hone.workers.Fleet
      {options}

    Ctrl-C ends it with what was finished recorded; the same call again goes on (resume=-1 begins anew).

    Raises:
      {raises}
    """
    if os.fspath(workload).endswith((".onnx", ".ir")):
        return tune_model(workload, budget, callback=callback, **options)
    if budget is not None:
        raise _hone.UsageError("'budget' is for models; a workload's is max_evals and max_seconds, or stands in its file")
    shown = None if callback is None else lambda event: callback(_event(event))
    if workers is not None:
        from .workers import fleet

        if engine_options:
            raise _hone.UsageError("'engine_options' are not for workers")
        own = plain(options)
        got = fleet.tune(os.fspath(workload), fleet.fleet_of(workers, own), canary, tuple(map(_text, seeds)), own, shown)
    else:
        words = tuple(f"{k}={v}" for k, v in (engine_options or {}).items())
        got = _hone.tune(os.fspath(workload), canary, tuple(map(_text, seeds)), words, plain(options), shown)
    got["best_point"] = None if got["best_point"] is None else json.loads(got["best_point"])
    return TuneResult(**got)


def validate(
    workload: PathLike = "hone.yaml",
    points: Union[Point, Sequence[Point]] = (),
    *,
    session: int = 0,
    top: Optional[int] = None,
    output: Optional[PathLike] = None,
    callback: Optional[Callable[[ProveEvent], object]] = None,
    workers: Any = None,
    **options: Any,
) -> Validation:
    """Proves points against the baseline with builds and pairs of runs of its own (docs/proof.md).

    points: as dicts or JSON; none: the best `top` of the record's session, each with a program of its own (three; of several
    objectives the whole Pareto front). session: its number, 0 is the newest. output: the controls file to write of the best
    one kept, with its response file beside it. workers: as of `hone.tune`; all pairs run on one of them.

    Options:
      {options}

    Every verdict is recorded; that nothing was kept is a result. Ctrl-C ends it with what was judged by then recorded.

    Raises:
      {raises}
    """
    if top is not None and top < 1:
        raise _hone.UsageError(f"'top' is a whole number from 1, not {top!r}")
    if isinstance(points, (str, Mapping)):
        points = (points,)
    if workers is not None:
        from .workers import fleet

        own = plain(options)
        told = fleet.validate(os.fspath(workload), fleet.fleet_of(workers, own), tuple(map(_text, points)), session, _name(output), top or 0, own)
        return Validation(_proofs(told["proofs"]), _path(told["controls"]), told["session"])
    got = _hone.validate(os.fspath(workload), tuple(map(_text, points)), session, _name(output), top or 0, plain(options),
                         _prove_callback(callback))  # fmt: skip
    return Validation(_proofs(got["proofs"]), _path(got["controls"]), got["session"])


def minimize(
    workload: PathLike = "hone.yaml",
    point: Optional[Point] = None,
    *,
    session: int = 0,
    output: Optional[PathLike] = None,
    prove: bool = True,
    callback: Optional[Callable[[ProveEvent], object]] = None,
    **options: Any,
) -> Reduction:
    """Finds the few controls that carry a point's gain (docs/minimize.md), and proves what is left.

    point: as a dict or JSON; None: the winner of the record's session, of its newest kept proof where there is one. session
    and output: as of `hone.validate`. prove=False only reduces.

    Options:
      {options}

    Raises:
      {raises}
    """
    points = () if point is None else (_text(point),)
    got = _hone.minimize(os.fspath(workload), points, session, _name(output), prove, plain(options),
                         _prove_callback(callback))  # fmt: skip
    got.update(point=json.loads(got["point"]), proofs=_proofs(got["proofs"]), controls=_path(got["controls"]))
    return Reduction(**got)


def check(
    controls: PathLike,
    *,
    workload: Optional[PathLike] = None,
    key: Optional[PathLike] = None,
    ignore: Sequence[str] = (),
    measure: bool = False,
    callback: Optional[Callable[[ProveEvent], object]] = None,
    **options: Any,
) -> Check:
    """Does a controls file fit the sources, compilers and machine of today?

    workload: its workload file, where it is not the one that the file names. key: a public key that must have signed it.
    ignore: parts of the key that do not count ("cpu", "compiler" ...). measure: build and measure again; the status is
    "regressed" when the gain is gone.

    Options, where it measures:
      {options}

    What is wrong with the file is in the result; only hone's own troubles raise:
      {raises}
    """
    got = _hone.check(os.fspath(controls), _name(workload), _name(key), ",".join(ignore) or None, measure, plain(options),
                      _prove_callback(callback))  # fmt: skip
    return Check(**got)


def report(
    workload: PathLike = "hone.yaml",
    output: Optional[PathLike] = None,
    *,
    session: int = 0,
    store: Optional[PathLike] = None,
    controls: Optional[PathLike] = None,
) -> Report:
    """A session (0: the newest) as data and as one HTML page, which is written to `output` where it is named.

    store: folder of the record; None: .hone beside the workload file. controls: a controls file of the session, for the
    share of each control.
    """
    data, html = _hone.report(os.fspath(workload), session, _name(store), _name(controls), _name(output))
    return Report(json.loads(data), html, _path(_name(output)))


def keygen(path: PathLike, comment: Optional[str] = None) -> Path:
    """Writes a secret key (Ed25519, mode 0600) and PATH.pub; refuses to replace either. Returns the path."""
    _hone.keygen(os.fspath(path), comment)
    return Path(os.fspath(path))


# --- small parts


def _json(value: Any) -> Any:
    return json.loads(value) if isinstance(value, str) else value


def _text(point: Point) -> str:
    return point if isinstance(point, str) else json.dumps(dict(point))


def _name(path: Optional[PathLike]) -> Optional[str]:
    return None if path is None else os.fspath(path)


def _path(name: Optional[str]) -> Optional[Path]:
    return None if name is None else Path(name)


def _proofs(texts: Sequence[str]) -> List[Proof]:
    return [Proof(json.loads(text)) for text in texts]


def _event(event: Dict[str, Any]) -> TuneEvent:
    if event["trial"] is not None:
        event["trial"]["point"] = json.loads(event["trial"]["point"])
    return TuneEvent(**event)


def _prove_callback(callback: Optional[Callable[[ProveEvent], object]]) -> Optional[Callable[[Dict[str, Any]], object]]:
    return None if callback is None else lambda event: callback(ProveEvent(**event))


# Words that pass an argument to another stage: as a prefix with commas, or as a word of its own before its argument.
_HANDED_ON = (("assemble", "-Wa,", ()), ("link", "-Wl,", ("-Xlinker",)),
              ("ptxas", "--ptxas-options=", ("-Xptxas", "--ptxas-options")),
              ("host", "--compiler-options=", ("-Xcompiler", "--compiler-options")))  # fmt: skip


def _stages(flags: Sequence[str], ptxas: bool) -> Dict[str, List[str]]:
    stages: Dict[str, List[str]] = {"compile": [], "assemble": [], "link": [], "ptxas": [], "host": []}
    rest = iter(flags)
    for flag in rest:
        for stage, prefix, words in _HANDED_ON:
            if flag.startswith(prefix):
                stages[stage] += flag[len(prefix) :].split(",")
                break
            if flag in words:
                stages[stage] += next(rest, "").split(",")
                break
        else:
            stages["ptxas" if ptxas else "compile"].append(flag)
    return stages


for _function, _rows in ((tune, _hone.tune_options), (validate, _hone.prove_options), (minimize, _hone.prove_options),
                         (check, _hone.prove_options)):  # fmt: skip
    documented(_function, _rows, raises=_function.__name__)
documented(Controls.load.__func__, raises="controls_load")  # type: ignore[attr-defined]
documented(Controls.verify, raises="controls_verify")
