"""Recorded tuning spaces, as bench/search-quality.sh hands them to other people's search engines.

The format is that of shared/spaces/README.md: two '#' lines (kernel and device; legal values of each parameter), a
header, then one tab-separated line per configuration. A configuration is named by a tuple of value indices.

Scoring is the same as in `hone replay`: f(n) = best time of the space / best time found in the first n evaluations;
with two objectives the share of the true front's hypervolume, both axes logarithmic, the reference point at the worst
of the space.
"""

import lzma
import math
import os

import numpy as np

MARKS = (25, 50, 100, 200)


class Finished(Exception):
    """The evaluations are used up (or the peer proposes nothing new any more)."""


def _number(text):
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text


def hypervolume(points, ref):
    """Area dominated by points of two minimised objectives within ref."""
    area, floor = 0.0, ref[1]
    for x, y in sorted(points):
        if y < floor and x < ref[0]:
            area += (ref[0] - x) * (floor - y)
            floor = y
    return area


class Recording:
    def __init__(self, path):
        self.label = os.path.basename(path).removesuffix(".xz").removesuffix(".tsv")
        opener = lzma.open if path.endswith(".xz") else open
        with opener(path, "rt", encoding="utf-8") as f:
            lines = f.read().splitlines()
        values = dict(word.split("=", 1) for word in lines[1].removeprefix("# values ").split())
        self.names = lines[2].split("\t")[: len(values)]
        self.values = [[_number(v) for v in values[name].split("|")] for name in self.names]
        index = [{v: i for i, v in enumerate(values[name].split("|"))} for name in self.names]
        self.row = {}  # configuration -> (time_ms or None, compile_ms or None)
        for line in lines[3:]:
            cell = line.split("\t")
            key = tuple(index[i][cell[i]] for i in range(len(self.names)))
            time, _, compile_time, status = cell[len(self.names) :]
            ok = status == "ok"
            self.row[key] = (
                float(time) if ok else None,
                float(compile_time) if ok and compile_time != "-" else None,
            )
        self.legal = list(self.row)
        self.at = {key: i for i, key in enumerate(self.legal)}
        self.size = [len(v) for v in self.values]
        self.span = np.maximum(np.array(self.size) - 1, 1)
        self.grid = np.array(self.legal) / self.span
        self.free = [i for i, n in enumerate(self.size) if n > 1]  # parameters there is a choice in
        self.best = min(t for t, _ in self.row.values() if t is not None)
        both = [(math.log(t), math.log(c)) for t, c in self.row.values() if t and c]
        self.ref = (max(t for t, _ in both), max(c for _, c in both))
        self.volume = hypervolume(both, self.ref)

    def config(self, key):
        """The values (not indices) of a configuration."""
        return tuple(self.values[i][k] for i, k in enumerate(key))

    def nearest(self, key, rng, but=()):
        """The recorded configuration, not in `but`, nearest to `key` in index steps by range; ties at random."""
        if key in self.row and key not in but:
            return key
        distance = np.abs(self.grid - np.array(key) / self.span).sum(axis=1)
        distance[[self.at[other] for other in but]] = np.inf
        found = np.flatnonzero(distance <= distance.min() + 1e-9)
        return self.legal[rng.choice(list(found))]


class Meter:
    """Answers a peer's questions and counts them. A configuration asked for again is answered from memory and costs
    nothing (kinder to the peers than counting it; hone's engines never repeat). A failed one costs an evaluation."""

    def __init__(self, recording, evals, two_objectives=False):
        self.recording, self.evals, self.two = recording, evals, two_objectives
        self.seen, self.curve, self.points, self.repeats = {}, [], [], 0
        self._best = math.inf

    def __call__(self, key):
        """(time, compile time), None for what failed; raises Finished when the evaluations are used up."""
        key = tuple(int(k) for k in key)
        if key in self.seen:
            self.repeats += 1
            if self.repeats > 50 * self.evals:
                raise Finished
            return self.seen[key]
        if len(self.curve) >= self.evals:
            raise Finished
        answer = self.recording.row[key]
        self.seen[key] = answer
        if answer[0] is not None:
            self._best = min(self._best, answer[0])
        if None not in answer:
            self.points.append(answer)
        self.curve.append(self.share() if self.two else self.recording.best / self._best)
        if len(self.curve) >= self.evals:
            raise Finished
        return answer

    def share(self):
        logs = [(math.log(t), math.log(c)) for t, c in self.points]
        return hypervolume(logs, self.recording.ref) / self.recording.volume

    def finish(self):
        """The curve, continued flat when the peer stopped early."""
        last = self.curve[-1] if self.curve else 0.0
        return self.curve + [last] * (self.evals - len(self.curve))


def summary(curves):
    """Mean over seeds at the marks, mean number of evaluations until 95 % (n + 1 when never), mean curve."""
    n = len(curves[0])
    mean = [sum(c[i] for c in curves) / len(curves) for i in range(n)]
    reach = [next((i + 1 for i, f in enumerate(c) if f >= 0.95), n + 1) for c in curves]
    return {
        "fraction_of_best": {str(m): mean[m - 1] for m in MARKS if m <= n},
        "evals_to_95": sum(reach) / len(reach),
        "curve": mean,
    }
