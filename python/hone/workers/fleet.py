"""Workload files on a Ray cluster: hone.tune and hone.validate with workers="ray".

The search runs here. Each worker is an actor of Ray that holds its device (num_gpus, num_cpus, resources) as long as the call lasts; it
has a copy of the workload's folder, and measures a few points at a time beside the baseline, pair by pair, as the command does
on one machine. What it gives is relative to its own baseline, so that devices may differ.
"""
from __future__ import annotations

import io
import json
import math
import os
import tarfile
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Optional, Union

from .. import _hone
from ..extras import needs

MOST_B = 512 << 20  # of a workload's folder
_OPENING = 6  # points that the driver of one machine begins with: levels of compilers, rules


class Lost(Exception):
    """A worker, its node or its process is gone."""


class Fleet:
    """Where the candidates of a workload are measured: num_workers actors of Ray, each with num_gpus and num_cpus and other resources
    of its own. hone, the compilers and what the workload needs beside its folder must be on every node.

    num_workers: as many as the cluster has room for unless given (without GPUs: one per node, which measures alone).
    address: of the cluster; Ray's own rules unless given (a running one, else a local one).
    batch: points that a worker takes at a time; each call measures the baseline, too.
    root: the folder that is copied to the workers; the workload's unless given.
    lost_most: a point whose worker died so often counts as a crash; until then it is measured again elsewhere.
    """

    def __init__(self, num_workers: Optional[int] = None, *, num_gpus: float = 0, num_cpus: float = 1, address: Optional[str] = None,
                 batch: int = 4, root: Union[None, str, "os.PathLike[str]"] = None, lost_most: int = 3, **resources: Any) -> None:  # fmt: skip
        for name, value, least in (("num_workers", num_workers, 1), ("batch", batch, 1), ("lost_most", lost_most, 1)):
            if value is not None and (not isinstance(value, int) or value < least):
                raise _hone.UsageError(f"'{name}' is a whole number from {least}, not {value!r}")
        self.num_workers = num_workers
        self.batch = batch
        self.root = None if root is None else os.fspath(root)
        self.lost_most = lost_most
        self._address = address
        self._resources = {"num_gpus": num_gpus, "num_cpus": num_cpus, **resources}

    def connect(self) -> Any:
        """Ray, connected to the cluster."""
        ray = needs("ray", "workers='ray'")
        if not ray.is_initialized():
            ray.init(address=self._address, log_to_driver=False, configure_logging=False)
        return ray

    def room(self, ray: Any) -> int:
        """Workers that the cluster has room for."""
        if self.num_workers:
            return self.num_workers
        gpus = self._resources["num_gpus"]
        if gpus:
            return max(1, int(ray.cluster_resources().get("GPU", 0) / gpus))
        return max(1, sum(1 for node in ray.nodes() if node.get("Alive")))


def fleet_of(workers: Any, options: dict[str, Any]) -> Fleet:
    """What `workers=` says; takes the Fleet's own keywords out of the options."""
    own = {k: options.pop(k) for k in ("num_workers", "num_gpus", "num_cpus", "address", "batch", "root") if k in options}
    if isinstance(workers, Fleet):
        if own:
            raise _hone.UsageError(f"'{next(iter(own))}' is given to the Fleet")
        return workers
    if workers != "ray":
        raise _hone.UsageError(f"'workers' is 'ray' or a hone.workers.Fleet, not {workers!r}")
    return Fleet(**own)


# --- on a worker


class _Enough(Exception):
    """All points that were asked for are measured."""


class Station:
    """A worker: a copy of the workload, and a device."""

    def __init__(self, packed: bytes, workload: str) -> None:
        self._folder = _hone.Temp("hone-fleet-")
        with tarfile.open(fileobj=io.BytesIO(packed)) as tar:
            tar.extractall(self._folder.path)
        self._path = os.path.join(self._folder.path, workload)
        self._store = os.path.join(self._folder.path, ".hone-fleet")
        self._cpu = -1

    def place(self) -> tuple[str, list[int]]:
        """Its node, and the cores that it may use."""
        import ray

        return ray.get_runtime_context().get_node_id(), sorted(os.sched_getaffinity(0))

    def leave(self) -> None:
        """Its folder goes; what a worker that died leaves behind goes with its guardian, where Ray spares that."""
        self._folder.close()

    def pin(self, cpu: int) -> None:
        """Measures on this core."""
        self._cpu = cpu

    def trials(self, points: Sequence[str], most: int, canary: bool, options: dict[str, Any]) -> dict[str, Any]:
        """Measures points (JSON), or the first ones of the driver's own: rows of the record; `total`: the workload's budget."""
        seen, total = set(), 0

        def on(event: dict[str, Any]) -> None:
            nonlocal total
            total = event["total"] or total
            if event["stage"] == "trial" and event["trial"] and event["trial"]["phase"] == "search":
                seen.add(event["trial"]["point"])
                if len(seen) >= most and seen.issuperset(points):
                    raise _Enough

        given = {**options, "store": self._store, "resume": -1, "cpu": self._cpu}
        if points:
            given["max_evals"] = most = len(points) + 1  # the baseline's point comes first, and is not measured again
        try:
            _hone.tune(self._path, canary, tuple(points), (), given, on)
        except _Enough:
            pass
        except _hone.Error as error:
            return {"error": (type(error).__name__, str(error))}
        store = _hone.Store(self._store, False)
        try:
            rows = store.trials(store.sessions()[-1]["id"])
        finally:
            store.close()
        return {"rows": [r for r in rows if r["phase"] in ("baseline", "search")], "total": total}

    def race(self, points: Sequence[str], options: dict[str, Any]) -> dict[str, Any]:
        """These points to the end, closing race included: as hone.tune gives it."""
        given = {**options, "store": self._store, "resume": -1, "cpu": self._cpu, "max_evals": len(points) + 1}
        try:
            return {"result": _hone.tune(self._path, False, tuple(points), (), given, None)}
        except _hone.Error as error:
            return {"error": (type(error).__name__, str(error))}

    def validate(self, points: Sequence[str], output: Optional[str], options: dict[str, Any]) -> dict[str, Any]:
        """As hone.validate gives it, with the files that were written."""
        out = None if output is None else os.path.join(os.path.dirname(self._path), output)
        if out is not None:
            os.makedirs(os.path.dirname(out), exist_ok=True)
        os.makedirs(self._store, exist_ok=True)
        given = {**options, "store": self._store, "cpu": self._cpu}
        try:
            got = _hone.validate(self._path, tuple(points), 0, out, 0, given, None)
        except _hone.Error as error:
            return {"error": (type(error).__name__, str(error))}
        files = {}
        for name in (output, os.path.splitext(output)[0] + ".rsp") if output and got["controls"] else ():
            path = os.path.join(os.path.dirname(self._path), name)
            if os.path.exists(path):
                with open(path, "rb") as f:
                    files[name] = f.read()
        return {"proofs": got["proofs"], "files": files}


# --- here


def _packed(root: str) -> bytes:
    """The folder without what is hidden."""
    out, total = io.BytesIO(), 0
    with tarfile.open(fileobj=out, mode="w") as tar:
        for folder, folders, files in os.walk(root):
            folders[:] = sorted(d for d in folders if not d.startswith("."))
            for name in sorted(f for f in files if not f.startswith(".")):
                path = os.path.join(folder, name)
                total += os.path.getsize(path) if os.path.exists(path) else 0
                if total > MOST_B:
                    raise _hone.LimitError(f"'{root}' has more than {MOST_B >> 20} MiB, all of which would go to the workers; "
                                           "keep the workload in a folder of its own, or give root=")  # fmt: skip
                tar.add(path, os.path.relpath(path, root), recursive=False)
    return out.getvalue()


def _checked(got: dict[str, Any]) -> dict[str, Any]:
    if "error" in got:
        name, text = got["error"]
        raise getattr(_hone, name, _hone.Error)(f"on a worker: {text}")
    return got


class Crew:
    """The workers of one call."""

    def __init__(self, fleet: Fleet, path: str) -> None:
        self.fleet = fleet
        self.ray = fleet.connect()
        path = os.path.abspath(path)
        root = os.path.abspath(fleet.root or os.path.dirname(path))
        if os.path.commonpath([root, path]) != root:
            raise _hone.UsageError(f"'{path}' is not in '{root}', the folder that workers get")
        self._packed = self.ray.put(_packed(root))
        self._name = os.path.relpath(path, root)
        self._kind = self.ray.remote(max_restarts=0, max_concurrency=1, **fleet._resources)(Station)
        self._cores: dict[str, list[int]] = {}
        self._core: dict[Any, tuple[str, int]] = {}
        self.busy: set[Any] = set()

    def hire(self) -> Any:
        """A worker; of those on one node each has a core of its own to measure on."""
        station = self._kind.remote(self._packed, self._name)
        node, cores = self.get(station.place.remote())
        free = self._cores.setdefault(node, cores)
        if not free:
            raise _hone.UsageError(f"more workers on a node than its {len(cores)} cores; give fewer num_workers")
        self._core[station] = (node, free.pop())
        self.get(station.pin.remote(self._core[station][1]))
        return station

    def dismiss(self, station: Any, at_once: bool = False) -> None:
        node, core = self._core.pop(station, (None, 0))
        if node is not None:
            self._cores[node].append(core)
        try:
            if not at_once:
                self.ray.wait([station.leave.remote()], timeout=10)
            self.ray.kill(station)
        except Exception:
            pass

    def get(self, ref: Any) -> Any:
        try:
            return self.ray.get(ref)
        except self.ray.exceptions.RayTaskError:
            raise
        except self.ray.exceptions.RayError as error:
            raise Lost(str(error)) from error

    def alone(self, ask: Callable[[Any], Any]) -> Any:
        """One call on one worker, again on another where it is lost."""
        for left in range(self.fleet.lost_most - 1, -1, -1):
            station = None
            try:
                station = self.hire()
                return self.get(ask(station))
            except Lost as error:
                if not left:
                    raise _hone.ToolError(f"workers were lost {self.fleet.lost_most} times, the last one: {error}") from error
            finally:
                if station is not None:
                    self.dismiss(station)

    def close(self) -> None:
        for station in list(self._core):
            self.dismiss(station, station in self.busy)


class _Row(NamedTuple):
    point: str
    cls: str
    values: tuple[float, ...]
    violations: tuple[float, ...]
    detail: str
    run_s: float
    origin: str


class _Search:
    """One hone.tune on a fleet."""

    def __init__(self, path: str, fleet: Fleet, canary: bool, seeds: Sequence[str], options: dict[str, Any],
                 callback: Optional[Callable[[dict[str, Any]], object]]) -> None:  # fmt: skip
        self.path, self.fleet, self.canary, self.callback = path, fleet, canary, callback
        self.facts = _hone.workload_facts(path)
        self.space = _hone.Space.workload(path)
        self.up = tuple(up for _, up in self.facts["objectives"])
        self.options = dict(options)
        self.most, self.seconds = int(self.options.pop("max_evals", 0)), float(self.options.pop("max_seconds", 0.0))
        self.engine_name, self.seed = self.options.pop("engine", None), int(self.options.pop("seed", 0))
        folder = self.options.pop("store", None) or os.path.join(self.facts["dir"], ".hone")
        for name in ("resume", "warm_start", "cpu"):
            if self.options.pop(name, None):
                raise _hone.UsageError(f"'{name}' is not for workers: every call is a search of its own")
        os.makedirs(folder, exist_ok=True)
        self.store = _hone.Store(folder, True)
        self.begun = time.monotonic()
        self.baseline: Optional[tuple[float, ...]] = None
        self.done: dict[str, _Row] = {}
        self.waiting: list[str] = [self._canonical(p) for p in seeds]
        self.asked: set[str] = set()
        self.lost: dict[str, int] = {}
        self.outcomes: dict[str, int] = {}
        self.session = 0

    def _canonical(self, point: str) -> str:
        return self.space.to_json(self.space.from_json(point))

    # --- what comes back

    def _take(self, rows: Sequence[dict[str, Any]], points: Sequence[str]) -> None:
        base = next((r["values"] for r in rows if r["phase"] == "baseline" and r["cls"] == "ok"), None)
        if self.baseline is None and base is not None:
            self.baseline = base
            self._keep_row("baseline", _Row(next(r["point"] for r in rows if r["phase"] == "baseline"), "ok", base, (), "", 0.0, "baseline"))
        for r in rows:
            if r["phase"] == "search" and r["point"] not in self.done:
                values = self._scaled(r["values"], base) if r["cls"] == "ok" else ()
                self._finish(_Row(r["point"], r["cls"], values, tuple(r.get("violations", ())), r["detail"], r["run_s"], r["origin"]))
        for p in points:
            if p not in self.done:
                self._finish(_Row(p, "build_error", (), (), "the worker did not take this point", 0.0, "fleet"))

    def _scaled(self, values: Sequence[float], base: Optional[Sequence[float]]) -> tuple[float, ...]:
        """In terms of the first worker's baseline."""
        if base is None or self.baseline is None:
            return tuple(values)
        return tuple(v * b0 / b if b > 0 and b0 > 0 and v > 0 else v for v, b, b0 in zip(values, base, self.baseline))

    def _finish(self, row: _Row) -> None:
        self.done[row.point] = row
        self.asked.add(row.point)
        self.outcomes[row.cls] = self.outcomes.get(row.cls, 0) + 1
        self.engine.tell(self.space.from_json(row.point), row.cls, row.values, row.violations if row.cls == "ok" else ())
        number = self._keep_row("search", row)
        if self.callback is not None:
            trial = {"id": number, "phase": "search", "point": row.point, "outcome": row.cls, "values": row.values, "origin": row.origin,
                     "detail": row.detail, "build_s": 0.0, "run_s": row.run_s, "same_as": 0, "suspect": False}  # fmt: skip
            self.callback({"stage": "trial", "done": len(self.done), "total": self.most, "elapsed_s": time.monotonic() - self.begun,
                           "eta_s": math.nan, "best_speedup": self._speedup(), "outcomes": dict(self.outcomes), "reused": 0, "trial": trial,
                           "text": None})  # fmt: skip

    def _keep_row(self, phase: str, row: _Row) -> int:
        names = [expr for expr, _ in self.facts["objectives"]]
        return self.store.add(self.session, phase, row.point, self.space.hash_point(self.space.from_json(row.point)), row.cls, row.values,
                              row.violations, row.origin, row.detail, row.run_s, time.time(), len(self.asked), tuple(zip(names, row.values)))  # fmt: skip

    def _best(self, most: int) -> list[_Row]:
        """By the first objective, within the limits, and better than the baseline."""
        up = self.up[0]
        good = [r for r in self.done.values() if r.cls == "ok" and not any(v > 0 for v in r.violations)]
        if self.baseline is not None:
            first = self.baseline[0]
            good = [r for r in good if (r.values[0] > first if up else r.values[0] < first)]
        return sorted(good, key=lambda r: r.values[0], reverse=up)[:most]

    def _speedup(self) -> float:
        best = self._best(1)
        if not best or self.baseline is None or min(best[0].values[0], self.baseline[0]) <= 0:
            return math.nan
        ratio = self.baseline[0] / best[0].values[0]
        return 1 / ratio if self.up[0] else ratio

    # --- the call

    def run(self) -> dict[str, Any]:
        crew = Crew(self.fleet, self.path)
        state, reason = "interrupted", ""
        try:
            self._open(crew)
            reason = self._search(crew)
            crew.close()  # their devices are free again
            result = self._close(crew)
            state = "finished"
        finally:
            crew.close()
            if self.session:
                self.store.end(self.session, state, reason)
            self.store.close()
        low, high = result["interval"]
        return {"session": self.session, "trials": len(self.done), "reused": 0, "outcomes": self.outcomes, "speedup": result["speedup"],
                "interval": (low, high), "best_point": result["best_point"], "best_argv": result["best_argv"], "reason": reason,
                "elapsed_s": time.monotonic() - self.begun, "own_s": math.nan}  # fmt: skip

    def _open(self, crew: Crew) -> None:
        """What the driver of one machine begins with, on one worker; it also says what the workload's budget is."""
        most = min(_OPENING, self.most) if self.most else _OPENING
        more = {**self.options, "seed": self.seed, **({"max_evals": self.most} if self.most else {})}
        got = _checked(crew.alone(lambda s: s.trials.remote((), most, self.canary, more)))
        self.most = self.most or (got["total"] if not self.seconds else 0) or (1 << 31 if self.seconds else 200)
        limits = max((len(r.get("violations", ())) for r in got["rows"]), default=0)
        engine = self.engine_name or "auto"
        self.engine = _hone.Search(self.space, self.up, engine, self.seed, constraints=limits, budget=min(self.most, 1 << 20), no_default=True)
        objectives = json.dumps([{"expr": e, "direction": "maximize" if up else "minimize"} for e, up in self.facts["objectives"]])
        self.session = self.store.begin(self.facts["name"], self.facts["hash"], self.space.hash, self.space.to_yaml(), objectives, engine,
                                        self.seed)  # fmt: skip
        self._take(got["rows"], ())

    def _next(self, room: int) -> list[str]:
        """Points for a worker; none: there are no more."""
        points: list[str] = []
        while len(points) < min(self.fleet.batch, room):
            if self.waiting:
                p = self.waiting.pop(0)
                if p in self.done or p in points:
                    continue
            else:
                try:
                    p = self.space.to_json(self.engine.ask())
                except _hone.ExhaustedError:
                    break
                if p in self.asked:
                    continue
            self.asked.add(p)
            points.append(p)
        return points

    def _search(self, crew: Crew) -> str:
        idle: list[Any] = []
        running: dict[Any, tuple[Any, list[str]]] = {}
        n, reason = 0, ""
        room = self.fleet.room(crew.ray)
        while True:
            if not reason and self.seconds and time.monotonic() - self.begun >= self.seconds:
                reason = "seconds"
            if not reason and len(self.done) >= self.most:
                reason = "evaluations"
            while not reason and len(running) < room:
                under_way = sum(len(points) for _, points in running.values())
                points = self._next(self.most - len(self.done) - under_way)
                if not points:
                    break
                try:
                    station = idle.pop() if idle else crew.hire()
                except Lost as error:
                    self._lose(points, str(error))
                    continue
                n += 1
                crew.busy.add(station)
                running[station.trials.remote(points, len(points), False, {**self.options, "seed": self.seed + n})] = (station, points)
            if not running:
                return reason or ("evaluations" if len(self.done) >= self.most else "exhausted")
            left = None if not self.seconds else max(0.1, self.seconds - (time.monotonic() - self.begun))
            ready, _ = crew.ray.wait(list(running), num_returns=1, timeout=left if not reason else None)
            for ref in ready:
                station, points = running.pop(ref)
                crew.busy.discard(station)
                try:
                    self._take(_checked(crew.get(ref))["rows"], points)
                    idle.append(station)
                except Lost as error:
                    crew.dismiss(station, True)
                    self._lose(points, str(error))

    def _lose(self, points: Sequence[str], why: str) -> None:
        """They are measured again, by another worker, a few times; a point at fault alone should not take the others with it."""
        for p in points:
            self.lost[p] = self.lost.get(p, 0) + 1
            if self.lost[p] >= self.fleet.lost_most:
                self._finish(_Row(p, "run_crash", (), (), f"its worker was lost {self.lost[p]} times: {why}", 0.0, "fleet"))
            else:
                self.waiting.append(p)

    def _close(self, crew: Crew) -> dict[str, Any]:
        """The best beside the baseline on one worker."""
        best = self._best(3) if len(self.up) == 1 else []
        if not best:
            return {"speedup": 1.0 if len(self.up) == 1 else math.nan, "interval": (math.nan, math.nan), "best_point": None, "best_argv": None}
        got = _checked(crew.alone(lambda s: s.race.remote([r.point for r in best], {**self.options, "seed": self.seed})))
        result: dict[str, Any] = got["result"]
        return result


def tune(path: str, fleet: Fleet, canary: bool, seeds: Sequence[str], options: dict[str, Any],
         callback: Optional[Callable[[dict[str, Any]], object]]) -> dict[str, Any]:  # fmt: skip
    """As the extension's tune, on a fleet."""
    return _Search(path, fleet, canary, seeds, options, callback).run()


def _recorded(path: str, session: int, store: Optional[str], most: int) -> tuple[int, list[str]]:
    """A session's best points."""
    facts = _hone.workload_facts(path)
    record = _hone.Store(store or os.path.join(facts["dir"], ".hone"), False)
    try:
        found = record.get(session, None if session else facts["name"])
        if found["objective"] != facts["hash"]:
            raise _hone.MismatchError(f"'{path}' is not the workload that session {found['id']} was recorded with; give a point")
        rows = record.trials(found["id"])
    finally:
        record.close()
    up = facts["objectives"][0][1]
    base = next((r["values"][0] for r in rows if r["phase"] == "baseline" and r["cls"] == "ok"), None)
    good = [r for r in rows if r["phase"] == "search" and r["cls"] == "ok" and not any(v > 0 for v in r["violations"])
            and (base is None or (r["values"][0] > base if up else r["values"][0] < base))]  # fmt: skip
    if not good:
        raise _hone.NotFoundError(f"session {found['id']} has no candidate: nothing that worked is better than the baseline")
    good.sort(key=lambda r: r["values"][0], reverse=up)
    return found["id"], [r["point"] for r in good[:most]]


def validate(path: str, fleet: Fleet, points: Sequence[str], session: int, output: Optional[str], top: int,
             options: dict[str, Any]) -> dict[str, Any]:  # fmt: skip
    """As the extension's validate, on one worker: all pairs on one device."""
    options = dict(options)
    folder = os.path.dirname(os.path.abspath(path))
    store = options.pop("store", None)
    if options.pop("cpu", None) is not None:
        raise _hone.UsageError("'cpu' is not for workers")
    inside = None if output is None else os.path.relpath(os.path.abspath(output), folder)
    if inside is not None and inside.startswith(".."):
        raise _hone.UsageError(f"a controls file names its workload by where it lies: '{output}' is not in '{folder}'")
    if not points:
        session, points = _recorded(path, session, store, top or 3)
    crew = Crew(fleet, path)
    try:
        got = _checked(crew.alone(lambda s: s.validate.remote(list(points), inside, options)))
    finally:
        crew.close()
    for name, data in got["files"].items():
        with open(os.path.join(folder, name), "wb") as f:
            f.write(data)
    return {"proofs": got["proofs"], "controls": output if got["files"] else None, "session": session}
