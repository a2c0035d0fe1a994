"""Learns a combination of a compiler's controls that pays on many programs; see bench/learn-seeds.sh.

From a plain level on, one value of one control after the other is tried on all programs, in random order; what makes the
geometric mean over programs better by `least` and no program worse by `worst` is kept. At the end each that was kept is
left out once, and stays out where nothing is lost. The programs are not those that bench/high-dim.sh judges on.
"""

import argparse
import json
import math
import os
import random
import sys
import time

from high_dim import Objective, Server


def moves(params):
    """(name, value) of every control: every value of a choice, the ends of a number and one between."""
    out = []
    for p in params:
        if p["name"] == "-O" or p.get("when"):
            continue
        if p["kind"] == "int":
            lo, hi = int(p["lo"]), int(p["hi"])
            values = sorted({lo, hi, round(math.sqrt(lo * hi)) if p["log"] else lo + (hi - lo) // 4})
        else:
            values = p.get("values", [])
        out += [(p["name"], v) for v in values]
    return out


def typed(value):
    """A value as the space has it: numbers are numbers."""
    try:
        return int(value)
    except ValueError:
        return value


class Programs:
    def __init__(self, args, server):
        self.server = server
        self.each = [Objective(args.cc, s, args.objective, args.cache) for s in args.sources]
        self.least, self.worst = args.least / 100, args.worst / 100

    def costs(self, point, than=None):
        """The cost on every program; None: one fails, or it is clear early that nothing is gained over `than`."""
        flags = self.server("flags " + json.dumps(point)).get("flags")
        if flags is None:
            return None
        out, gain = [], 0.0
        for k, objective in enumerate(self.each):
            cost = objective(flags)
            if cost is None:
                return None
            out.append(cost)
            if than is None:
                continue
            here = math.log(than[k] / cost)
            gain += here
            nothing = k == 2 and out == than[:3]  # nearly always on all programs then
            if here < -self.worst or (k >= 2 and gain < -self.least) or nothing:
                return None
        return out

    def gain(self, costs, than):
        return sum(math.log(b / a) for a, b in zip(costs, than)) / len(costs)


def climb(programs, start, tried, seconds):
    point, kept, n, until = dict(start), [], 0, time.monotonic() + seconds
    now = programs.costs(point)
    if now is None:
        raise SystemExit("the plain level fails")
    first = now
    for n, (name, value) in enumerate(tried, 1):
        if time.monotonic() > until:
            n -= 1
            break
        if point.get(name) == value:
            continue
        candidate = dict(point, **{name: value})
        costs = programs.costs(candidate, now)
        gain = programs.gain(costs, now) if costs else 0
        if gain > programs.least:
            point, now = candidate, costs
            kept = [(k, v, g) for k, v, g in kept if k != name] + [(name, value, gain)]
            print(f"{n}/{len(tried)} {name} {value}: {100 * gain:.2f} %, together {100 * programs.gain(now, first):.2f} %", file=sys.stderr,
                  flush=True)
    for name, value, _ in list(kept):
        rest = {k: v for k, v in point.items() if k != name}
        costs = programs.costs(rest)
        if costs and programs.gain(costs, now) > -programs.least / 2:
            point, now = rest, costs
            kept = [k for k in kept if k[0] != name]
    return point, kept, programs.gain(now, first), n


def main():
    p = argparse.ArgumentParser()
    for name in ("cc", "serve", "cache", "objective", "level"):
        p.add_argument("--" + name)
    p.add_argument("--also", default="{}", help="further controls to start from, as JSON")
    p.add_argument("--least", type=float, default=0.05)
    p.add_argument("--worst", type=float, default=1.0)
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--seconds", type=float, default=math.inf, help="try no more values after so long")
    p.add_argument("--first", default="", help='"NAME VALUE; NAME VALUE": tried before all others, in this order')
    p.add_argument("sources", nargs="+")
    args = p.parse_args()
    os.makedirs(args.cache, exist_ok=True)
    server = Server(args.serve, args.cc)
    programs = Programs(args, server)
    tried = moves(server("params")["params"])
    random.Random(args.seed).shuffle(tried)
    first = [tuple(gene.strip().rsplit(" ", 1)) for gene in args.first.split(";") if gene.strip()]
    tried = [m for m in ((n, typed(v)) for n, v in first) if m in tried] + [m for m in tried if (m[0], str(m[1])) not in first]
    start = dict({"-O": args.level}, **json.loads(args.also))
    point, kept, gain, n = climb(programs, start, tried, args.seconds)
    print(f"/* {args.cc}, -O {args.level}: {100 * gain:.2f} % less {args.objective} on the mean of {len(args.sources)} programs; {n} of {len(tried)} values tried")
    print(" * (" + ", ".join(os.path.basename(s) for s in args.sources) + ") */")
    genes = [f"{k} {v}" for k, v in point.items()]
    print(f'HN_LEARNED("{args.objective}", "' + "; ".join(genes) + '")')
    for name, value, g in sorted(kept, key=lambda k: -k[2]):
        print(f"    {name} {value}: {100 * g:.2f} %")
    server.close()


if __name__ == "__main__":
    main()
