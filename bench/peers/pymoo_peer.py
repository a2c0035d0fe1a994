"""pymoo's GA and NSGA-II on a recorded space.

Genes are integer indices; simulated binary crossover and polynomial mutation with rounding, population 20 (the default
of 100 would spend half of the budget on its first generation), duplicates eliminated. Children that were never
recorded are repaired to the nearest recorded configuration, so that constraints cost nothing. Failed configurations
get the worst time seen so far times ten.
"""

import random
import warnings

import numpy as np
from pymoo.algorithms.moo.nsga2 import NSGA2
from pymoo.algorithms.soo.nonconvex.ga import GA
from pymoo.core.problem import Problem
from pymoo.core.repair import Repair
from pymoo.core.sampling import Sampling
from pymoo.operators.crossover.sbx import SBX
from pymoo.operators.mutation.pm import PM

from recording import Finished

POPULATION = 20


class _Space(Problem):
    def __init__(self, recording, n_obj):
        top = np.array([recording.size[i] - 1 for i in recording.free])
        super().__init__(n_var=len(top), n_obj=n_obj, xl=np.zeros(len(top)), xu=top, vtype=int)


class _Legal(Repair):
    def __init__(self, recording, rng):
        super().__init__()
        self.recording, self.rng, self.known = recording, rng, {}

    def key(self, genes):
        key = [0] * len(self.recording.names)
        for i, g in zip(self.recording.free, genes):
            key[i] = int(g)
        return tuple(key)

    def _do(self, problem, X, **kwargs):
        X = np.clip(np.around(X), problem.xl, problem.xu).astype(int)
        for row in X:
            key = self.key(row)
            if key not in self.known:
                self.known[key] = self.recording.nearest(key, self.rng)
            row[:] = [self.known[key][i] for i in self.recording.free]
        return X


class _Recorded(Sampling):
    def __init__(self, recording, rng):
        super().__init__()
        self.recording, self.rng = recording, rng

    def _do(self, problem, n_samples, **kwargs):
        rows = self.rng.sample(self.recording.legal, n_samples)
        return np.array([[row[i] for i in self.recording.free] for row in rows])


def _values(meter, keys, n_obj):
    answers = [meter(key)[:n_obj] for key in keys]
    worst = np.max([p[:n_obj] for p in meter.points] or [[1.0] * n_obj], axis=0)
    return np.array([10 * worst if None in a else a for a in answers], dtype=float)


def _run(recording, meter, seed, algorithm, n_obj):
    warnings.simplefilter("ignore")
    rng = random.Random(seed)
    legal = _Legal(recording, rng)
    alg = algorithm(
        pop_size=POPULATION,
        sampling=_Recorded(recording, rng),
        crossover=SBX(prob=0.9, eta=15, vtype=float, repair=legal),
        mutation=PM(eta=20, vtype=float, repair=legal),
        repair=legal,
        eliminate_duplicates=True,
    )
    alg.setup(_Space(recording, n_obj), seed=seed, verbose=False, termination=("n_gen", 100000))
    try:
        while alg.has_next():
            pop = alg.ask()
            if pop is None or len(pop) == 0:
                break
            pop.set("F", _values(meter, [legal.key(x) for x in pop.get("X")], n_obj))
            alg.tell(infills=pop)
    except Finished:
        pass


def ga(recording, meter, seed):
    _run(recording, meter, seed, GA, 1)


def nsga2(recording, meter, seed):
    _run(recording, meter, seed, NSGA2, 1)


def nsga2_two(recording, meter, seed):
    _run(recording, meter, seed, NSGA2, 2)
