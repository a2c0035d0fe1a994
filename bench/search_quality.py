"""Runs hone's engines and the peers over recorded spaces and prints the tables of bench/search-quality.sh.

Every (engine, space) is one process whose result is a JSON file; a file that is there already is not made again.
"""

import argparse
import concurrent.futures
import glob
import hashlib
import json
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "peers"))
import registry  # noqa: E402

MARKS = ("25", "50", "100", "200")
NOT_SCALAR = {"nsga2"}  # hone's engines that are for several objectives
TWO_OURS = ("auto", "lfbo", "nsga2", "random")


def parse():
    p = argparse.ArgumentParser()
    p.add_argument("--hone", required=True)
    p.add_argument("--out", required=True)
    p.add_argument("--seeds", type=int, required=True)
    p.add_argument("--evals", type=int, required=True)
    p.add_argument("--jobs", type=int, required=True)
    p.add_argument("--ours", default="", help="engines, comma-separated; default: all")
    p.add_argument("--peers", default="", help="peers, comma-separated; 'none'; default: all")
    p.add_argument("spaces", nargs="+")
    args = p.parse_args()
    if args.evals < int(MARKS[0]):
        p.error(f"EVALS={args.evals}: the tables show scores after {', '.join(MARKS)} evaluations; give at least {MARKS[0]}")
    return args


def digest(paths):
    """Names a folder of results by what made them, so that those of an older build are not taken for this one's."""
    h = hashlib.sha256()
    for path in paths:
        with open(path, "rb") as f:
            h.update(f.read())
    return h.hexdigest()[:12]


def our_engines(args):
    if args.ours:
        return args.ours.split(",")
    text = subprocess.run([args.hone, "engines", "--json"], check=True, capture_output=True, text=True).stdout
    listed = json.loads(text)
    rows = listed if isinstance(listed, list) else listed["engines"]
    return [row["name"] for row in rows]


def their_engines(args, table):
    if args.peers == "none":
        return []
    wanted = args.peers.split(",") if args.peers else list(table)
    return [name for name in wanted if name in table]


def command(args, kind, engine, path, objectives):
    if kind == "peer":
        script = os.path.join(HERE, "peers", "run_peer.py")
        return [sys.executable, script, engine, path, str(args.seeds), str(args.evals), objectives]
    cmd = [args.hone, "replay", path, "--engine", engine, "--evals", str(args.evals), "--seeds", str(args.seeds)]
    return cmd + ["--constraints", "known", "--json", "--curve"] + (["--two-objectives"] if objectives == "two" else [])


def measure(args, job):
    """The result of one (engine, space), from its file or by running it; None when it failed."""
    kind, engine, path, objectives = job
    label = os.path.basename(path).split(".")[0]
    name = f"{engine}-{label}-{objectives}-{args.seeds}x{args.evals}.json"
    file = os.path.join(args.out, args.folder[kind], name)
    if not os.path.exists(file):
        # one thread each: what NumPy would use beyond that is taken from the other job
        env = dict(os.environ, OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")
        done = subprocess.run(command(args, kind, engine, path, objectives), capture_output=True, text=True, env=env)
        if done.returncode or not done.stdout.startswith("{"):
            print(f"{engine} on {label}: failed: {done.stderr.strip()[-300:]}", file=sys.stderr)
            return None
        with open(file + ".part", "w", encoding="utf-8") as f:
            f.write(done.stdout)
        os.rename(file + ".part", file)
    with open(file, encoding="utf-8") as f:
        return json.load(f)


def run_all(args, jobs):
    results = {}
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        futures = {pool.submit(measure, args, job): job for job in jobs}
        for n, future in enumerate(concurrent.futures.as_completed(futures), 1):
            kind, engine, path, objectives = futures[future]
            results[objectives, engine, path] = future.result()
            print(f"{n}/{len(jobs)} {engine} {os.path.basename(path)} {objectives}", file=sys.stderr, flush=True)
    return results


def mean(values):
    values = list(values)
    return sum(values) / len(values) if values else float("nan")


def against_random(curve, base):
    """Area between the curve and random's, as a share of the area above random's: 0 is random, 1 the optimum at once.
    (The mean of the pointwise ratios would hang on the last evaluations, where random's curve is near 1, too.)"""
    return (mean(curve) - mean(base)) / max(1 - mean(base), 1e-9)


def rows_of(args, results, objectives, engines):
    rows = []
    for engine in engines:
        got = [results.get((objectives, engine, path)) for path in args.spaces]
        if any(r is None for r in got):
            rows.append({"engine": engine, "failed": True})
            continue
        base = [results.get((objectives, "random", path)) for path in args.spaces]
        marks = [m for m in MARKS if int(m) <= args.evals]
        row = {"engine": engine, "at": {m: mean(r["fraction_of_best"][m] for r in got) for m in marks}}
        row["to_95"] = mean(r["evals_to_95"] for r in got)
        row["ask_s"] = mean(r["ask_s"] for r in got)
        if all(base):
            row["score"] = mean(against_random(r["curve"], b["curve"]) for r, b in zip(got, base))
        rows.append(row)
    return sorted(rows, key=lambda r: -sum(r["at"].values()) if "at" in r else 1e9)


def table(title, rows, args, ours):
    marks = [m for m in MARKS if int(m) <= args.evals]
    print(f"\n### {title}\n")
    print("| engine | " + " | ".join(marks) + " | evaluations to 95 % | against random | µs per evaluation |")
    print("|---|" + "---|" * (len(marks) + 3))
    for r in rows:
        name = f"**{r['engine']}**" if r["engine"] in ours else r["engine"]
        if r.get("failed"):
            print(f"| {name} | " + "failed | " * (len(marks) + 3))
            continue
        cells = [f"{r['at'][m]:.3f}" for m in marks]
        cells += [f"{r['to_95']:.1f}", f"{r['score']:+.3f}" if "score" in r else "-", f"{1e6 * r['ask_s']:.0f}"]
        print(f"| {name} | " + " | ".join(cells) + " |")


def per_space(results, args, engines):
    """Each space's own row at the last mark, for the reader who wants to know where the mean comes from."""
    mark = [m for m in MARKS if int(m) <= args.evals][-1]
    print(f"\n### Per space, at {mark} evaluations\n")
    print("| space | " + " | ".join(engines) + " |\n|---|" + "---|" * len(engines))
    for path in args.spaces:
        got = [results.get(("one", e, path)) for e in engines]
        cells = [f"{r['fraction_of_best'][mark]:.3f}" if r else "-" for r in got]
        print(f"| {os.path.basename(path).split('.')[0]} | " + " | ".join(cells) + " |")


def main():
    args = parse()
    peers_code = sorted(glob.glob(os.path.join(HERE, "peers", "*.py"))) + [os.path.join(HERE, "../tools/venv-bench.txt")]
    args.folder = {"ours": "hone-" + digest([args.hone]), "peer": "peers-" + digest(peers_code)}
    for folder in args.folder.values():
        os.makedirs(os.path.join(args.out, folder), exist_ok=True)
    ours = [e for e in our_engines(args) if e not in NOT_SCALAR]
    ours2 = [e for e in TWO_OURS if not args.ours or e in ours + ["nsga2"]]
    peers, peers2 = their_engines(args, registry.SINGLE), their_engines(args, registry.TWO)
    jobs = [("ours", e, p, "one") for e in ours for p in args.spaces]
    jobs += [("ours", e, p, "two") for e in ours2 for p in args.spaces]
    jobs += [("peer", e, p, "one") for e in peers for p in args.spaces]
    jobs += [("peer", e, p, "two") for e in peers2 for p in args.spaces]
    results = run_all(args, jobs)
    one = rows_of(args, results, "one", ours + peers)
    two = rows_of(args, results, "two", ours2 + peers2)
    n = len(args.spaces)
    table(f"Fraction of the best, mean over {n} spaces, {args.seeds} seeds, constraints known", one, args, ours)
    table(f"Time and compile time: share of the front's hypervolume, mean over {n} spaces", two, args, ours2)
    per_space(results, args, [r["engine"] for r in one if "at" in r][:8])
    with open(os.path.join(args.out, "summary.json"), "w", encoding="utf-8") as f:
        json.dump({"one": one, "two": two}, f, indent=1)
    return any(r.get("failed") for r in one + two)


if __name__ == "__main__":
    sys.exit(main())
