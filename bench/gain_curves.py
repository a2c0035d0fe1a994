"""What each tuner's best point at several times is worth, proven; see CURVES of bench/real-gains.sh.

A search runs once, for the longest of the times. Its best point at each of them is then proven by `hone validate --point`: the
same proof for all tuners, which also rejects a point whose results are wrong. The clock begins with the command: opening the
space and measuring the baseline count. OpenTuner's candidates are built by the commands that hone would run, one after the
other, and judged as its users would: the program's own figure beside that of the baseline, run just before.
"""

import argparse
import contextlib
import json
import math
import os
import re
import subprocess
import sys
import time

import yaml

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "peers"))
import real_gains

REJECTED = 17
LIMIT_S = 60


def seconds(text):
    found = re.fullmatch(r"(\d+(?:\.\d+)?)(s|m|h)?", text)
    if not found:
        raise SystemExit(f"CURVES: '{text}' is no time; give times such as '30s 2m 10m'")
    return float(found[1]) * {"s": 1, None: 1, "m": 60, "h": 3600}[found[2]]


def hone(args, *command, accept=(0,)):
    done = subprocess.run([args.hone, *command, "--json"], capture_output=True, text=True, check=False)
    if done.returncode not in accept:
        raise RuntimeError(f"hone {' '.join(command)}: {done.stderr.strip()[-400:]}")
    return json.loads(done.stdout)


def search_hone(args, engine, folder):
    """(seconds, gain as measured, point) of every feasible trial."""
    where, began = os.path.join(folder, "hone.yaml"), time.time()
    hone(args, "tune", where, "--new", "-q", "--engine", engine, "--seed", str(args.seed), "--time", f"{args.marks[-1]:g}s")
    trials = hone(args, "results", "--store", os.path.join(folder, ".hone"), "--all")["trials"]
    good = [t for t in trials if t["phase"] == "search" and t["class"] == "ok" and t["feasible"] and t["speedup"]]
    return [(t["at"] - began, t["speedup"], t["point"]) for t in good]


class Program:
    """A workload as a user of another tuner would measure it."""

    def __init__(self, folder):
        with open(os.path.join(folder, "hone.yaml"), encoding="utf-8") as f:
            self.workload = yaml.safe_load(f)
        self.folder = folder
        goal = self.workload["objectives"]
        goal = goal[0] if isinstance(goal, list) else goal
        found = re.fullmatch(r"\s*minimize\s+(?:p50\()?(\w+)\)?\s*", goal) if isinstance(goal, str) else None
        if not found:
            raise RuntimeError(f"'{goal}': curves are of objectives such as 'minimize p50(latency)'")
        self.metric = found[1]
        inputs = self.workload.get("inputs") or [{"args": ""}]
        self.inputs = [i for i in inputs if not i.get("held_out")]
        self.min_time = str((self.workload.get("measure") or {}).get("min_time", "10 ms")).replace(" ", "")

    def build(self, command, name):
        """True when the command made ./prog, which is then called so."""
        out = os.path.join(self.folder, "prog")
        try:
            done = subprocess.run(["sh", "-c", command], cwd=self.folder, capture_output=True, timeout=LIMIT_S, check=False)
        except subprocess.TimeoutExpired:
            return False
        if done.returncode or not os.path.exists(out):
            return False
        os.replace(out, os.path.join(self.folder, name))
        return True

    def figure(self, name, data):
        """The program's own figure, or None."""
        path = os.path.join(self.folder, "figures.jsonl")
        if os.path.exists(path):
            os.remove(path)
        env = dict(os.environ, HONE_BENCH_OUT=path, HONE_BENCH_MIN_TIME=self.min_time)
        words = self.workload["run"].replace("{out}", "./" + name).replace("{input}", str(data.get("args", "")))
        try:
            done = subprocess.run(["sh", "-c", words], cwd=self.folder, env=env, capture_output=True, timeout=LIMIT_S, check=False)
        except subprocess.TimeoutExpired:
            return None
        if done.returncode or not os.path.exists(path):
            return None
        with open(path, encoding="utf-8") as f:
            rows = [json.loads(line) for line in f]
        return next((r["p50"] for r in rows if r.get("metric") == self.metric and r.get("p50")), None)

    def gain(self):
        """Of ./candidate over ./baseline: the weighted geometric mean over the inputs; None when a run failed."""
        total, weights = 0.0, 0.0
        for data in self.inputs:
            base, mine = self.figure("baseline", data), self.figure("candidate", data)
            if not base or not mine:
                return None
            weight = float(data.get("weight", 1))
            total, weights = total + weight * math.log(base / mine), weights + weight
        return math.exp(total / weights)


def search_opentuner(args, folder):
    from opentuner_peer import OpenTuner

    began, where = time.time(), os.path.join(folder, "hone.yaml")
    params = [p for p in hone(args, "space", "print", where)["parameters"] if p["kind"] not in ("literal", "space")]
    hone(args, "tune", where, "--new", "-q", "--evals", "1", "--seed", str(args.seed))
    trials = hone(args, "results", "--store", os.path.join(folder, ".hone"), "--all")["trials"]
    baseline = next(t["point"] for t in trials if t["phase"] == "baseline")
    program, found = Program(folder), []
    server = subprocess.Popen([args.serve, where], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def command(point):
        server.stdin.write(json.dumps(point) + "\n")
        server.stdin.flush()
        return json.loads(server.stdout.readline() or '{"end": "the server ended"}')

    first = command(baseline)
    if not program.build(first.get("command", "false"), "baseline"):
        raise RuntimeError(f"the baseline does not build: {first}")
    tuner = OpenTuner(params, args.seed, 1000000)
    while time.time() - began < args.marks[-1]:
        asked = tuner.ask()
        if asked is None:
            break
        point = tuner.point(asked)
        made = command(point)
        gain = program.gain() if program.build(made.get("command", "false"), "candidate") else None
        tuner.tell(asked, None if gain is None else 1 / gain)
        if gain is not None:
            found.append((time.time() - began, gain, point))
    server.stdin.close()
    server.wait()
    return found


def best_at(found, mark):
    seen = [f for f in found if f[0] <= mark]
    return max(seen, key=lambda f: f[1], default=None)


def prove(args, folder, point):
    """The proven gain of a point: 1 where it is rejected, since nobody ships it then."""
    file = os.path.join(folder, "point.json")
    with open(file, "w", encoding="utf-8") as f:
        json.dump(point, f)
    got = hone(args, "validate", "--workload", os.path.join(folder, "hone.yaml"), "--point", file, "--time", args.time,
               "--no-controls", "-q", accept=(0, REJECTED))  # fmt: skip
    row = got["proofs"][0]
    return real_gains.gain_of(row)["mid"] if row["proof"]["kept"] else 1.0


def measure(args, kernel, mode, tuner):
    """A row for each time: trials so far, the gain as measured, the gain as proven."""
    args.evals = f"curve-{tuner}-{args.marks[-1]:g}s"
    folder = real_gains.prepare(args, kernel, mode)
    if folder is None:
        return None
    path = os.path.join(folder, "curve.json")
    if not os.path.exists(path):
        with contextlib.chdir(folder):  # OpenTuner writes a log where it is
            found = search_opentuner(args, ".") if tuner == "opentuner" else search_hone(args, tuner, ".")
        rows, proven = [], {}
        for mark in args.marks:
            best = best_at(found, mark)
            key = json.dumps(best[2], sort_keys=True) if best else None
            if key and key not in proven:
                proven[key] = prove(args, folder, best[2])
            rows.append({"mark": mark, "n": sum(f[0] <= mark for f in found), "measured": best[1] if best else 1, "proven": proven.get(key, 1.0)})
        with open(path + ".part", "w", encoding="utf-8") as f:
            json.dump(rows, f)
        os.rename(path + ".part", path)
    with open(path, encoding="utf-8") as f:
        return json.load(f)


def table(args, mode, results):
    heads = " | ".join(f"after {m:g} s" for m in args.marks)
    print(f"\n### {mode}: proven gain (trials)\n\n| kernel | tuner | {heads} |\n|---|---|" + "---|" * len(args.marks))
    for (kernel, tuner), rows in results.items():
        cells = [f"{r['proven']:.3f} ({r['n']})" for r in rows] if rows else ["failed"] * len(args.marks)
        print(f"| {kernel} | {tuner} | " + " | ".join(cells) + " |")
    for tuner in args.tuners.split():
        of = [rows for (_, t), rows in results.items() if t == tuner and rows]
        if of:
            means = [real_gains.geomean([rows[i]["proven"] for rows in of]) for i in range(len(args.marks))]
            print(f"| geometric mean | {tuner} | " + " | ".join(f"{m:.3f}" for m in means) + " |")
    sys.stdout.flush()


def main():
    p = argparse.ArgumentParser()
    for name in ("hone", "serve", "work", "modes", "time", "tuners", "marks"):
        p.add_argument("--" + name, required=True)
    p.add_argument("--seed", type=int, required=True)
    p.add_argument("kernels", nargs="+")
    args = p.parse_args()
    args.hone, args.serve = os.path.abspath(args.hone), os.path.abspath(args.serve)
    args.marks = sorted(seconds(m) for m in args.marks.split())
    failed = False
    for mode in args.modes.split():
        results = {}
        for kernel in args.kernels:
            for tuner in args.tuners.split():
                try:
                    rows = measure(args, kernel, mode, tuner)
                except (RuntimeError, OSError, ValueError, KeyError, IndexError) as e:
                    print(f"{kernel} {mode} {tuner}: {e}", file=sys.stderr)
                    rows, failed = [], True
                if rows is not None:
                    results[kernel, tuner] = rows
                print(f"{kernel} {mode} {tuner}: done", file=sys.stderr, flush=True)
        if results:
            table(args, mode, results)
    return failed


if __name__ == "__main__":
    sys.exit(main())
