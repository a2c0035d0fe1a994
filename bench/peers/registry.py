"""Who is compared: name -> function(recording, meter, seed), imported when used."""

import importlib


def _lazy(module, function, *first):
    def call(*args):
        return getattr(importlib.import_module(module), function)(*first, *args)

    return call


def _kernel_tuner(strategy):
    return _lazy("kernel_tuner_peer", "run", strategy)


SINGLE = {
    "optuna-tpe": _lazy("optuna_peer", "tpe"),
    "optuna-tpe-mv": _lazy("optuna_peer", "tpe_multivariate"),
    "pymoo-ga": _lazy("pymoo_peer", "ga"),
    "pymoo-nsga2": _lazy("pymoo_peer", "nsga2"),
    "kt-genetic_algorithm": _kernel_tuner("genetic_algorithm"),
    "kt-diff_evo": _kernel_tuner("diff_evo"),
    "kt-greedy_ils": _kernel_tuner("greedy_ils"),
    "kt-basinhopping": _kernel_tuner("basinhopping"),
    "kt-simulated_annealing": _kernel_tuner("simulated_annealing"),
    "kt-bayes_opt": _kernel_tuner("bayes_opt"),
    "kt-hybrid_vndx": _kernel_tuner("hybrid_vndx"),
    "kt-adaptive_tabu_greywolf": _kernel_tuner("adaptive_tabu_greywolf"),
}

TWO = {"pymoo-nsga2": _lazy("pymoo_peer", "nsga2_two")}
