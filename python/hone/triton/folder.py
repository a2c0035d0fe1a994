"""A workload of a Triton kernel: a folder with the PTX of every configuration, how each is launched, and a workload file over the
configurations and the controls of ptxas, which hone.tune, validate, minimize and check take like any other."""
from __future__ import annotations

import itertools
import json
import os
import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Optional, Union

from .. import _hone
from .kernel import OPTIONS, Argument, Compiled, bind, compile, function_of, toolkit

MOST_CONFIGS = 1024
_WORD = re.compile(r"[A-Za-z0-9_.+-]+")
# Data of a benchmark by element type; others have to be told.
_DATA = {"fp16": ("f16", "normal"), "bf16": ("bf16", "normal"), "fp32": ("f32", "normal"), "fp64": ("f64", "normal")}
_TOLERANCE = {"fp16": 1e-2, "bf16": 4e-2, "fp32": 1e-4, "fp64": 1e-10}


class Bench(NamedTuple):
    """How a configuration is measured. run: the workload's command; {point} names the configuration. metrics: what it prints."""

    run: Optional[str] = "{gpu_bench} launch/{point}.kernel {out}"
    metrics: Any = None
    objective: str = "minimize latency"
    describe: bool = True  #: write launch/*.kernel


#: Without a GPU: metrics of the machine code.
STATIC = Bench(None, {"source": "sass"}, "minimize instructions", False)


class Folder(NamedTuple):
    """What was written."""

    path: Path
    workload: Path
    configs: list[dict[str, Any]]  #: the first one is what gains are measured against
    left_out: list[tuple[dict[str, Any], str]]  #: those that Triton does not compile, and why


def configs_of(space: Any) -> tuple[dict[str, list[Any]], list[dict[str, Any]]]:
    """(values by parameter, all configurations). A list is one of triton.Config, or of dicts: a choice among them as they are."""
    if isinstance(space, Mapping):
        values = {str(k): list(v) if isinstance(v, (list, tuple, range)) else [v] for k, v in space.items()}
        for name, given in values.items():
            if not given or not all(_WORD.fullmatch(str(v)) for v in given):
                raise _hone.UsageError(f"'{name}' is a list of numbers or words, not {space[name]!r}")
        n = 1
        for given in values.values():
            n *= len(given)
        if n > MOST_CONFIGS:
            raise _hone.UsageError(f"{n} configurations, each of which Triton compiles; {MOST_CONFIGS} are the most: leave values out")
        return values, [dict(zip(values, row)) for row in itertools.product(*values.values())]
    rows = [_of_config(c) for c in space]
    if not rows:
        raise _hone.UsageError("no configuration to begin with")
    return {"config": [str(i) for i in range(len(rows))]}, rows


def _of_config(c: Any) -> dict[str, Any]:
    if isinstance(c, Mapping):
        return dict(c)
    out = dict(c.kwargs)
    for name in OPTIONS:
        value = getattr(c, name, None)
        if value is not None and not (name == "num_ctas" and value == 1):
            out[name] = value
    return out


def _point(values: Mapping[str, Sequence[Any]]) -> str:
    """The name of a configuration, as a text of the workload's parameters."""
    return "-".join(f"{{{name}}}" for name in values) or "only"


def _name(values: Mapping[str, Sequence[Any]], index: int, config: Mapping[str, Any]) -> str:
    if list(values) == ["config"] and "config" not in config:
        return str(index)
    return "-".join(str(config[name]) for name in values) or "only"


# --- how a kernel is launched


def _buffer(a: Argument, role: str, data: Optional[str]) -> str:
    kind = a.type.lstrip("*")
    if kind in _DATA:
        word, usual = _DATA[kind]
    else:
        word = "u8" if a.bits == 8 else f"{'u' if kind.startswith('u') else 'i'}{a.bits}"
        usual = ""
    data = data or usual
    if role != "out" and not data:
        raise _hone.UsageError(f"what does the tensor '{a.name}' of {kind} hold? data={{'{a.name}': 'index 1000'}} fills it with 0 to 999, "
                               "'constant 1' with ones, 'uniform LOW HIGH' with numbers of this range")  # fmt: skip
    return f"buffer {a.name} {role} {word} {a.elements}" + ("" if role == "out" else f" {data}")


def launch_text(made: Compiled, bound: Sequence[Argument], grid: Sequence[int], roles: Mapping[str, str], data: Mapping[str, str]) -> str:
    """The description of one launch, which the ready GPU program reads (docs/harness-gpu.md)."""
    if made.clusters > 1:
        raise _hone.UnsupportedError(f"'{made.name}' runs in clusters of {made.clusters} blocks, which the ready program does not launch; "
                                     "leave num_ctas out")  # fmt: skip
    passed, lines = [], [f"# {made.name}: written by hone.triton"]
    for a in bound:
        if a.type == "constexpr":
            continue
        if a.is_tensor:
            lines.append(_buffer(a, roles.get(a.name, "in"), data.get(a.name)))
            passed.append(a.name)
        else:
            passed.append(f"{a.value}:{_scalar(a.type)}")
    extra = len(made.parameters) - len(passed)
    if made.scratch_b:
        blocks = 1
        for n in grid:
            blocks *= n
        lines.append(f"buffer hone_scratch out u8 {made.scratch_b * blocks}")
        passed.append("hone_scratch")
        extra -= 1
    passed += ["0:u64"] * extra
    lines += [f"launch {made.name}", f"  grid {' '.join(map(str, grid))}", f"  block {made.threads}"]
    lines += [f"  shared {made.shared_b}"] if made.shared_b else []
    return "\n".join([*lines, f"  pass {' '.join(passed)}", ""])


def _scalar(kind: str) -> str:
    return {"fp32": "f32", "fp64": "f64", "fp16": "f16", "bf16": "bf16", "u1": "u8", "i1": "u8"}.get(kind, kind)


def grid_of(grid: Any, bound: Sequence[Argument], config: Mapping[str, Any]) -> tuple[int, ...]:
    """Blocks in each direction; a function of the configuration is asked."""
    if callable(grid):
        grid = grid({**{a.name: a.value for a in bound}, **config})
    out = tuple(int(n) for n in ([grid] if isinstance(grid, int) else grid))
    if not 1 <= len(out) <= 3 or min(out) < 1:
        raise _hone.UsageError(f"a grid is one to three numbers of blocks, not {out}")
    return out


# --- writing


def _yaml(value: Any) -> str:
    """JSON is YAML."""
    return json.dumps(value)


def _workload(name: str, tool: Any, made: Compiled, values: Mapping[str, Sequence[Any]], bench: Bench, settings: Mapping[str, Any]) -> str:
    point = _point(values)
    own = ["-v", *([] if made.fusion else ["--fmad=false"]), *tool.flags]
    build = f"{{cc}} {' '.join(own)} {{flags}} --gpu-name={made.target} ptx/{point}.ptx -o {{out}}"
    parameters = {k: {"type": "ordinal" if all(isinstance(x, (int, float)) for x in v) else "choice",
                      "values": [x if isinstance(x, (int, float)) and not isinstance(x, bool) else str(x) for x in v],
                      "default": v[0] if isinstance(v[0], (int, float)) else str(v[0])} for k, v in values.items() if len(v) > 1}  # fmt: skip
    for k, v in values.items():
        if len(v) == 1:
            build = build.replace(f"{{{k}}}", str(v[0]))
    if not settings.get("controls", True):
        build = build.replace("{cc}", shlex.quote(tool.ptxas)).replace("{flags} ", "")
    rows: dict[str, Any] = {"hone": 1, "name": name, "sources": ["ptx", "launch"] if bench.describe else ["ptx"], "build": build}
    if bench.run is not None:
        run = bench.run.replace("{point}", point)
        for k, v in values.items():
            run = run.replace(f"{{{k}}}", str(v[0])) if len(v) == 1 else run
        rows["run"] = run
    if settings.get("controls", True):
        contract = "contract" if made.fusion else "strict"
        rows.update(compilers=[tool.ptxas], baseline={"flags": "-O3", "floating_point": contract}, floating_point=contract)
    if parameters:
        rows["parameters"] = parameters
    if bench.metrics is not None:
        rows["metrics"] = bench.metrics
    rows["objectives"] = bench.objective
    rows.update({k: v for k, v in settings.items() if v is not None and (k != "controls" or v is not True)})
    return "# written by hone.triton (docs/python-triton.md)\n" + "".join(f"{k}: {_yaml(v)}\n" for k, v in rows.items())


def write(path: Union[str, "os.PathLike[str]"], kernel: Any, *args: Any, space: Any = (), grid: Any = None, target: Union[str, int] = "sm_90",
          bench: Bench = STATIC, outputs: Sequence[str] = (), inplace: Sequence[str] = (), data: Optional[Mapping[str, str]] = None,
          settings: Optional[Mapping[str, Any]] = None, progress: Optional[Callable[[int, int], object]] = None, **kwargs: Any) -> Folder:  # fmt: skip
    """Writes the workload of a kernel with these arguments into a folder.

    Args:
      space: values by constant or option, {"BLOCK": [1024, 2048], "num_warps": [4, 8]}, the first of each is the default; or a list of
        triton.Config, or of dicts.
      grid: as of a launch; needed where it is measured.
      target: "sm_90" ...; the arguments may be hone.triton.Tensor: no GPU is needed.
      bench: `STATIC` metrics of the machine code, or `Bench()`: on the GPU by the ready program.
      outputs: tensors that the kernel writes, which are compared; inplace: those that it also reads.
      data: by tensor, what it is filled with; floats are normally distributed, others have to be told.
      settings: more keys of the workload file (docs/workload.md): limits, parity, budget, controls ...
      progress: is called with (done, all) as configurations are compiled.
    """
    fn = function_of(kernel)
    folder = Path(os.fspath(path))
    values, configs = configs_of(space or [{}])
    bound = bind(fn, args, kwargs)
    names = {a.name for a in bound if a.is_tensor}
    unknown = [x for x in (*outputs, *inplace, *(data or {})) if x not in names]
    if unknown:
        raise _hone.UsageError(f"'{unknown[0]}' is no tensor of '{fn.__name__}' ({', '.join(sorted(names))})")
    if bench.describe and grid is None:
        raise _hone.UsageError("a kernel that is measured has a grid")
    if bench.describe and not (outputs or inplace):
        raise _hone.UsageError(f"which tensors does '{fn.__name__}' write? outputs=['...'] names them")
    roles = {**dict.fromkeys(outputs, "out"), **dict.fromkeys(inplace, "inout")}
    for part in ("ptx", "launch") if bench.describe else ("ptx",):
        (folder / part).mkdir(parents=True, exist_ok=True)
    kept, left_out, made = [], [], None
    for i, config in enumerate(configs):
        point = _name(values, i, config)
        try:
            one = compile(fn, *args, target=target, **{**kwargs, **config})
        except _hone.ToolError as error:
            if not i:
                raise
            left_out.append((config, str(error)))
            continue
        finally:
            if progress is not None:
                progress(i + 1, len(configs))
        made = made or one
        (folder / "ptx" / f"{point}.ptx").write_text(one.ptx)
        if bench.describe:
            own = bind(fn, args, {**kwargs, **config})
            (folder / "launch" / f"{point}.kernel").write_text(launch_text(one, own, grid_of(grid, own, config), roles, data or {}))
        kept.append(config)
    assert made is not None
    tolerance = max((_TOLERANCE.get(a.type.lstrip("*"), 0.0) for a in bound if a.name in roles), default=0.0)
    more = {"parity": {"rule": "rel", "tolerance": tolerance} if tolerance and len(configs) > 1 else None} if bench.describe else {}
    text = _workload(fn.__name__, toolkit(target), made, values, bench, {**more, **(settings or {})})
    workload = folder / "hone.yaml"
    workload.write_text(text)
    return Folder(folder, workload, kept, left_out)

