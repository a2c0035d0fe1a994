"""Kernel Tuner's search strategies on a recorded space.

The strategies run as they are, with their default options, on a Searchspace made of the recorded configurations (so
constraints are known to all of them) and a runner that looks times up, like Kernel Tuner's own simulation mode: a
configuration asked for again costs nothing.
"""

import contextlib
import io
import random
import types
import warnings

import numpy as np
from kernel_tuner import util
from kernel_tuner.interface import Options, strategy_map
from kernel_tuner.searchspace import Searchspace

from recording import Finished

STRATEGIES = (
    "genetic_algorithm",
    "diff_evo",
    "greedy_ils",
    "basinhopping",
    "simulated_annealing",
    "bayes_opt",
    "hybrid_vndx",
    "adaptive_tabu_greywolf",
)

_spaces = {}  # a Searchspace is expensive to build and holds no state of a search


def _searchspace(recording):
    if recording.label not in _spaces:
        params = dict(zip(recording.names, recording.values))
        rows = [dict(zip(recording.names, recording.config(key))) for key in recording.legal]
        _spaces[recording.label] = Searchspace(
            None, None, None, from_cache={"tune_params": params, "cache": dict(enumerate(rows))}
        )
    return _spaces[recording.label]


class _Runner:
    simulation_mode, quiet = True, True
    dev = types.SimpleNamespace(max_threads=2**30)  # bayes_opt asks for it

    def __init__(self, recording, meter):
        self.meter, self.names = meter, recording.names
        self.index = [{v: i for i, v in enumerate(values)} for values in recording.values]

    def add_strategy_time(self, _):
        pass

    def run(self, configs, options):
        results = []
        for config in configs:
            config = tuple(config)
            result = dict(zip(self.names, config))
            known = len(self.meter.seen)
            try:
                time, _ = self.meter(tuple(self.index[i][v] for i, v in enumerate(config)))
            except Finished:
                options.budget.add_evaluations(options.max_fevals)
                results.append(None)
                continue
            options.budget.add_evaluations(len(self.meter.seen) - known)
            if time is None:
                result["__error__"] = result["time"] = util.RuntimeFailedConfig()
            else:
                result["time"] = time
            results.append(result)
        return results


def _options(recording, evals, strategy):
    return Options(
        objective=["time"],
        objective_higher_is_better=[False],
        strategy_options=Options(max_fevals=evals),
        budget=util.TuningBudget(None, evals),
        max_fevals=evals,
        tune_params=dict(zip(recording.names, recording.values)),
        restrictions=None,
        verbose=False,
        cache={},
        metrics=None,
        seed=None,
        strategy=strategy,
    )


def run(strategy, recording, meter, seed):
    warnings.simplefilter("ignore")
    random.seed(seed)
    np.random.seed(seed % 2**32)
    silent = io.StringIO()
    with contextlib.redirect_stdout(silent), contextlib.suppress(Finished, util.StopCriterionReached):
        options = _options(recording, meter.evals, strategy)
        strategy_map[strategy].tune(_searchspace(recording), _Runner(recording, meter), options)
