"""Optuna's TPE on a recorded space.

Parameters with two values or with texts are categorical, all others an integer index in the order of their values. A
proposal that was never recorded is given back as failed, costs nothing, and TPE is asked again, up to 100 times; then
a random recorded configuration is enqueued instead. All other settings are Optuna's defaults (`optuna-tpe`), or
multivariate=True with 10 start-up trials (`optuna-tpe-mv`).
"""

import random
import warnings

import optuna

from recording import Finished

ASKS = 20


def _suggest(trial, recording):
    key = [0] * len(recording.names)
    for i in recording.free:
        name, n = recording.names[i], recording.size[i]
        if n == 2 or any(isinstance(v, str) for v in recording.values[i]):
            key[i] = trial.suggest_categorical(name, list(range(n)))
        else:
            key[i] = trial.suggest_int(name, 0, n - 1)
    return tuple(key)


def _ask(study, recording, rng):
    for _ in range(ASKS):
        trial = study.ask()
        key = _suggest(trial, recording)
        if key in recording.row:
            return trial, key
        study.tell(trial, state=optuna.trial.TrialState.FAIL)
    key = rng.choice(recording.legal)
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
            trial, key = _ask(study, recording, rng)
            time, _ = meter(key)
            if time is None:
                study.tell(trial, state=optuna.trial.TrialState.FAIL)
            else:
                study.tell(trial, time)
    except Finished:
        pass


def tpe(recording, meter, seed):
    _run(recording, meter, seed, False)


def tpe_multivariate(recording, meter, seed):
    _run(recording, meter, seed, True)
