"""bench/python_overhead.py — what one evaluation of an empty objective costs; see python-overhead.sh."""
import argparse
import os
import statistics
import sys
import time

import hone.space as ss
from hone import Search

LIMIT_US = {"inline": 60, "pool": 1500}


def empty(config):
    return config["x"]


def space():
    return {"x": ss.range(0.0, 1.0), "n": ss.range(1, 64), "k": ss.choice(["a", "b", "c"]), "f": ss.flag()}


def hone_us(worker, n, workers):
    search = Search(empty, space(), engine="evolve", max_evals=n)
    start = time.perf_counter()
    assert len(search.start(workers, worker=worker)) == n
    return (time.perf_counter() - start) / n * 1e6


def optuna_us(sampler, n):
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    choices = {"random": optuna.samplers.RandomSampler, "tpe": optuna.samplers.TPESampler,
               "nsga2": optuna.samplers.NSGAIISampler}

    def objective(trial):
        config = {"x": trial.suggest_float("x", 0, 1), "n": trial.suggest_int("n", 1, 64),
                  "k": trial.suggest_categorical("k", ["a", "b", "c"]), "f": trial.suggest_categorical("f", [False, True])}
        return empty(config)

    study = optuna.create_study(sampler=choices[sampler](seed=0))
    start = time.perf_counter()
    study.optimize(objective, n_trials=n)
    return (time.perf_counter() - start) / n * 1e6


def memory_of(n):
    """Bytes that the process grows by per evaluation, over the last four fifths of n."""
    at = {}

    def note(trial):
        if trial.id in (n // 5, n):
            with open("/proc/self/statm") as f:
                at[trial.id] = int(f.read().split()[1]) * os.sysconf("SC_PAGESIZE")

    results = Search(empty, space(), engine="evolve", max_evals=n, callbacks=[note]).start()
    trial = results.trials[-1]
    record = sum(map(sys.getsizeof, [trial, trial.point, trial.values, trial.values[0], trial.seconds, trial.at]))
    return (at[n] - at[n // 5]) / (n - n // 5), record


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--evals", type=int, default=2000)
    args = parser.parse_args()
    rows = {"hone, in-process": lambda: hone_us("inline", args.evals, 1),
            "hone, pool of 2": lambda: hone_us("pool", args.evals, 2)}
    try:
        import optuna

        for sampler, n in (("random", args.evals), ("nsga2", args.evals), ("tpe", args.evals // 10)):
            rows[f"Optuna {optuna.__version__}, {sampler}, in-process"] = lambda s=sampler, k=n: optuna_us(s, k)
    except ImportError:
        print("\nOptuna is not installed: tools/venv.sh bench", file=sys.stderr)
    seen = {name: [] for name in rows}
    for _ in range(args.rounds):  # in turn, so that drift meets all alike
        for name, run in rows.items():
            seen[name].append(run())
    print("\n| empty objective | us per evaluation (median) | least | limit |\n|---|---:|---:|---:|")
    over = False
    for name, us in seen.items():
        limit = LIMIT_US["inline"] if name == "hone, in-process" else LIMIT_US["pool"] if name.startswith("hone") else None
        over |= limit is not None and statistics.median(us) > limit
        print(f"| {name} | {statistics.median(us):.1f} | {min(us):.1f} | {limit or ''} |")
    grown, record = memory_of(50_000)
    print(f"\n50,000 evaluations: {grown:.0f} bytes more per evaluation, of which {record} are its record in Python "
          "(the rest is the engine's own row)")
    return over


if __name__ == "__main__":
    sys.exit(main())
