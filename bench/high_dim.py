"""Races hone's engines, OpenTuner and a BOCA-like tuner over gcc's controls; see bench/high-dim.sh.

All tune the same space, from the same server (high_dim_serve.c), with the same compile and measurement commands; all
that was once compiled or counted is remembered by its flags and by its object's hash, for all of them.
"""

import argparse
import concurrent.futures
import hashlib
import json
import math
import os
import re
import signal
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "peers"))

MARKS = (25, 50, 100, 200, 300)
PEERS = ("boca", "opentuner")
OBJECTIVES = ("size", "instructions")
COMPILED_MOST = 4  # points a search may ask for each program that is new


COMPILE_S, RUN_S, COUNT_S = 60, 60, 600  # generous: a busy machine must not turn into failures


def run(cmd, limit, cwd=None):
    """(exit status, stdout, stderr); status None beyond the limit: then all of its processes are dead (the driver's
    death alone would leave the compiler proper running)."""
    p = subprocess.Popen(cmd, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=cwd, start_new_session=True)
    try:
        out, err = p.communicate(timeout=limit)
        return p.returncode, out, err
    except subprocess.TimeoutExpired:
        os.killpg(p.pid, signal.SIGKILL)
        p.communicate()
        return None, b"", b""


class Cache:
    """JSON files by key; written whole and renamed, so that several processes can share a folder."""

    def __init__(self, folder):
        self.folder = folder
        os.makedirs(folder, exist_ok=True)

    def get(self, key, make):
        """What is there under the key, else what `make` gives; None is not kept."""
        path = os.path.join(self.folder, key + ".json")
        try:
            with open(path, encoding="utf-8") as f:
                return json.load(f)
        except FileNotFoundError:
            value = make()
        if value is None:
            return None
        with tempfile.NamedTemporaryFile("w", dir=self.folder, delete=False) as f:
            json.dump(value, f)
        os.rename(f.name, path)
        return value


def digest(data):
    return hashlib.sha256(data if isinstance(data, bytes) else data.encode()).hexdigest()[:32]


class Objective:
    """Compiles a file with flags and counts: bytes of its object (text and data) or the instructions it takes."""

    def __init__(self, cc, source, what, cache):
        self.cc, self.source, self.what = cc, source, what
        with open(source, "rb") as f:
            text = f.read()
        version = subprocess.run([cc, "-v"], capture_output=True, text=True, check=True).stderr
        key = os.path.basename(source) + "-" + digest(text + version.encode())[:12]
        self.by_flags = Cache(os.path.join(cache, key, "flags"))
        self.by_object = Cache(os.path.join(cache, key, "objects"))
        self.expected, self.code = None, "0"  # code: of the last object, in hexadecimal
        self.baseline = self(["-O2"])
        if self.baseline is None:
            raise SystemExit(f"{source}: the plain -O2 build fails")

    def __call__(self, flags):
        """The cost; None when the compiler or the program failed or printed something else than at -O2."""
        seen = self.by_flags.get(digest("\0".join(flags)), lambda: self._build(flags))
        self.code = (seen["object"] or "0")[:15]
        if seen["object"] is None:
            return None
        return seen[self.what] if self.what == "size" else self._instructions(seen["object"], flags)

    def _compile(self, flags, folder):
        path = os.path.join(folder, "x.o")
        cmd = [self.cc, *flags, "-w", "-c", os.path.abspath(self.source), "-o", path]
        status, _, _ = run(cmd, COMPILE_S, folder)
        return path if status == 0 and os.path.exists(path) else None

    def _link(self, object_path, folder):
        path = os.path.join(folder, "x")
        status, _, _ = run([self.cc, object_path, "-lm", "-o", path], COMPILE_S)
        return path if status == 0 else None

    def _works(self, program):
        status, out, _ = run([program], RUN_S)
        if self.expected is None and status == 0:
            self.expected = out
        return status == 0 and out == self.expected

    def _build(self, flags):
        with tempfile.TemporaryDirectory() as folder:
            path = self._compile(flags, folder)
            if path is None:
                return {"object": None}
            with open(path, "rb") as f:
                name = digest(f.read())

            def check():
                program = self._link(path, folder)
                text = subprocess.run(["size", path], capture_output=True, text=True, check=True).stdout
                size = sum(int(x) for x in text.splitlines()[1].split()[:2])
                return {"works": program is not None and self._works(program), "size": size}

            known = self.by_object.get(name, check)
        return {"object": name if known["works"] else None, "size": known["size"]}

    def _instructions(self, name, flags):
        def count():
            with tempfile.TemporaryDirectory() as folder:
                path = self._compile(flags, folder)
                program = path and self._link(path, folder)
                if program is None:  # it was built when it was measured for its size: a limit on a busy machine
                    return None
                cmd = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", program]
                status, _, err = run(cmd, COUNT_S)
            found = re.search(rb"Collected : (\d+)", err)
            return {"instructions": int(found.group(1)) if found and status == 0 else None}

        counted = self.by_object.get(name + "-instructions", count)
        return counted and counted["instructions"]


class Server:
    def __init__(self, program, cc):
        self.p = subprocess.Popen([program, cc], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def __call__(self, line):
        self.p.stdin.write(line + "\n")
        self.p.stdin.flush()
        answer = self.p.stdout.readline()
        if not answer:
            raise SystemExit("the server ended; run it by hand to see why")
        answer = json.loads(answer)
        if "end" in answer:
            raise StopIteration(answer["end"])
        return answer

    def close(self):
        self.p.stdin.close()
        self.p.wait()


def run_ours(server, objective, engine, seed, evals, _):
    engine, blind, _ = engine.partition("-blind")  # auto-blind: is not told which objects are equal
    server(f"open {engine} {seed} {evals}")
    while True:
        try:
            asked = server("ask")
        except StopIteration:
            return
        cost = objective(asked["flags"])
        server(f"tell ok {cost} {0 if blind else objective.code}" if cost is not None else "tell build_error 0")
        yield cost


def run_peer(server, objective, engine, seed, _, most):
    params = server("params")["params"]
    if engine == "boca":
        from boca import Boca

        tuner = Boca(params, seed)
    else:
        from opentuner_peer import OpenTuner

        tuner = OpenTuner(params, seed, most)
    while True:
        asked = tuner.ask()
        if asked is None:
            return
        flags = server("flags " + json.dumps(tuner.point(asked)))["flags"]
        cost = objective(flags)
        tuner.tell(asked, cost)
        yield cost


def one(args):
    """One search: the best cost relative to -O2 after every evaluation."""
    objective = Objective(args.cc, args.source, args.objective, args.cache)
    server = Server(args.serve, args.cc)
    run = run_peer if args.engine in PEERS else run_ours
    best, curve, failed, known, asked = math.inf, [], 0, set(), 0
    most = args.evals * (COMPILED_MOST if args.count == "programs" else 1)
    for cost in run(server, objective, args.engine, args.seed, args.evals, most):
        asked += 1
        failed += cost is None
        best = min(best, cost if cost is not None else math.inf)
        new = cost is None or objective.code not in known
        known.add(objective.code)
        if new or args.count != "programs":
            # nobody ships worse than the plain build
            curve.append(min(1.0, best / objective.baseline))
        if len(curve) >= args.evals or asked >= most:
            break
    server.close()
    json.dump({"baseline": objective.baseline, "curve": curve, "failed": failed, "asked": asked}, sys.stdout)


def measure(args, source, objective, engine, seed):
    name = f"{os.path.basename(source)[:-2]}-{objective}-{engine}-{seed}-{args.evals}-{args.count}.json"
    path = os.path.join(args.out_peers if engine in PEERS else args.out, name)
    if not os.path.exists(path):
        cmd = [sys.executable, os.path.abspath(__file__), "--cc", args.cc, "--serve", args.serve, "--out", args.out]
        cmd += ["--cache", args.cache, "--evals", str(args.evals), "--engine", engine, "--seed", str(seed), "--count", args.count]
        cmd += ["--source", source, "--objective", objective]
        env = dict(os.environ, OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")
        done = subprocess.run(cmd, capture_output=True, text=True, env=env)
        if done.returncode:
            print(f"{name}: failed: {done.stderr.strip()[-400:]}", file=sys.stderr)
            return None
        with open(path + ".part", "w", encoding="utf-8") as f:
            f.write(done.stdout)
        os.rename(path + ".part", path)
    with open(path, encoding="utf-8") as f:
        return json.load(f)


def geomean(values):
    return math.exp(sum(math.log(v) for v in values) / len(values)) if values else math.nan


def print_table(title, rows, marks, ours):
    print(f"\n### {title}\n\n| engine | " + " | ".join(map(str, marks)) + " | failed | compilations |")
    print("|---|" + "---|" * (len(marks) + 2))
    for engine, at, failed, asked in sorted(rows, key=lambda r: r[1][-1]):
        name = f"**{engine}**" if engine in ours else engine
        print(f"| {name} | " + " | ".join(f"{v:.3f}" for v in at) + f" | {failed:.1f} % | {asked:.0f} |")


def at_marks(curves, marks):
    return [geomean([c[min(m, len(c)) - 1] for c in curves]) for m in marks]


def tables(args, results):
    marks = [m for m in MARKS if m < args.evals] + [args.evals]
    engines = args.engines.split(",")

    def rows(wanted):
        out = []
        for engine in engines:
            got = [r for (s, o, e, _), r in results.items() if e == engine and wanted(s, o)]
            if got and all(got):
                asked = sum(r["asked"] for r in got)
                failed = 100 * sum(r["failed"] for r in got) / asked
                out.append((engine, at_marks([r["curve"] for r in got], marks), failed, asked / len(got)))
            else:
                print(f"{engine}: incomplete, left out", file=sys.stderr)
        return out

    ours = [e for e in engines if e not in PEERS]
    for objective in args.objectives.split(","):
        for source in args.sources:
            title = f"{os.path.basename(source)}, {objective} relative to -O2"
            print_table(title, rows(lambda s, o: s == source and o == objective), marks, ours)
    print_table("Geometric mean over files and objectives, relative to -O2", rows(lambda s, o: True), marks, ours)


def main():
    p = argparse.ArgumentParser()
    for name in ("cc", "serve", "out", "out-peers", "cache", "source", "objective", "engine", "engines"):
        p.add_argument("--" + name)
    for name in ("seed", "first", "seeds", "evals", "jobs"):
        p.add_argument("--" + name, type=int)
    p.add_argument("--objectives", default=",".join(OBJECTIVES))
    p.add_argument("--count", default="programs", choices=("programs", "compilations"))
    p.add_argument("sources", nargs="*")
    args = p.parse_args()
    if args.engine:
        return one(args)
    os.makedirs(args.out, exist_ok=True)
    os.makedirs(args.out_peers, exist_ok=True)
    seeds = range(args.first, args.first + args.seeds)
    jobs = [(s, o, e, n) for n in seeds for e in args.engines.split(",") for s in args.sources for o in args.objectives.split(",")]
    results = {}
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        futures = {pool.submit(measure, args, *job): job for job in jobs}
        for n, future in enumerate(concurrent.futures.as_completed(futures), 1):
            job = futures[future]
            results[job] = future.result()
            print(f"{n}/{len(jobs)} {os.path.basename(job[0])} {job[1]} {job[2]} seed {job[3]}", file=sys.stderr, flush=True)
    tables(args, results)
    return any(r is None for r in results.values())


if __name__ == "__main__":
    sys.exit(main())
