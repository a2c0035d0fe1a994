"""A Triton kernel and its arguments: what Triton compiles of them, without a GPU."""
from __future__ import annotations

import inspect
import math
import os
import re
import shlex
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Optional, Union

from .. import _hone
from ..extras import needs

# Triton's name of an element type; bits.
_TYPES = {"float16": "fp16", "bfloat16": "bf16", "float32": "fp32", "float64": "fp64", "int8": "i8", "int16": "i16", "int32": "i32",
          "int64": "i64", "uint8": "u8", "uint16": "u16", "uint32": "u32", "uint64": "u64", "bool": "i1", "float8_e4m3fn": "fp8e4nv",
          "float8_e5m2": "fp8e5"}  # fmt: skip
_BITS = {"fp16": 16, "bf16": 16, "fp32": 32, "fp64": 64, "fp8e4nv": 8, "fp8e5": 8, "i1": 8}
# Keyword arguments of a launch that are not the kernel's own.
OPTIONS = ("num_warps", "num_stages", "num_ctas", "maxnreg", "enable_fp_fusion", "ptx_options", "sched4reg", "launch_pdl")


class Tensor(NamedTuple):
    """A tensor that is not there: its element type ("fp32", "float16") and shape. strides: in elements; None: row by row."""

    dtype: str
    shape: tuple[int, ...]
    strides: Optional[tuple[int, ...]] = None


class Argument(NamedTuple):
    """An argument of a kernel, as far as it counts for compiling and measuring."""

    name: str
    type: str  #: of Triton: "*fp32", "i32", "constexpr"
    value: Any = None  #: of a number or a constant
    elements: int = 0  #: of a tensor, from its first to its last
    text: str = ""  #: in a key
    aligned: bool = False  #: divisible by 16

    @property
    def is_tensor(self) -> bool:
        return self.type.startswith("*")

    @property
    def bits(self) -> int:
        """Of an element."""
        name = self.type.lstrip("*")
        return _BITS.get(name) or int(name[1:])


class Compiled(NamedTuple):
    """What Triton made of a kernel."""

    name: str  #: the entry's
    ptx: str
    cubin: bytes
    target: str  #: "sm_90a"
    threads: int  #: of a block
    shared_b: int
    scratch_b: int  #: global memory that a block wants beside its arguments
    clusters: int  #: blocks of a cluster
    fusion: bool  #: may ptxas fuse multiplications and additions?

    @property
    def parameters(self) -> list[str]:
        """PTX types of the entry's parameters: "u64", "u32" ..."""
        head = re.search(r"\.entry\s+\w+\s*\((.*?)\)", self.ptx, re.S)
        return re.findall(r"\.param\s+(?:\.align \d+\s+)?\.(\w+)", head[1]) if head else []


def triton_of(what: str) -> Any:
    return needs("triton", what)


def function_of(kernel: Any) -> Any:
    """The JITFunction below decorators."""
    while not hasattr(kernel, "arg_names") or not hasattr(kernel, "cache_key"):
        kernel = getattr(kernel, "fn", None)
        if kernel is None:
            raise _hone.UsageError("a kernel is a function under @triton.jit")
    return kernel


# --- arguments


def _shape(x: Any) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """(shape, strides in elements)"""
    shape = tuple(int(n) for n in x.shape)
    own = x.strides if isinstance(x, Tensor) else x.stride() if callable(getattr(x, "stride", None)) else getattr(x, "strides", None)
    if own is not None and hasattr(x, "itemsize") and not callable(getattr(x, "stride", None)):
        own = [n // x.itemsize for n in own]
    if own is None:
        own = [math.prod(shape[i + 1 :]) for i in range(len(shape))]
    return shape, tuple(int(n) for n in own)


def _tensor(name: str, x: Any) -> Argument:
    kind = str(x.dtype).rpartition(".")[2]
    kind = _TYPES.get(kind, kind)
    if kind not in _TYPES.values():
        raise _hone.UsageError(f"argument '{name}': elements of type '{x.dtype}' are none of {', '.join(_TYPES.values())}")
    shape, strides = _shape(x)
    elements = 1 + sum((n - 1) * abs(s) for n, s in zip(shape, strides)) if all(shape) else 0
    plain = [math.prod(shape[i + 1 :]) for i in range(len(shape))]
    text = f"{kind}[{','.join(map(str, shape))}]" + ("" if strides == tuple(plain) else f"/{','.join(map(str, strides))}")
    pointer = getattr(x, "data_ptr", None)
    return Argument(name, "*" + kind, None, elements, text, pointer is None or pointer() % 16 == 0)


def _number(parameter: Any, value: Any) -> Argument:
    name = parameter.name
    text = str(value)
    if isinstance(value, bool):
        return Argument(name, "u1", int(value), 0, text)
    if isinstance(value, float):
        return Argument(name, "fp32", value, 0, text)
    special = not getattr(parameter, "do_not_specialize", False)
    if value == 1 and special:
        return Argument(name, "constexpr", 1, 0, text)
    kind = "i32" if -(2**31) <= value < 2**31 else "i64" if value < 2**63 else "u64"
    return Argument(name, getattr(parameter, "annotation_type", None) or kind, value, 0, text, special and value % 16 == 0)


def bind(kernel: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[Argument]:
    """The arguments of a launch in the kernel's order; constants without a value have None."""
    fn = function_of(kernel)
    names = [p.name for p in fn.params]
    unknown = [k for k in kwargs if k not in names and k not in OPTIONS]
    if len(args) > len(names) or unknown:
        raise _hone.UsageError(f"'{fn.__name__}' takes ({', '.join(names)}), not {unknown[0] if unknown else f'{len(args)} arguments'}")
    given = {**dict(zip(names, args)), **{k: v for k, v in kwargs.items() if k in names}}
    out = []
    for p in fn.params:
        value = given.get(p.name, p.default if p.has_default else None) if hasattr(p, "has_default") else given.get(p.name)
        if p.name not in given and value is inspect.Parameter.empty:
            value = None
        if p.is_constexpr:
            out.append(Argument(p.name, "constexpr", value, 0, repr(value)))
        elif p.name not in given:
            raise _hone.UsageError(f"'{fn.__name__}' has no argument '{p.name}' here")
        elif value is None:
            out.append(Argument(p.name, "constexpr", None, 0, "None"))
        elif hasattr(value, "shape") and hasattr(value, "dtype"):
            out.append(_tensor(p.name, value))
        elif isinstance(value, (bool, int, float)):
            out.append(_number(p, value))
        else:
            raise _hone.UsageError(f"argument '{p.name}' is a tensor or a number, not {value!r}")
    return out


# --- compiling


def _gpu(target: Union[str, int]) -> int:
    """90 of "sm_90a", "90" or 90."""
    found = re.fullmatch(r"(?:sm_)?(\d{2,3})[af]?", str(target))
    if not found:
        raise _hone.UsageError(f"'{target}' is no GPU: sm_80, sm_90, sm_100 ...")
    return int(found[1])


def compile(kernel: Any, *args: Any, target: Union[str, int] = "sm_90", **kwargs: Any) -> Compiled:
    """Compiles a kernel for arguments (tensors, hone.triton.Tensor, numbers), constants and options (num_warps, num_stages,
    ptx_options ...), as a launch would; needs no GPU. Raises hone.ToolError with the compiler's words."""
    triton = triton_of("hone.triton")
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    fn = function_of(kernel)
    bound = bind(fn, args, kwargs)
    missing = [a.name for a, p in zip(bound, fn.params) if p.is_constexpr and a.value is None and a.name not in kwargs]
    if missing:
        raise _hone.UsageError(f"the constant '{missing[0]}' of '{fn.__name__}' has no value")
    signature = {a.name: a.type for a in bound}
    constants = {a.name: a.value for a in bound if a.type == "constexpr"}
    divisible = {(i,): [["tt.divisibility", 16]] for i, a in enumerate(bound) if a.aligned}
    options = {k: v for k, v in kwargs.items() if k in OPTIONS and v is not None}
    source, device = ASTSource(fn, signature, constants, divisible), GPUTarget("cuda", _gpu(target), 32)
    try:
        made = triton.compile(source, target=device, options=options)
    except _hone.Error:
        raise
    except Exception as error:
        raise _hone.ToolError(f"Triton does not compile '{fn.__name__}' with {_shown(constants, options)}: {error}") from error
    ptx = made.asm["ptx"]
    told = re.search(r"^\.target\s+(\w+)", ptx, re.M)
    m = made.metadata
    return Compiled(m.name, ptx, made.asm["cubin"], told[1] if told else f"sm_{_gpu(target)}", 32 * m.num_warps, int(m.shared),
                    int(getattr(m, "global_scratch_size", 0) or 0), int(getattr(m, "num_ctas", 1) or 1),
                    bool(getattr(m, "enable_fp_fusion", True)))  # fmt: skip


def _shown(*parts: Mapping[str, Any]) -> str:
    return ", ".join(f"{k}={v}" for part in parts for k, v in part.items()) or "nothing given"


class Toolkit(NamedTuple):
    """What Triton compiles with."""

    triton: str
    ptxas: str  #: the program
    version: str  #: its own words
    flags: tuple[str, ...]  #: that Triton gives it in front of ptx_options

    def __str__(self) -> str:
        return f"triton {self.triton}, {self.version}"


def toolkit(target: Union[str, int] = "sm_90") -> Toolkit:
    """Which ptxas Triton runs for a GPU, and how."""
    import subprocess

    triton = triton_of("hone.triton")
    from triton.backends.nvidia import compiler

    find = getattr(compiler, "get_ptxas", None) or (lambda arch: compiler._path_to_binary("ptxas")[0])
    found = find(_gpu(target))
    path = os.fspath(getattr(found, "path", found))
    try:
        told = subprocess.run([path, "--version"], capture_output=True, text=True, check=True, timeout=60).stdout
    except (OSError, subprocess.SubprocessError) as error:
        raise _hone.ToolError(f"'{path}', Triton's ptxas, does not run: {error}") from error
    version = re.search(r"release [\d.]+, V([\d.]+)", told)
    own = inspect.getsource(compiler.CUDABackend.make_cubin)
    flags = tuple(re.findall(r"['\"](--regAllocOptLevel=\d+)['\"]", own))
    return Toolkit(triton.__version__, path, f"ptxas {version[1]}" if version else told.strip().splitlines()[-1], flags)


def render(flags: Union[str, Sequence[str]]) -> str:
    """Words for ptxas as Triton's `ptx_options`: one text, cut at single blanks. A word with a blank in it cannot be handed over."""
    words = shlex.split(flags) if isinstance(flags, str) else [str(w) for w in flags]
    bad = next((w for w in words if not w or re.search(r"\s", w)), None)
    if bad is not None:
        raise _hone.UsageError(f"ptx_options has no way to hand over {bad!r}; leave this control out")
    return " ".join(words)
