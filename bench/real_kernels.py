"""real_kernels.py FOLDER NAME...: the table of bench/real-kernels.sh from FOLDER/NAME.json (`hone tune --json`)."""

import json
import math
import os
import statistics
import sys


def load(folder, name):
    path = os.path.join(folder, name + ".json")
    if not os.path.exists(path):
        return None
    with open(path, encoding="utf-8") as f:
        return json.load(f)


def main():
    folder, names = sys.argv[1], sys.argv[2:]
    gains = []
    print("\n| kernel | gain | 95 % interval | trials | known objects | failures | time |\n|---|---|---|---|---|---|---|")
    for name in names:
        r = load(folder, name)
        if r is None:
            print(f"| {name} | failed | - | - | - | - | - |")
            continue
        gains.append(r["speedup"])
        failures = sum(v for k, v in r["classes"].items() if k != "ok")
        print(
            f"| {name} | {r['speedup']:.3f} | {r['speedup_lo']:.3f} .. {r['speedup_hi']:.3f} | {r['trials']}"
            f" | {r['reused']} | {failures} | {r['elapsed_s']:.0f} s |"
        )
    if gains:
        mean = math.exp(statistics.fmean(math.log(g) for g in gains))
        print(f"\nGeometric mean {mean:.3f}, median {statistics.median(gains):.3f}; claims of the searches, not yet proven.")


if __name__ == "__main__":
    main()
