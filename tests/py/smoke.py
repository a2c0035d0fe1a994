"""A little of everything, with nothing but the interpreter: what tests/py/versions.t runs on every Python there is."""
import os
import signal
import sys
import threading
import time

import hone
import hone.space as ss
from hone import INVALID_SCORE, Results, Search, SearchConfiguration

SPACE = {"x": ss.range(start=1.0, end=20.0, step=0.5), "y": ss.choice([1, 2, 3]),
         "z": ss.literal("constant", knockout_prob=0.5), "in": {"p": ss.permutation("abc"), "f": ss.flag()}}


def objective(config):
    return config["x"] ** 2 + config["y"]


def nasty(config):
    n = config["n"]
    if n == 0:
        os.kill(os.getpid(), signal.SIGSEGV)
    if n == 1:
        time.sleep(60)
    return [None, None, float("nan"), INVALID_SCORE, (1, 2), 5][n]


async def coroutine(config):
    return config["x"]


def main():
    config = SearchConfiguration(generations=15, pool_size=32, cull_size=24, mutate_rate=0.25)
    results = Search(objective, SPACE, config).start(num_workers=2, task_timeout=30)
    assert results.best.score < 4 and len(results) == 480, results
    seen = Search(nasty, {"n": ss.range(0, 5)}).start(2, 2)
    assert seen.counts() == {"run_crash": 1, "run_timeout": 1, "no_metric": 2, "wrong_result": 1, "ok": 1}, seen
    assert Search(coroutine, SPACE, max_evals=20, engine="random").start(4).counts() == {"ok": 20}
    results.save("smoke.csv")
    assert [t.values for t in Results.from_csv("smoke.csv", SPACE)] == [t.values for t in results]
    with Search(objective, SPACE, store="store", max_evals=5) as search:
        search.start()
    with Search(objective, SPACE, store="store", max_evals=9, resume=True) as search:
        assert len(search.start()) == 9
    threads = [threading.Thread(target=Search(objective, SPACE, seed=i, max_evals=100).run) for i in range(4)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    try:
        ss.build({"x": ss.range(1, 2, when="nope")})
    except hone.InputError as error:
        assert "unknown parameter" in str(error)
    print("hone works on", sys.version.split()[0])


if __name__ == "__main__":
    main()
