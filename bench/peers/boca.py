"""A BOCA-like tuner of many compiler controls.

After J. Chen, N. Xu, P. Chen, H. Zhang: Efficient Compiler Autotuning via Bayesian Optimization, ICSE 2021: a random
forest predicts the cost; the few controls of the highest Gini importance are enumerated, all others are filled in at
random, and how many fillings are tried per combination decays as evaluations come in; the candidate of the greatest
expected improvement (mean and deviation over the trees) is measured next.

Own code. BOCA is made for controls that are on or off. Here an enumerated control takes the state of the best point so
far and one other state; integers take one of five values spread over their range; everything may be absent.
"""

import math
import random

import numpy as np
from scipy.stats import norm
from sklearn.ensemble import RandomForestRegressor

IMPORTANT = 8
FIRST = 10
FILLINGS, DECAY, SCALE, OFFSET = 64, 0.5, 10, 20


def states(param):
    """What BOCA may choose for a parameter; None is absent."""
    out = [None] if param["optional"] else []
    if param["kind"] == "flag":
        return out + [False, True]
    if param["kind"] in ("choice", "ordinal"):
        return out + list(param["values"])
    if param["kind"] == "int":
        lo, hi = param["lo"], param["hi"]
        if hi - lo < 5:
            return out + list(range(int(lo), int(hi) + 1))
        base = max(lo, 1)
        spread = [base * (hi / base) ** (i / 4) for i in range(5)] if hi > 1000 else np.linspace(lo, hi, 5)
        return out + sorted({int(round(min(max(v, lo), hi))) for v in spread})
    return out + [param.get("lo")]


def fillings(n):
    """How many random fillings per combination after n evaluations (section 4.3 of the paper: a Gaussian decay)."""
    width = -SCALE**2 / (2 * math.log(DECAY))
    return max(1, round(FILLINGS * math.exp(-(max(0, n - OFFSET) ** 2) / (2 * width))))


class Boca:
    def __init__(self, params, seed):
        self.params, self.rng, self.np_rng = params, random.Random(seed), np.random.default_rng(seed)
        self.states = [states(p) for p in params]
        self.n_states = np.array([len(s) for s in self.states])
        self.x, self.y, self.seen = [], [], set()
        self.seed = seed

    def point(self, row):
        named = zip(self.params, self.states, row)
        return {p["name"]: s[i] for p, s, i in named if s[i] is not None}

    def _random(self, n):
        return (self.np_rng.random((n, len(self.states))) * self.n_states).astype(np.int16)

    def _candidates(self, forest):
        best = self.x[int(np.argmin(self.y))]
        important = np.argsort(-forest.feature_importances_)[:IMPORTANT]
        rows = self._random((1 << len(important)) * fillings(len(self.x)))
        which = np.arange(len(rows)) % (1 << len(important))
        for bit, i in enumerate(important):
            other = self.rng.choice([s for s in range(self.n_states[i]) if s != best[i]] or [best[i]])
            rows[:, i] = np.where(which >> bit & 1, other, best[i])
        return rows

    def ask(self):
        if len(self.x) < FIRST:
            return self._new(self._random(16))
        forest = RandomForestRegressor(100, random_state=self.seed, n_jobs=1).fit(np.array(self.x), np.log(self.y))
        rows = self._candidates(forest)
        each = np.array([tree.predict(rows.astype(np.float32)) for tree in forest.estimators_])
        mean, deviation = each.mean(0), each.std(0) + 1e-12
        gain = math.log(min(self.y)) - mean
        improvement = gain * norm.cdf(gain / deviation) + deviation * norm.pdf(gain / deviation)
        return self._new(rows[np.argsort(-improvement)[:64]])

    def _new(self, rows):
        for row in rows:
            if row.tobytes() not in self.seen:
                return row
        return self._new(self._random(16))

    def tell(self, row, cost):
        """cost None: it failed; counted as the worst seen."""
        self.seen.add(row.tobytes())
        self.x.append(row)
        self.y.append(cost if cost is not None else max(self.y, default=1.0))
