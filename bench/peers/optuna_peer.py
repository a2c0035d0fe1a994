"""Optuna's TPE on a recorded space.

Parameters with two values or with texts are categorical, all others an integer index in the order of their values. A
proposal that was never recorded, or is known already, costs nothing: it is told as pruned, which TPE counts among the
bad ones and so learns from (telling it as failed, which TPE ignores, did much worse), and TPE is asked again; after
five such proposals the recorded configuration nearest to the last one is enqueued. All else is Optuna's default, in
`optuna-tpe-mv` with multivariate=True.
"""

import random
import warnings

import optuna
from optuna.trial import TrialState

from recording import Finished

ASKS = 5


def _suggest(trial, recording):
    key = [0] * len(recording.names)
    for i in recording.free:
        name, n = recording.names[i], recording.size[i]
        if n == 2 or any(isinstance(v, str) for v in recording.values[i]):
            key[i] = trial.suggest_categorical(name, list(range(n)))
        else:
            key[i] = trial.suggest_int(name, 0, n - 1)
    return tuple(key)


def _ask(study, recording, meter, rng):
    for _ in range(ASKS):
        trial = study.ask()
        key = _suggest(trial, recording)
        if key in recording.row and key not in meter.seen:
            return trial, key
        study.tell(trial, state=TrialState.PRUNED)
    key = recording.nearest(key, rng, meter.seen)
    study.enqueue_trial({recording.names[i]: key[i] for i in recording.free})
    trial = study.ask()
    return trial, _suggest(trial, recording)


def _run(recording, meter, seed, multivariate):
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    warnings.simplefilter("ignore")
    rng = random.Random(seed)
    sampler = optuna.samplers.TPESampler(seed=seed, multivariate=multivariate)
    study = optuna.create_study(direction="minimize", sampler=sampler)
    try:
        while True:
            trial, key = _ask(study, recording, meter, rng)
            time, _ = meter(key)
            if time is None:
                study.tell(trial, state=TrialState.PRUNED)
            else:
                study.tell(trial, time)
    except Finished:
        pass


def tpe(recording, meter, seed):
    _run(recording, meter, seed, False)


def tpe_multivariate(recording, meter, seed):
    _run(recording, meter, seed, True)
