"""The decorator: a kernel that is launched with what was proven for its arguments on this device."""
from __future__ import annotations

import ctypes
import functools
import hashlib
import json
import os
import re
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Optional, Union

from .. import _hone
from .folder import STATIC, Bench, Folder, configs_of, grid_of, write
from .kernel import OPTIONS, Argument, bind, function_of, render, toolkit

_SCHEDULES = "triton 1"  # what the texts of a winner mean


class Device(NamedTuple):
    """Where kernels run: what a winner holds for."""

    name: str  #: "NVIDIA H200"
    target: str  #: "sm_90"
    driver: str  #: "580.65.06"

    @classmethod
    def here(cls) -> Device:
        """The first CUDA device, asked of the driver; UnsupportedError where there is none."""
        try:
            cuda = ctypes.CDLL("libcuda.so.1")
        except OSError as error:
            raise _hone.UnsupportedError(f"no NVIDIA driver here ({error}); static(...) searches metrics of the machine code without a GPU") from error
        n, major, minor, name = ctypes.c_int(), ctypes.c_int(), ctypes.c_int(), ctypes.create_string_buffer(256)
        if cuda.cuInit(0) or cuda.cuDeviceGetCount(ctypes.byref(n)) or not n.value:
            raise _hone.UnsupportedError("no NVIDIA GPU here; static(...) searches metrics of the machine code without one")
        cuda.cuDeviceGetName(name, 256, 0)
        cuda.cuDeviceGetAttribute(ctypes.byref(major), 75, 0)
        cuda.cuDeviceGetAttribute(ctypes.byref(minor), 76, 0)
        return cls(name.value.decode(errors="replace"), f"sm_{major.value}{minor.value}", _driver())


def _driver() -> str:
    try:
        told = Path("/proc/driver/nvidia/version").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return "unknown"
    found = re.search(r"\s(\d+\.\d+(?:\.\d+)?)\s", told)
    return found[1] if found else told.splitlines()[0]


class Tuned(NamedTuple):
    """How a search ended."""

    config: dict[str, Any]  #: constants and options that the kernel is launched with
    ptx_options: str
    kept: bool  #: proven faster than the first configuration, and in the store
    gain: tuple[float, float, float]  #: low, middle, high; NaNs without a proof
    verdict: str
    folder: Path  #: the workload, its record and its controls file
    trials: int

    def __str__(self) -> str:
        words = [f"{k}={v}" for k, v in self.config.items()] + ([f"ptx_options='{self.ptx_options}'"] if self.ptx_options else [])
        return f"{' '.join(words)}: {self.verdict}"


class TunedKernel:
    """A Triton kernel whose configurations are searched; launched like any, kernel[grid](...), but for the constants and options that
    are searched. A launch takes the winner for its arguments on this device where there is one, else the first configuration."""

    def __init__(self, kernel: Any, space: Any, outputs: Sequence[str], inplace: Sequence[str], key: Optional[Sequence[str]],
                 data: Optional[Mapping[str, str]], auto: bool, winners: Union[None, str, "os.PathLike[str]"], device: Optional[Device],
                 bench: Bench, settings: Mapping[str, Any]) -> None:  # fmt: skip
        self.kernel = kernel
        self.fn = function_of(kernel)
        self.space = space
        self._values, self._configs = configs_of(space)
        self._write = {"space": space, "outputs": outputs, "inplace": inplace, "data": data}
        self._key = key
        self._auto = auto
        self._winners = None if winners is None else os.fspath(winners)
        self._device = device
        self._bench = bench
        self._settings = dict(settings)
        self._known: dict[Any, Optional[dict[str, Any]]] = {}
        functools.update_wrapper(self, getattr(self.fn, "fn", self.fn), updated=())  # type: ignore[arg-type]

    # --- launching

    def __getitem__(self, grid: Any) -> Callable[..., Any]:
        return lambda *args, **kwargs: self._launch(grid, args, kwargs)

    def _launch(self, grid: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        return self.kernel[grid](*args, **{**self.options(*args, **kwargs), **kwargs} if not self._auto else
                                 {**self._found_or_tuned(grid, args, kwargs), **kwargs})  # fmt: skip

    def _found_or_tuned(self, grid: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        bound = bind(self.fn, args, kwargs)
        if self._find(bound) is None:
            self.tune(grid, *args, **kwargs)
            self._known.setdefault(self._short(bound), {})
        return self.options(*args, **kwargs)

    def options(self, *args: Any, **kwargs: Any) -> dict[str, Any]:
        """What a launch with these arguments is given: the winner's constants and options, else those of the first configuration."""
        return self._find(bind(self.fn, args, kwargs)) or dict(self._configs[0])

    # --- winners

    def _short(self, bound: Sequence[Argument]) -> Any:
        return tuple(a.text for a in bound if self._counts(a)), tuple((a.type, a.aligned) for a in bound)

    def _counts(self, a: Argument) -> bool:
        """Does an argument's value (a tensor's shape) choose the winner?"""
        searched = a.name in self._values or any(a.name in c for c in self._configs)
        return not searched and (self._key is None or a.name in self._key)

    def key(self, *args: Any, **kwargs: Any) -> dict[str, str]:
        """Under which a winner is kept: source, types, shapes, device, driver, toolkit (docs/winners.md)."""
        return self._row(bind(self.fn, args, kwargs))

    def _row(self, bound: Sequence[Argument]) -> dict[str, str]:
        device = self._device or Device.here()
        types = ", ".join(f"{a.name}: {a.type}{' aligned' if a.aligned else ''}" for a in bound if a.name not in self._values)
        source = getattr(self.fn, "src", "") or ""
        body = f"# {self.fn.cache_key}\n# {types}\n{source}"
        sizes = " ".join(f"{a.name}={a.text}" for a in bound if self._counts(a)) or "any"
        return {"kind": f"triton {self.fn.__name__}", "body": body, "sizes": sizes, "target": device.target, "device": device.name,
                "driver": device.driver, "compiler": str(toolkit(device.target)), "numeric": "exact", "schedules": _SCHEDULES}  # fmt: skip

    def _find(self, bound: Sequence[Argument]) -> Optional[dict[str, Any]]:
        short = self._short(bound)
        if short not in self._known:
            self._known[short] = self._stored(bound)
        return self._known[short]

    def _stored(self, bound: Sequence[Argument]) -> Optional[dict[str, Any]]:
        try:
            key = self._row(bound)
            row = _hone.winners_find(self._winners, key)
        except (_hone.UnsupportedError, _hone.NotFoundError):
            return None
        if row is None or row["sizes"] != key["sizes"]:
            return None
        try:
            config = json.loads(row["schedule"])
        except ValueError:
            config = None
        if not isinstance(config, dict) or not all(k in self._names() for k in config):
            return None
        return {**config, **({"ptx_options": row["flags"]} if row["flags"] else {})}

    def _names(self) -> set[str]:
        return {*OPTIONS, *self.fn.arg_names}

    # --- searching

    def tune(self, grid: Any, *args: Any, max_evals: int = 0, max_seconds: float = 0.0, seed: int = 0, top: int = 3,
             reduce: bool = False, folder: Union[None, str, "os.PathLike[str]"] = None,
             callback: Optional[Callable[[Any], object]] = None, settings: Optional[Mapping[str, Any]] = None,
             **kwargs: Any) -> Tuned:  # fmt: skip
        """Searches configurations and controls of ptxas for these arguments on this device, proves the best `top` against the first
        configuration, and keeps what was proven: later launches take it, in other processes, too. Each candidate runs in a process of
        its own, on data of its own; the arguments are not written.

        max_evals, max_seconds: of the search; 200 evaluations unless given. reduce: what was proven is reduced to what carries the
        gain, and proven again. folder: for the workload; one in the cache unless given,
        where the same call goes on. settings: more keys of the workload file. callback: as of hone.tune.

        Raises hone.UnsupportedError without a GPU.
        """
        device = self._device or Device.here()
        bound = bind(self.fn, args, kwargs)
        row = self._row(bound)
        made = self._written(folder or _cached(row), args, kwargs, grid, device.target, self._bench, settings)
        return self._search(made, row, bound, top, reduce, {"max_evals": max_evals, "max_seconds": max_seconds, "seed": seed}, callback)

    def static(self, *args: Any, target: Union[str, int] = "sm_90", objective: str = "minimize instructions", limits: Sequence[str] = (),
               max_evals: int = 0, max_seconds: float = 0.0, seed: int = 0, folder: Union[None, str, "os.PathLike[str]"] = None,
               callback: Optional[Callable[[Any], object]] = None, settings: Optional[Mapping[str, Any]] = None, **kwargs: Any) -> Tuned:  # fmt: skip
        """The same search without a GPU: nothing runs, metrics of the machine code are the objective ("minimize instructions",
        "maximize occupancy", docs/gpu-metrics.md), within limits ("spills == 0"). The arguments may be hone.triton.Tensor. What is found
        is a suggestion: nothing is proven, and nothing kept."""
        from ..compilers import tune as run

        where = folder or _cached({"static": f"{target} {objective} {self.fn.cache_key} {args} {sorted(kwargs.items())} {self.space}"})
        bench = STATIC._replace(objective=objective)
        made = self._written(where, args, kwargs, None, target, bench, {"limits": list(limits) or None, **(settings or {})})
        found = run(made.workload, max_evals=max_evals, max_seconds=max_seconds, seed=seed, canary=False, callback=callback,
                    seeds=self._seeds(made, max_evals))  # fmt: skip
        config, words = self._of_point(found.best_point or {}, found.best_argv)
        text = f"{objective}: {found.speedup:.3f} of the first configuration's, not measured"
        return Tuned(config, words, False, (float("nan"),) * 3, text, made.path, found.trials)

    def _written(self, folder: Any, args: Sequence[Any], kwargs: Mapping[str, Any], grid: Any, target: Any, bench: Bench,
                 settings: Optional[Mapping[str, Any]]) -> Folder:  # fmt: skip
        made = write(folder, self.fn, *args, grid=grid, target=target, bench=bench, settings={**self._settings, **(settings or {})},
                     **self._write, **kwargs)  # fmt: skip
        for config, why in made.left_out:
            warnings.warn(f"hone.triton leaves {config} out: {why.splitlines()[0]}", stacklevel=3)
        return made

    def _search(self, made: Folder, row: Mapping[str, str], bound: Sequence[Argument], top: int, reduce: bool, options: Mapping[str, Any],
                callback: Optional[Callable[[Any], object]]) -> Tuned:  # fmt: skip
        from ..compilers import Controls, minimize, tune as run, validate

        found = run(made.workload, canary=False, callback=callback, seeds=self._seeds(made, options["max_evals"]), **options)
        file = made.path / f"{self.fn.__name__}.hone"
        proofs = validate(made.workload, session=found.session, top=top, output=file) if found.best_point else None
        if not proofs:
            text = proofs.proofs[0].verdict if proofs and proofs.proofs else "nothing beat the first configuration"
            self._known[self._short(bound)] = {}
            return Tuned(dict(self._configs[0]), "", False, (float("nan"),) * 3, text, made.path, found.trials)
        kept = [p for p in proofs.proofs if p]
        if reduce:
            kept += [p for p in minimize(made.workload, Controls.load(file).point, session=found.session, output=file).proofs if p]
        controls = Controls.load(file)
        config, words = self._of_point(controls.point, " ".join(["ptxas", *controls.flags]))
        best = next(p for p in reversed(kept) if p.point == controls.point)
        overall = best.data["overall"][0]
        lo, mid, hi = (float(overall["gain"][k]) for k in ("lo", "mid", "hi"))
        _hone.winners_put(self._winners, {
            **row, "schedule": json.dumps(config), "flags": words, "code": "", "default_code": "", "provenance": f"hone {_hone.__version__}",
            "default_s": overall["baseline"]["p50"], "tuned_s": overall["tuned"]["p50"], "gain_lo": lo, "gain": mid,
            "gain_hi": hi, "pairs": float(best.data["n_pairs"]), "at_s": time.time()})  # fmt: skip
        self._known[self._short(bound)] = {**config, **({"ptx_options": words} if words else {})}
        return Tuned(config, words, True, (lo, mid, hi), best.verdict, made.path, found.trials)

    def _seeds(self, made: Folder, max_evals: int) -> list[dict[str, Any]]:
        """The kernel's own configurations first, with ptxas as it is: half of the evaluations at most, spread over all of them."""
        most = max(1, (max_evals or 200) // 2)
        step = max(1.0, len(made.configs) / most)
        rows = [made.configs[int(i * step)] for i in range(min(most, len(made.configs)))]
        if list(self._values) == ["config"] and "config" not in self._configs[0]:
            return [{"config": self._configs.index(c)} for c in rows] if len(self._configs) > 1 else []
        return [{k: c[k] for k, given in self._values.items() if len(given) > 1} for c in rows]

    def _of_point(self, point: Mapping[str, Any], argv: Optional[str]) -> tuple[dict[str, Any], str]:
        """A point of the workload as constants and options, and the text for ptxas."""
        import shlex

        words = shlex.split(argv or "")[1:] if self._settings.get("controls", True) else []
        words = [w for w in words if w != "-O3"]  # as it is without
        if list(self._values) == ["config"] and "config" not in self._configs[0]:
            config = dict(self._configs[int(point.get("config", 0))])
        else:
            texts = {name: {str(v): v for v in given} for name, given in self._values.items()}
            config = {name: texts[name].get(str(point.get(name)), given[0]) for name, given in self._values.items()}
        return config, render(words)


def _cached(key: Mapping[str, str]) -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    text = json.dumps(key, sort_keys=True)
    return Path(base) / "hone" / "triton" / hashlib.blake2b(text.encode(), digest_size=12).hexdigest()


def tune(space: Any = (), *, outputs: Sequence[str] = (), inplace: Sequence[str] = (), key: Optional[Sequence[str]] = None,
         data: Optional[Mapping[str, str]] = None, auto: bool = False, winners: Union[None, str, "os.PathLike[str]"] = None,
         device: Optional[Device] = None, bench: Optional[Bench] = None, **settings: Any) -> Callable[[Any], TunedKernel]:  # fmt: skip
    """Decorates a @triton.jit function: its configurations are searched together with the controls of ptxas.

    Args:
      space: values by constant or option, {"BLOCK": [1024, 2048], "num_warps": [4, 8]}, of which the first ones are the default; or a
        list of triton.Config, or of dicts.
      outputs: tensors that it writes; their contents must stay as the first configuration's. inplace: those that it also reads.
      key: arguments whose values (of tensors: shapes) choose the winner; None: all.
      data: by tensor, what it is filled with while it is measured; floats are normally distributed, others have to be told.
      auto: the first launch with new arguments searches; else only `tune` does.
      winners: their file; the usual one unless given.
      device: where it runs; this machine's unless given. bench: how a candidate is measured.
      settings: more keys of the workload file: parity={"rule": "rel", "tolerance": 1e-3}, budget={...}, floating_point="contract" ...
    """
    return lambda kernel: TunedKernel(kernel, space or [{}], outputs, inplace, key, data, auto, winners, device, bench or Bench(), settings)
