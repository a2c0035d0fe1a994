"""Does likeness tell which controls pay? See bench/likeness.sh.

Every program's objective is measured with every control alone on top of a level. Then each program is held out once:
controls are ordered by their mean gain on the others, all alike or weighted by likeness (a Gaussian of the distance of
features, each in its standard deviations), and the row of those whose mean gain is above `least` is tried on the one held
out. The same with features dealt to the programs at random says what chance does.
"""

import argparse
import concurrent.futures
import math
import os
import random
import re
import statistics
import subprocess
import sys
import tempfile

from high_dim import Objective

WIDTHS = (0.3, 0.5, 0.8)  # of the Gaussian, in standard deviations of one feature
SHUFFLES = 60
FEATURES = "vectors, scalar floating point, calls, branches, memory, backward branches, instructions, instructions a function"
# Other results, or none on their own: profiles, link-time optimisation, floating point, code for instrumentation.
LEFT_OUT = (
    "math|reciprocal|rounding|signaling|trapping|signed-zeros|cx-|single-prec|float|profile|branch-prob|lto|exceptions|stack|"
    "fat|trapv|pack|short|whole-program|live-patch|non-call|excess|fp-|instrument|sanitize|section|semantic|isolate"
)


def controls(cc, level):
    """The switches of the optimiser, each turned over."""
    text = subprocess.run([cc, level, "-Q", "--help=optimizers"], capture_output=True, text=True, check=True).stdout
    found = re.findall(r"^\s+-f([\w-]+)\s+\[(enabled|disabled)\]", text, re.M)
    return [("-fno-" if on == "enabled" else "-f") + name for name, on in found if not re.search(LEFT_OUT, name)]


def features(cc, source, includes):
    """Of the object that -O2 makes, as objdump lists it."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "x.o")
        subprocess.run([cc, "-O2", "-w", *includes, "-c", source, "-o", path], check=True)
        text = subprocess.run(["objdump", "-d", "--no-show-raw-insn", path], capture_output=True, text=True, check=True).stdout
    n = dict.fromkeys(("all", "vector", "scalar", "call", "branch", "memory", "back"), 0)
    for at, op, args in re.findall(r"^\s*([0-9a-f]+):\s+(\S+)[ \t]*(.*)$", text, re.M):
        scalar = re.search("(ss|sd)$", op) and "xmm" in args
        target = re.match("[0-9a-f]+", args) if op.startswith("j") else None
        n["all"] += 1
        n["scalar"] += bool(scalar)
        n["vector"] += not scalar and bool(re.search("[xyz]mm", args))
        n["call"] += op.startswith("call")
        n["branch"] += op.startswith("j")
        n["memory"] += "(" in args
        n["back"] += bool(target) and int(target.group(), 16) < int(at, 16)
    total, functions = max(n["all"], 1), max(len(re.findall(r"^[0-9a-f]+ <", text, re.M)), 1)
    shares = [n[k] / total for k in ("vector", "scalar", "call", "branch", "memory", "back")]
    return shares + [math.log(total), math.log(total / functions)]


class Counted(Objective):
    """With folders of headers; of the sizes also files that are no programs."""

    def __init__(self, includes, *rest):
        self.includes = includes
        super().__init__(*rest)

    def _compile(self, flags, folder):
        return super()._compile([*self.includes, *flags], folder)

    def _link(self, object_path, folder):
        return object_path if self.what == "size" else super()._link(object_path, folder)

    def _works(self, program):
        return self.what == "size" or super()._works(program)


def standard(rows):
    """Each column with mean 0 and deviation 1."""
    columns = list(zip(*rows))
    means, devs = [statistics.mean(c) for c in columns], [statistics.pstdev(c) or 1 for c in columns]
    return [[(x - m) / s for x, m, s in zip(row, means, devs)] for row in rows]


class Table:
    """gain[p][k]: the logarithm of how much better program p is with control k."""

    def __init__(self, args):
        self.args = args
        includes = ["-I" + os.path.abspath(d) for d in ("include", "src")]
        self.flags = [args.level]
        self.each = [Counted(includes, args.cc, s, args.objective, args.cache) for s in args.sources]
        self.features = standard([features(args.cc, s, includes) for s in args.sources])
        self.control = controls(args.cc, args.level)
        random.Random(args.seed).shuffle(self.control)
        self.control = self.control[: args.controls]
        pairs = [(p, k) for p in range(len(self.each)) for k in range(len(self.control))]
        with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
            self.base = list(pool.map(lambda o: o(self.flags), self.each))
            gains = list(pool.map(lambda pk: self.measure(pk[0], [self.control[pk[1]]]), pairs))
        wide = len(self.control)
        self.gain = [[g or 0 for g in gains[p * wide : (p + 1) * wide]] for p in range(len(self.each))]

    def measure(self, p, row):
        """None: it fails."""
        cost = self.each[p](self.flags + row)
        return cost and math.log(self.base[p] / cost)

    def predicted(self, p, width, place):
        """Each control's gain on p, as the others tell; width None: all alike."""
        n = len(self.each)
        scale = 2 * (width or 1) ** 2 * len(place[0])
        far = [sum((a - b) ** 2 for a, b in zip(place[p], place[q])) for q in range(n)]
        near = min(d for q, d in enumerate(far) if q != p)
        weight = [0 if q == p else math.exp((near - far[q]) / scale) if width else 1 for q in range(n)]
        return [sum(w * self.gain[q][k] for q, w in enumerate(weight)) / sum(weight) for k in range(len(self.control))]

    def evaluations(self, width, place):
        """Geometric mean over programs of how many controls are tried until 95 % of the best one's gain."""
        logs = []
        for p, own in enumerate(self.gain):
            best = max(own)
            if best < 1e-4:
                continue
            guess = self.predicted(p, width, place)
            order = sorted(range(len(own)), key=lambda k: -guess[k])
            logs.append(math.log(1 + next(i for i, k in enumerate(order) if own[k] >= 0.95 * best)))
        return math.exp(statistics.mean(logs))

    def rows(self, width, place):
        """What the row of all controls that the others promise brings each program."""
        out = []
        for p in range(len(self.each)):
            guess = self.predicted(p, width, place)
            row = [c for c, g in zip(self.control, guess) if g > self.args.least / 100]
            out.append(self.measure(p, row) or 0)
        return out


def percent(values):
    return f"{100 * statistics.mean(values):.2f} %"


def report(t, shuffles):
    plain, alike = t.evaluations(None, t.features), t.rows(None, t.features)
    print("| order | tries to 95 % of the best control | as few with features at random | row: mean gain | beyond the row for all |")
    print("|---|---|---|---|---|")
    print(f"| all programs alike | {plain:.2f} | | {percent(alike)} | |")
    for width in WIDTHS:
        own, rows = t.evaluations(width, t.features), t.rows(width, t.features)
        chance = [t.evaluations(width, place) for place in shuffles]
        more = [b - a for a, b in zip(alike, rows)]
        error = 100 * statistics.stdev(more) / math.sqrt(len(more))
        print(
            f"| by likeness, width {width} | {own:.2f} | {sum(c <= own for c in chance)} of {len(chance)} (mean {statistics.mean(chance):.2f})"
            f" | {percent(rows)} | {100 * statistics.mean(more):+.2f} ± {error:.2f} % |"
        )


def main():
    p = argparse.ArgumentParser()
    for name in ("cc", "cache", "objective", "level"):
        p.add_argument("--" + name)
    p.add_argument("--controls", type=int)
    p.add_argument("--jobs", type=int)
    p.add_argument("--seed", type=int)
    p.add_argument("--least", type=float, default=0.05)
    p.add_argument("sources", nargs="+")
    args = p.parse_args()
    t = Table(args)
    shuffles = []
    for i in range(SHUFFLES):
        shuffles.append(t.features[:])
        random.Random(i).shuffle(shuffles[-1])
    print(f"{len(t.each)} programs, {len(t.control)} controls of {args.cc} {args.level}, {args.objective}; features: {FEATURES}\n")
    report(t, shuffles)
    sys.stdout.flush()


if __name__ == "__main__":
    main()
