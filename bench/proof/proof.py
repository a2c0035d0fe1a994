"""False alarms and power of hone validate: real processes, then the decision alone. Run by bench/proof.sh."""
import argparse, concurrent.futures, json, math, os, shutil, signal, subprocess, sys, tempfile, time

# name, what is planted, point, minimum gain, with a load on the other cores, what counts, aim
KINDS = {
    "a/a": ("the same code, another constant that nothing reads", {}, 0.01, True, "kept", "at most 2 %"),
    "a/a, margin 0": ("the same, keeping whatever gains at all", {}, 0.0, True, "kept", "at most 2 %"),
    "layout luck": ("the same code, linked and written in another order", {}, 0.01, True, "kept", "at most 2 %"),
    "slow-down 3 %": ("3 % more rounds", {"WORK": 721}, 0.01, False, "loses", "at least 95 %"),
    "gain 1 %": ("1 % fewer rounds, minimum gain 0.3 %", {"WORK": 693}, 0.003, False, "kept", "at least 80 %"),
    "heavier tail": ("every tenth call half as long again", {"SPIKE": 50}, 0.01, False, "rejected", "at least 95 %"),
    "gain 5 %, heavier tail": ("5 % fewer rounds, every tenth call half as long again", {"WORK": 665, "SPIKE": 50}, 0.01,
                               False, "tail", "at least 95 %"),
}
DEFAULT_N = {"a/a": 200, "a/a, margin 0": 20, "gain 5 %, heavier tail": 30}

# kind of simulate.c, words, minimum gain, what counts
SIMULATED = [
    ("same", "the same", 0.01, "kept"),
    ("same", "the same, keeping whatever gains at all", 0.0, "kept"),
    ("slow3", "3 % slower", 0.01, "loses"),
    ("fast1", "1 % faster, minimum gain 0.3 %", 0.003, "kept"),
    ("fast2", "2 % faster", 0.01, "kept"),
    ("fast5", "5 % faster", 0.01, "kept"),
    ("fast5-single", "5 % faster, one value a run", 0.01, "kept"),
    ("tail", "equal median, p95 10 % up", 0.01, "rejected"),
    ("fast5-tail", "5 % faster, p95 20 % up", 0.01, "tail"),
    ("fast5-spread", "5 % faster, spread 2.5 times", 0.01, "spread"),
    ("fast5-held-out", "5 % faster, 3 % slower on held-out inputs", 0.01, "held_out"),
]


def interval(k, n):
    """Wilson's 95 % interval of a share."""
    if not n:
        return 0.0, 1.0
    z, p = 1.96, k / n
    middle, half = p + z * z / (2 * n), z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    return (middle - half) / (1 + z * z / n), (middle + half) / (1 + z * z / n)


def load_others(cpu):
    """Keeps every core but the measured one busy with compression; returns the processes."""
    cores = sorted(os.sched_getaffinity(0))
    victim = shutil.which("bash")
    script = f"while :; do gzip -9 < {victim} > /dev/null; done"
    return [subprocess.Popen(["taskset", "-c", str(c), "bash", "-c", script], start_new_session=True)
            for c in cores if c != cpu]


def end(load):
    for p in load:
        os.killpg(p.pid, signal.SIGKILL)
        p.wait()


def point_of(kind, i):
    """The point of validation i: differs from the baseline even where nothing is planted."""
    point = {"WORK": 700, "SPIKE": 0, "ID": i + 1, "ORDER": 0}
    point.update(KINDS[kind][1])
    if kind == "layout luck":
        point["ORDER"] = 1 + i % 3
    return point


def validate(a, kind, i, store):
    command = [a.hone, "validate", "-w", a.workload, "--store", store, "--point", json.dumps(point_of(kind, i)), "--json",
               "-q", "--no-controls", "--seed", str(1000 * list(KINDS).index(kind) + i), "--min-gain",
               str(KINDS[kind][2]), "--cpu", str(a.cpu)]
    t0 = time.time()
    r = subprocess.run(command, capture_output=True, text=True)
    if r.returncode not in (0, 17):
        sys.exit(f"{' '.join(command)}\nexit {r.returncode}: {r.stderr}{r.stdout}")
    p = json.loads(r.stdout)["proofs"][0]["proof"]
    gain = p["overall"][0]["gain"]
    return {"kind": kind, "i": i, "why": p["why"] or "kept", "finding": p["overall"][0]["finding"], "pairs": p["n_pairs"],
            "gain": gain["mid"], "half": (gain["hi"] - gain["lo"]) / 2, "noise": p["noise"], "s": time.time() - t0}


def counts(kind_of, row):
    """Does this validation count?"""
    if kind_of == "kept":
        return row["why"] == "kept"
    if kind_of == "loses":
        return row["why"] != "kept" and row["finding"] == "loses"
    if kind_of == "rejected":
        return row["why"] != "kept"
    return row["why"] == kind_of


def read(path):
    if not os.path.exists(path):
        return []
    with open(path) as f:
        return [json.loads(line) for line in f if line.endswith("\n")]


def measure(a):
    path = os.path.join(a.out, "validations.jsonl")
    done = {(r["kind"], r["i"]) for r in read(path)}
    with tempfile.TemporaryDirectory(dir=a.out) as folder:
        for kind in a.kinds:
            todo = [i for i in range(a.n[kind]) if (kind, i) not in done]
            load = load_others(a.cpu) if KINDS[kind][3] and todo and not a.outside else []
            try:
                for i in todo:
                    row = validate(a, kind, i, os.path.join(folder, "store"))
                    with open(path, "a") as f:
                        f.write(json.dumps(row) + "\n")
                    print(f"{kind} {i + 1}/{a.n[kind]} {row['why']} {row['gain']:.4f} {row['s']:.1f} s", file=sys.stderr)
            finally:
                end(load)
    return read(path)


def median(x):
    x = sorted(x)
    return x[len(x) // 2] if x else float("nan")


def share(k, n):
    lo, hi = interval(k, n)
    return f"{k} of {n} ({100 * k / n:.1f} %)" if n else "-", f"{100 * lo:.1f} to {100 * hi:.1f} %"


def table_of_processes(a, rows):
    print("\n### Real processes\n")
    if a.outside:
        print("Load: made by others, on the cores that were not measured on, for all kinds.\n")
    print("| kind | planted | counted | found | 95 % interval | aim | pairs | half width | noise of a pair | s each |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for kind in a.kinds:
        mine = [r for r in rows if r["kind"] == kind and r["i"] < a.n[kind]]
        k = sum(counts(KINDS[kind][4], r) for r in mine)
        found, between = share(k, len(mine))
        words = {"loses": "rejected as a loss", "tail": "rejected for the tail"}.get(KINDS[kind][4], KINDS[kind][4])
        name = kind + (" (load)" if KINDS[kind][3] else "")
        print(f"| {name} | {KINDS[kind][0]} | {words} | {found} | {between} | {KINDS[kind][5]} |"
              f" {median([r['pairs'] for r in mine])} | {100 * median([r['half'] for r in mine]):.2f} % |"
              f" {100 * median([r['noise'] for r in mine]):.2f} % | {median([r['s'] for r in mine]):.1f} |")
    for kind in a.kinds:
        why = {}
        for r in rows:
            if r["kind"] == kind and r["i"] < a.n[kind]:
                why[r["why"]] = why.get(r["why"], 0) + 1
        print(f"\n{kind}: " + ", ".join(f"{v} {k}" for k, v in sorted(why.items(), key=lambda x: -x[1])) + ".", end="")
    print()


def simulate(a, kind, min_gain, noise, layout):
    r = subprocess.run([a.simulate, kind, str(a.simulated), "1", str(min_gain), "100", "400", "10", str(noise), str(layout)],
                       capture_output=True, text=True, check=True)
    return json.loads(r.stdout)


def table_of_simulation(a):
    noises = [(0.003, 0.001), (0.01, 0.003), (0.03, 0.01)]
    print(f"\n### The decision alone: {a.simulated} simulated validations a cell (10 builds a side, 100 to 400 pairs)\n")
    print("Noise of one run and spread between layouts, both as standard deviations; 2 % of the runs are outliers of +10 %"
          " and more.\n")
    print("| planted | counted | " + " | ".join(f"noise {100 * n:g} %, layout {100 * v:g} %" for n, v in noises) + " |")
    print("|---|---|" + "---|" * len(noises))
    cells = [(k, m, n, v) for k, _, m, _ in SIMULATED for n, v in noises]
    with concurrent.futures.ThreadPoolExecutor(a.jobs) as pool:
        got = list(pool.map(lambda c: simulate(a, *c), cells))
    for i, (_, words, _, counted) in enumerate(SIMULATED):
        row = []
        for g in got[i * len(noises):(i + 1) * len(noises)]:
            k = g["n"] - g["kept"] if counted == "rejected" else g[counted]
            row.append(f"{100 * k / g['n']:.1f} % ({g['pairs']:.0f} pairs)")
        print(f"| {words} | {counted} | " + " | ".join(row) + " |")


def main():
    p = argparse.ArgumentParser()
    for name in ("hone", "simulate", "workload", "out"):
        p.add_argument("--" + name, required=True)
    p.add_argument("--n", default="", help="validations of every kind; empty: the defaults")
    p.add_argument("--simulated", type=int, default=1000)
    p.add_argument("--kinds", default="")
    p.add_argument("--jobs", type=int, default=1)
    p.add_argument("--outside", action="store_true", help="others keep the other cores busy: make no load")
    a = p.parse_args()
    a.cpu = max(os.sched_getaffinity(0))
    a.kinds = [k.strip() for k in a.kinds.split(";") if k.strip()] or list(KINDS)
    unknown = [k for k in a.kinds if k not in KINDS]
    if unknown:
        sys.exit(f"unknown kind '{unknown[0]}'; known are: {'; '.join(KINDS)}")
    a.n = {k: int(a.n) if a.n else DEFAULT_N.get(k, 100) for k in KINDS}
    os.makedirs(a.out, exist_ok=True)
    table_of_processes(a, measure(a))
    if a.simulated:
        table_of_simulation(a)


main()
