"""Models: compile a model file to a native library and run it on NumPy arrays.

    m = hone.compile("model.onnx")
    y = m(x)
"""
from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
import weakref
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Tuple, Union

from . import _hone
from ._options import documented, plain
from ._show import count_b, html_table, number, seconds, text_table
from .config import positive, whole_number

Shape = Tuple[Union[int, str], ...]
Symbols = Union[None, Mapping[str, Union[int, str, Tuple[int, int]]], Sequence[str]]
Sizes = Union[None, str, Mapping[str, int]]
Progress = Callable[[str, int, int], object]


class Port(NamedTuple):
    """An input or output of a model."""

    name: str
    dtype: str  #: NumPy's name of the element type, or that of ml_dtypes ("bfloat16")
    shape: Shape  #: a number, or the name of a symbolic size
    low: Tuple[int, ...]  #: the least a size may be
    high: Tuple[int, ...]  #: the most

    def __str__(self) -> str:
        return f"{self.name}: {self.dtype}[{', '.join(map(str, self.shape))}]"


class Series(NamedTuple):
    """Times of runs, in seconds."""

    name: str
    n: int  #: runs
    p50_s: float
    low_s: float  #: the median's interval, 95 % (bootstrap)
    high_s: float
    p95_s: float
    p99_s: float
    throughput: float  #: runs per second of running
    times: Any  #: numpy.ndarray of float64: every run, in order


class Bench(NamedTuple):
    """What `Model.bench` has seen."""

    hone: Series
    peer: Optional[Series]  #: of the same inputs, in turns; None: there was none

    @property
    def p50_s(self) -> float:
        """Median of a run, in seconds."""
        return self.hone.p50_s

    @property
    def ratio(self) -> float:
        """Median of hone / median of the peer; NaN without one."""
        return self.hone.p50_s / self.peer.p50_s if self.peer else float("nan")

    def _rows(self) -> List[List[str]]:
        return [
            [s.name, seconds(s.p50_s), f"{seconds(s.low_s)} .. {seconds(s.high_s)}", seconds(s.p95_s), seconds(s.p99_s),
             f"{s.throughput:.1f}/s", str(s.n)]
            for s in (self.hone, self.peer) if s
        ]  # fmt: skip

    def __str__(self) -> str:
        return text_table(_BENCH_HEADS, self._rows())

    def _repr_html_(self) -> str:
        return html_table(_BENCH_HEADS, self._rows())


_BENCH_HEADS = ["who", "p50", "95 % of the median", "p95", "p99", "throughput", "runs"]
_PROFILE_HEADS = ["kernel", "kind", "calls", "time", "share", "GFLOP/s", "GB/s", "of roof", "shape", "schedule", "source"]


class Profile(NamedTuple):
    """Where a run's time goes. What was measured of the machine is what `hone doctor --measure` found; NaN where it did not run.

    Rows of `kernels` (by time) and `calls` (in order) are dicts:
      {fields}
    """

    threads: int
    runs: int
    run_s: Tuple[float, float, float]  #: of whole runs: low, median, high
    kernels_s: float  #: of all kernels together, per run
    kernels: List[Dict[str, Any]]
    calls: List[Dict[str, Any]]

    def _rows(self) -> List[List[str]]:
        return [
            [r["kernel"], r["kind"], str(r["calls"]), seconds(r["time_s"][1]), number(100 * r["share"], 1) + " %",
             number(1e-9 * r["flops"] / r["time_s"][1]) if r["time_s"][1] else "-",
             number(1e-9 * r["bytes"] / r["time_s"][1]) if r["time_s"][1] else "-",
             number(100 * r["of_roof"], 0), r["shape"], r["schedule"], r["source"]]
            for r in self.kernels
        ]  # fmt: skip

    def __str__(self) -> str:
        return f"{text_table(_PROFILE_HEADS, self._rows())}\nrun {seconds(self.run_s[1])}, {self.runs} runs"

    def _repr_html_(self) -> str:
        return html_table(_PROFILE_HEADS, self._rows(), f"run {seconds(self.run_s[1])}, {self.runs} runs")


class Verification(NamedTuple):
    """Is a compiled model right? True when every output was within the tolerance on every input."""

    same: bool
    against: str  #: the reference it was compared with
    outputs: List[Dict[str, Any]]  #: by output: `name`, `same`, `max_abs`, `max_rel`, `n_wrong`, `n_elements`, `n_nan`, `through`, `tolerance`, `of_largest`, `of_rms`

    def __bool__(self) -> bool:
        return self.same

    def __str__(self) -> str:
        rows = [[o["name"], "yes" if o["same"] else "NO", f"{o['max_abs']:.3g}", f"{o['max_rel']:.3g}"] for o in self.outputs]
        return text_table(["output", f"as {self.against}", "absolute", "relative"], rows)


_Graph = Tuple[Optional[str], Tuple[str, ...], Tuple[str, ...]]  # path, symbols, state


class _Source(NamedTuple):
    path: str
    symbols: Tuple[str, ...]
    specialize: Tuple[str, ...]
    state: Tuple[str, ...]
    options: Dict[str, Any]


class Model:
    """A compiled model. Made by `hone.compile` and `hone.load`; several threads may call one at once. A model's own docstring
    says the names, types and sizes of its inputs and outputs.

    What compiling it said, in `result`:
      {fields}
    """

    def __init__(
        self, program: "_hone.Program", path: str, source: Optional[_Source] = None, result: Optional[Dict[str, Any]] = None
    ) -> None:
        facts = program.facts()
        self._program = program
        self._source = source
        #: Path of the library.
        self.path = Path(path)
        #: The model's name.
        self.name: str = facts["name"]
        #: Instruction set it was compiled for.
        self.target: str = facts["target"]
        self.inputs: List[Port] = [_port(p) for p in facts["inputs"]]
        self.outputs: List[Port] = [_port(p) for p in facts["outputs"]]
        #: What stays from one call to the next (`state` of `hone.compile`).
        self.states: List[Port] = [_port(p) for p in facts["states"]]
        self._threads: int = facts["threads"]
        self._origin: Optional[Model] = None
        #: Compiled functions: dicts of `name`, `source`, `schedule`, `winner`.
        self.kernels: List[Dict[str, str]] = facts["kernels"]
        #: Bytes of the constants, and of one inference's memory (0: it depends on symbolic sizes).
        self.weights_b: int = facts["weights_b"]
        self.arena_b: int = facts["arena_b"]
        #: What compiling it said; empty after `hone.load`.
        self.result: Dict[str, Any] = result or {}
        self.__doc__ = _model_doc(self)
        self._special = [_special_type(p.dtype) for p in self.outputs]
        self._plain = not any(self._special)

    # --- running

    def __call__(self, *arrays: Any, **named: Any) -> Any:
        """Runs the model.

        Arrays go in by position, by name, or as one dict of names. Anything with the buffer protocol of the input's type is
        read where it lies if it is C-contiguous and aligned, else copied; so is what gives `__dlpack__`, such as a tensor
        of torch. Lists and numbers are converted. bfloat16 and 8-bit floats are arrays of ml_dtypes or unsigned integers
        with their bits.

        Returns the output, or a tuple of them in the order of `outputs`; they own their memory. Where an input lies on the
        model's device (a CUDA tensor by DLPack, or an array of `to_device`), so do the outputs: objects with `__dlpack__`
        (CUDA), `to_host()`, `shape` and `dtype`.

        Raises:
          {raises}
        """
        import numpy

        out = self._program.run(*arrays, **named)
        if out and isinstance(out[0], _hone.DeviceArray):
            return out[0] if len(out) == 1 else out
        if self._plain:
            return numpy.asarray(out[0]) if len(out) == 1 else tuple(map(numpy.asarray, out))
        shown = tuple(_view(a, special) for a, special in zip(out, self._special))
        return shown[0] if len(shown) == 1 else shown

    def run(self, arrays: Mapping[str, Any]) -> Dict[str, Any]:
        """As a call, from a dict of names to a dict of names."""
        if not isinstance(arrays, Mapping):
            raise TypeError(f"run() takes a dict of names to arrays, not {type(arrays).__name__}; a call takes arrays by position")
        out = self(dict(arrays))
        return dict(zip((p.name for p in self.outputs), out if len(self.outputs) != 1 else (out,)))

    def to_device(self, *arrays: Any, **named: Any) -> Any:
        """The inputs, given as in a call, in the memory of the model's device: one, or a tuple in the order of `inputs`. A
        call with them copies nothing to the device, and leaves its outputs there.

        Raises:
          {raises}
        """
        out = self._program.to_device(*arrays, **named)
        return out[0] if len(out) == 1 else out

    def random_inputs(self, sizes: Sizes = None, seed: int = 1) -> Dict[str, Any]:
        """Inputs for a trial, the same for the same seed everywhere: floats N(0, 1), integers and bools 0 or 1; symbolic
        sizes as given ({"batch": 4}), else their smallest."""
        made = self._program.random(_sizes(sizes), seed)
        return {p.name: _view(a, _special_type(p.dtype)) for p, a in zip(self.inputs, made)}

    # --- state

    def reset_state(self) -> None:
        """The state as a new model has it: zeros, caches without rows.

        Raises:
          {raises}
        """
        self._program.reset_state()

    def save_state(self) -> bytes:
        """The state as bytes, for `load_state` of this model in any process.

        Raises:
          {raises}
        """
        return self._program.save_state()

    def load_state(self, saved: bytes) -> None:
        """Restores a saved state; the state of another model, or damaged bytes, are refused and change nothing.

        Raises:
          {raises}
        """
        self._program.load_state(saved)

    def fork(self) -> "Model":
        """Another model of the same library that goes on from this one's state.

        Raises:
          {raises}
        """
        other = Model(_hone.Program(os.fspath(self.path), self._threads), os.fspath(self.path), self._source, self.result)
        other.load_state(self.save_state())
        other._origin = self  # keeps a temporary folder
        return other

    # --- judging

    def bench(
        self,
        inputs: Optional[Mapping[str, Any]] = None,
        *,
        sizes: Sizes = None,
        seconds: float = 1.0,
        threads: int = 0,
        pattern: str = "steady",
        against: Optional[str] = None,
        seed: int = 1,
        steps: int = 0,
    ) -> Bench:
        """Times runs on these inputs, or on random ones.

        seconds: how long, after a warm-up; at least 20 runs. threads: 0 is one per processor. pattern: "steady" back to
        back, "single" after 20 ms of idleness, "bursty" eight at a time after 50 ms. against: "onnxruntime" runs the same
        inputs in turns, in a Python process of its own; the model must come from an ONNX file. Of a model with state every
        run begins with the same one: as `reset_state` leaves it, or with random inputs as so many `steps` leave it.

        Raises:
          {raises}
        """
        whole_number("threads", threads, 0)
        positive("seconds", seconds)
        whole_number("steps", steps, 0)
        graph, arrays = self._timed(inputs, sizes, seed)
        path = self._peer_path(against)
        with _peer_python():
            got = self._program.bench(arrays, threads, float(seconds), seed, pattern, path, graph, _sizes(sizes), steps)
        return Bench(_series("hone", got["mine"]), _series(got["name"], got["peer"]) if path else None)

    def profile(
        self,
        inputs: Optional[Mapping[str, Any]] = None,
        *,
        sizes: Sizes = None,
        seconds: float = 1.0,
        threads: int = 0,
        seed: int = 1,
        steps: int = 0,
    ) -> Profile:
        """Where the time goes, kernel by kernel: compiles the model anew with a clock around every kernel call, and runs
        that. steps: as `bench` takes them.

        Raises:
          {raises}
        """
        whole_number("threads", threads, 0)
        positive("seconds", seconds)
        whole_number("steps", steps, 0)
        source = self._need_source("profile it")
        graph, arrays = self._timed(inputs, sizes, seed)
        with closing(_hone.Temp("hone-profile-")) as work:
            output = os.path.join(work.path, "model")
            options = {**source.options, "parity": False}
            _hone.compile(source.path, output, False, True, source.symbols, source.specialize, source.state, options, None)
            timed = _hone.Program(output + ".so", 1)
            got = timed.profile(arrays, threads, float(seconds), seed, None, None, graph, _sizes(sizes), steps)
        return Profile(got["threads"], got["runs"], got["run_s"], got["kernels_s"], got["kernels"], got["calls"])

    def verify(
        self,
        against: Optional[str] = None,
        *,
        model: Optional["os.PathLike[str] | str"] = None,
        inputs: int = 3,
        steps: int = 4,
        sizes: Sizes = None,
        rtol: Optional[float] = None,
        atol: Optional[float] = None,
    ) -> Verification:
        """Compares every output on random inputs with the reference interpreter, or ONNX Runtime (against="onnxruntime").

        model: the ONNX file, where it is not the one that this model was compiled from. inputs: how many. An element is
        wrong when it is farther from the judge's than atol + rtol * |judge's|: 1e-4 and 1e-3, and where neither is given
        what the narrowest type on the way to the output asks for (docs/compile.md). A model with state is run for so many
        `steps` from a reset on, for each of the inputs; its own state stays as it is.

        Raises:
          {raises}
        """
        if model is not None:
            source = _Source(os.fspath(model), (), (), self._source.state if self._source else (), {})
        else:
            source = self._need_source("name its ONNX file with model=")
        whole_number("inputs", inputs, 1)
        whole_number("steps", steps, 1)
        _check_peer(against)
        with _peer_python():
            got = self._program.verify((source.path, source.symbols, source.state), against is not None, _sizes(sizes), inputs, steps,
                                       -1.0 if rtol is None else float(rtol), -1.0 if atol is None else float(atol))
        return Verification(got["same"], got["against"], got["outputs"])

    # --- keeping

    @property
    def manifest(self) -> str:
        """What was made, as YAML: kernels, schedules, parity, sizes (docs/artifact.md)."""
        return self.path.with_suffix(".manifest").read_text(encoding="utf-8")

    def save(self, path: "os.PathLike[str] | str") -> Path:
        """Writes NAME.so and beside it NAME.h, NAME.manifest and, if the weights are not inside, NAME.weights.

        Each file is the old one or the new one, never half; the library comes last. Returns the path of the library.
        """
        to = Path(os.fspath(path))
        if to.suffix != ".so":
            raise _hone.UsageError(f"'{to}' is no name for a library: it must end in .so")
        to.parent.mkdir(parents=True, exist_ok=True)
        for ending in (".weights", ".h", ".manifest", ".so"):
            _copy(self.path.with_suffix(ending), to.with_suffix(ending))
        return to

    # --- showing

    def _facts(self) -> List[List[str]]:
        memory = count_b(self.arena_b) if self.arena_b else "by sizes"
        return [["inputs", ", ".join(map(str, self.inputs))], ["outputs", ", ".join(map(str, self.outputs))],
                ["target", self.target], ["kernels", str(len(self.kernels))], ["weights", count_b(self.weights_b)],
                ["memory of a run", memory]]  # fmt: skip

    def __repr__(self) -> str:
        ins, outs = ", ".join(map(str, self.inputs)), ", ".join(map(str, self.outputs))
        return f"<hone.Model '{self.name}' ({ins}) -> ({outs}), {self.target}>"

    def _repr_html_(self) -> str:
        return html_table(["model", self.name], self._facts())

    # --- parts

    def _need_source(self, otherwise: str) -> _Source:
        if self._source is None:
            raise _hone.UsageError(f"the model file of '{self.path}' is not known: compile it here to {otherwise}")
        return self._source

    def _timed(self, inputs: Optional[Mapping[str, Any]], sizes: Sizes, seed: int) -> Tuple[_Graph, Tuple[Any, ...]]:
        """The graph whose steps draw the inputs, or the inputs."""
        if inputs is not None:
            return (None, (), ()), (dict(inputs),)
        if self.states and self._source:
            return (self._source.path, self._source.symbols, self._source.state), ()
        return (None, (), ()), tuple(self._program.random(_sizes(sizes), seed))

    def _peer_path(self, against: Optional[str]) -> Optional[str]:
        _check_peer(against)
        return self._need_source("compare it").path if against else None


# --- making models


def compile(
    model: Any,
    *,
    output: "None | str | os.PathLike[str]" = None,
    symbols: Symbols = None,
    specialize: Union[str, Mapping[str, int], Sequence[Union[str, Mapping[str, int]]]] = (),
    state: Union[Mapping[str, str], Sequence[str]] = (),
    threads: int = 0,
    progress: Optional[Progress] = None,
    target: Optional[str] = "native",
    relaxed: bool = False,
    tolerance: float = -1.0,
    embed_weights: bool = False,
    precision: Any = None,
    data: Any = None,
    parity: bool = True,
    reference: bool = False,
    compiler: Optional[str] = "cc",
    jobs: int = 0,
    winners: "None | str | os.PathLike[str]" = None,
    use_winners: bool = True,
    use_cache: bool = True,
) -> Model:
    """Compiles a model to a native library and loads it.

    model: the path of an .onnx file (or of a graph as `hone ir` prints it, .ir), its bytes, or an onnx.ModelProto.

    Options:
      output: "dir/name" gives dir/name.so, .h, .weights and .manifest; None: a temporary folder that goes with the model,
        `Model.save` keeps it
      symbols: fixes or bounds symbolic sizes: {"seq": 128, "batch": (1, 64)} or ["seq=128", "batch=1:64"]
      specialize: further versions for these sizes, taken when a run has them: [{"batch": 1, "seq": 128}, "seq=512"]
      state: inputs and outputs that stay in the model from one call to the next: {"past.*": "present.*"} or
        ["past.*=present.*"]
      progress: called as progress(stage, done, total)
      data: samples for precision, as of `hone.choose_precision`
      {options}

    Ctrl-C ends it; nothing is left behind.

    Raises:
      {raises}
    """
    options = plain({k: v for k, v in locals().items() if k in _COMPILE_OPTIONS})
    whole_number("threads", threads, 0)
    work = _hone.Temp("hone-model-")
    try:
        path = _model_file(model, work.path)
        if precision is not None or data is not None:
            from .precision import take

            options["precision"] = take(path, precision, data, symbols)
        stem = os.path.join(work.path, Path(path).stem or "model")
        source = _Source(path, _symbols(symbols), _versions(specialize), _states(state), options)
        result = _hone.compile(path, stem, False, False, source.symbols, source.specialize, source.state, options, _spread(progress))
        made = Model(_hone.Program(stem + ".so", threads), stem + ".so", source, result)
        if output is not None:
            to = os.fspath(output)
            made.path = made.save(to if to.endswith(".so") else to + ".so")
    except BaseException:
        work.close()
        raise
    weakref.finalize(made, work.close)
    return made


def compile_to_c(
    model: Any,
    output: "str | os.PathLike[str]",
    *,
    symbols: Symbols = None,
    progress: Optional[Progress] = None,
    **options: Any,
) -> Path:
    """Writes a model as one C file: NAME.c, NAME.h, NAME.manifest and, if the weights are large, NAME.weights.

    output: "dir/name". Options as `hone.compile`, but that `target` is portable C unless it is named. Returns the path of
    the C file.
    """
    stem = os.fspath(output)
    stem = stem[:-2] if stem.endswith(".c") else stem
    with closing(_hone.Temp("hone-model-")) as work:
        _hone.compile(_model_file(model, work.path), stem, True, False, _symbols(symbols), (), (), plain(options), _spread(progress))
    return Path(stem + ".c")


def load(path: "str | os.PathLike[str]", threads: int = 0) -> Model:
    """Loads a library that hone compiled. threads: of each run; 0: one per processor.

    Raises:
      {raises}
    """
    whole_number("threads", threads, 0)
    name = os.fspath(path)
    return Model(_hone.Program(name, threads), name)


def inspect(path: "str | os.PathLike[str]") -> Dict[str, Any]:
    """What is in a model file: format, inputs, outputs, parameters, operators with counts and support."""
    found: Dict[str, Any] = json.loads(_hone.inspect(os.fspath(path)))
    return found


def generate(
    architecture: str, path: "str | os.PathLike[str]", *, batch: int = 1, seq: int = 128, dynamic: bool = False
) -> Path:
    """Writes the ONNX model of a known architecture ("mlp", "resnet50", "bert_base" ...) with random weights; the same
    arguments always give the same file. dynamic: batch and sequence length stay symbolic."""
    _hone.generate(architecture, os.fspath(path), batch, seq, dynamic)
    return Path(os.fspath(path))


# --- small parts


def _bounds(port: Port) -> str:
    free = [f"{name} from {low} to {high}" if high < 1 << 40 else f"{name} from {low}"
            for name, low, high in zip(port.shape, port.low, port.high) if isinstance(name, str)]  # fmt: skip
    return f"; {', '.join(free)}" if free else ""


def _model_doc(m: Model) -> str:
    lines = [f"Model '{m.name}' for {m.target}.", "", "Takes:", *(f"  {p}{_bounds(p)}" for p in m.inputs), "", "Returns:"]
    return "\n".join([*lines, *(f"  {p}{_bounds(p)}" for p in m.outputs), ""])


def _port(row: Tuple[str, str, List[Tuple[int, int, int]], str]) -> Port:
    name, dtype, dims, text = row
    words = _split(text)
    shape = tuple(d[0] if d[0] >= 0 else words[i] for i, d in enumerate(dims))
    return Port(name, dtype, shape, tuple(d[1] for d in dims), tuple(d[2] for d in dims))


def _split(shape: str) -> List[str]:
    """The words of "[batch, max(a, b)]"."""
    words, depth = [""], 0
    for c in shape.strip()[1:-1]:
        depth += (c == "(") - (c == ")")
        if c == "," and not depth:
            words.append("")
        else:
            words[-1] += c
    return [w.strip() for w in words]


_NATIVE = frozenset("float16 float32 float64 int8 int16 int32 int64 uint8 uint16 uint32 uint64 bool".split())


def _special_type(dtype: str) -> Any:
    """The type of ml_dtypes for what NumPy lacks; None where it is not needed or not installed."""
    if dtype in _NATIVE:
        return None
    try:
        import ml_dtypes
    except ImportError:
        return None
    return getattr(ml_dtypes, dtype, None)


def _view(array: Any, special: Any) -> Any:
    import numpy

    made = numpy.asarray(array)
    return made if special is None else made.view(special)


def _sizes(sizes: Sizes) -> Optional[str]:
    if sizes is None or isinstance(sizes, str):
        return sizes
    return ",".join(f"{name}={n}" for name, n in sizes.items())


def _symbols(symbols: Symbols) -> Tuple[str, ...]:
    if symbols is None:
        return ()
    if not isinstance(symbols, Mapping):
        return (symbols,) if isinstance(symbols, str) else tuple(symbols)
    return tuple(f"{name}={n[0]}:{n[1]}" if isinstance(n, (tuple, list)) and len(n) == 2 else f"{name}={n}"
                 for name, n in symbols.items())  # fmt: skip


def _versions(sizes: Any) -> Tuple[str, ...]:
    listed = [sizes] if isinstance(sizes, (str, Mapping)) else sizes
    return tuple(_sizes(version) or "" for version in listed)


def _states(pairs: Any) -> Tuple[str, ...]:
    if isinstance(pairs, Mapping):
        return tuple(f"{old}={new}" for old, new in pairs.items())
    return (pairs,) if isinstance(pairs, str) else tuple(pairs)


def _series(name: str, got: Dict[str, Any]) -> Series:
    import numpy

    low, mid, high = got["p50_s"]
    times = numpy.frombuffer(got["times"])
    return Series(name, got["n"], mid, low, high, got["p95_s"], got["p99_s"], got["throughput"], times)


def _check_peer(against: Optional[str]) -> None:
    if against not in (None, "onnxruntime"):
        raise _hone.UsageError(f"there is no peer '{against}'; onnxruntime is the one there is")


@contextmanager
def _peer_python() -> Iterator[None]:
    """The peer runs in this Python, unless $HONE_PYTHON says otherwise."""
    if "HONE_PYTHON" in os.environ:
        yield
        return
    os.environ["HONE_PYTHON"] = sys.executable
    try:
        yield
    finally:
        os.environ.pop("HONE_PYTHON", None)


def _spread(progress: Optional[Progress]) -> Optional[Callable[[Tuple[str, int, int]], object]]:
    return None if progress is None else lambda at: progress(*at)


def _model_file(model: Any, work: str) -> str:
    """The path of a model; what is none is written to a file of its own."""
    if hasattr(model, "SerializeToString"):
        model = model.SerializeToString()
    if isinstance(model, (bytes, bytearray, memoryview)):
        path = os.path.join(work, "model.onnx")
        Path(path).write_bytes(model)
        return path
    return str(os.fspath(model))


def _copy(source: Path, to: Path) -> None:
    """Copies atomically; when the source does not exist, the target is removed."""
    if not source.exists():
        to.unlink(missing_ok=True)
        return
    if to.exists() and source.samefile(to):
        return
    handle, part = tempfile.mkstemp(dir=to.parent, prefix=to.name + ".")
    os.close(handle)
    try:
        shutil.copyfile(source, part)
        shutil.copymode(source, part)
        os.replace(part, to)
    except BaseException:
        os.unlink(part)
        raise


_COMPILE_OPTIONS = frozenset(row[0] for row in _hone.compile_options)
documented(compile, _hone.compile_options, raises="compile")
documented(load, raises="load")
documented(Model, fields=_hone.compile_fields)
documented(Profile, fields=_hone.profile_fields)
for _name in ("bench", "profile", "verify", "reset_state", "save_state", "load_state", "fork"):
    documented(getattr(Model, _name), raises=_name)
documented(Model.__call__, raises="call")
