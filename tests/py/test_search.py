"""Search: the loop, budgets, baselines, records, determinism."""
import ctypes
import math
import os
import subprocess
import sys
import threading

import pytest

import hone
import hone.space as ss
from hone import INVALID_SCORE, Search, SearchConfiguration

SPACE = {"x": ss.range(start=1.0, end=20.0, step=0.5), "y": ss.choice([1, 2, 3]),
         "z": ss.literal("constant", knockout_prob=0.5)}


def objective(config):
    return config["x"] ** 2 + config["y"]


def plain(**options):
    return Search(objective, SPACE, **{"engine": "evolve", "max_evals": 60, **options})


def configs(results):
    return [t.config for t in results]


# --- the example of the documentation ---


def test_the_example(capsys):
    search = Search(
        objective_function=objective,
        search_space=SPACE,
        search_config=SearchConfiguration(generations=5, pool_size=32, cull_size=24, mutate_rate=0.25,
                                          problem_type="min", num_objectives=1),
    )
    results = search.start(num_workers=4, task_timeout=30)
    pytest.importorskip("pandas")
    print(results.get_best_result(), results.get_results())
    assert len(results) == 160 and results.reason == "evaluations" and results.counts() == {"ok": 160}
    assert "score=" in capsys.readouterr().out


def test_fifteen_generations_find_the_optimum_in_99_of_100_seeds():
    def found(seed):
        config = SearchConfiguration(generations=15, pool_size=32, cull_size=24, mutate_rate=0.25, seed=seed)
        best = Search(objective, SPACE, config).run().config
        return (best["x"], best["y"]) == (1.0, 1)

    assert sum(found(seed) for seed in range(100)) >= 99


# --- determinism ---


def test_the_same_seed_gives_the_same_points():
    assert configs(plain(seed=3).start()) == configs(plain(seed=3).start())
    assert configs(plain(seed=3).start()) != configs(plain(seed=4).start())


@pytest.mark.parametrize("engine", [row[0] for row in hone._hone.engines()])
def test_workers_of_one_process_do_not_change_the_points(engine):
    here = plain(engine=engine, max_evals=25).start()
    there = plain(engine=engine, max_evals=25).start(1, worker="pool")
    assert configs(here) == configs(there)


class COptions(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("engine", ctypes.c_char_p), ("seed", ctypes.c_uint64), ("n_objectives", ctypes.c_size_t),
                ("maximize", ctypes.c_bool * 8), ("n_constraints", ctypes.c_size_t), ("budget", ctypes.c_size_t),
                ("memory_b", ctypes.c_size_t), ("seeds", ctypes.c_void_p), ("n_seeds", ctypes.c_size_t),
                ("no_default", ctypes.c_bool), ("options", ctypes.c_void_p), ("legal", ctypes.c_void_p),
                ("draw", ctypes.c_void_p), ("ctx", ctypes.c_void_p)]


class COutcome(ctypes.Structure):
    _fields_ = [("cls", ctypes.c_int), ("value", ctypes.c_double * 8), ("violation", ctypes.c_double * 16)]


def points_of_c(space, engine, seed, n):
    """What a C program gets that asks and tells the objective."""
    lib = ctypes.CDLL(os.path.join(os.environ["HONE_BUILD"], "libhone.so"))
    lib.hone_space_slots.restype = ctypes.c_size_t
    c_space, c_search, text = ctypes.c_void_p(), ctypes.c_void_p(), space.to_yaml().encode()
    assert lib.hone_space_parse(text, ctypes.c_size_t(len(text)), b"space", ctypes.byref(c_space), None) == 0
    config = COptions(size=ctypes.sizeof(COptions), engine=engine.encode(), seed=seed, budget=n, no_default=True)
    assert lib.hone_search_open(c_space, ctypes.byref(config), ctypes.byref(c_search), None) == 0
    point, out = (ctypes.c_double * lib.hone_space_slots(c_space))(), []
    for _ in range(n):
        assert lib.hone_search_ask(c_search, point, None) == 0
        out.append(bytes(point))
        seen = COutcome()
        seen.value[0] = objective(space.config(out[-1]))
        assert lib.hone_search_tell(c_search, point, ctypes.byref(seen), None) == 0
    lib.hone_search_close(c_search)
    lib.hone_space_free(c_space)
    return out


@pytest.mark.parametrize("engine", ["evolve", "lfbo", "random"])
def test_c_gets_the_same_points(engine):
    space = ss.build(SPACE)
    mine = plain(engine=engine, seed=11, max_evals=40).start()
    assert [t.point for t in mine] == points_of_c(space, engine, 11, 40)


def test_samples_depend_on_the_seed_alone():
    search = plain(seed=5)
    assert search.sample(3) == [*search.sample(2), plain(seed=5).sample(3)[2]]
    assert isinstance(search.sample(), dict)


# --- ends ---


def test_an_exhausted_space_ends_the_search():
    results = plain(max_evals=10_000).start()
    assert results.reason == "exhausted" and len({t.point for t in results}) == len(results) == 39 * 3 * 2


def test_patience_ends_the_search():
    results = Search(lambda c: 1.0, SPACE, engine="random", patience=17).start()
    assert results.reason == "plateau" and len(results) == 18


def test_seconds_end_the_search_also_while_an_evaluation_hangs():
    import time

    start = time.monotonic()
    results = Search(lambda c: time.sleep(60), SPACE, max_seconds=0.5).start(2)
    assert results.reason == "seconds" and len(results) == 0 and time.monotonic() - start < 20


def test_starting_again_goes_on():
    search = plain(max_evals=10)
    search.start()
    search.config.max_evals = 25
    assert len(search.start()) == 25
    assert configs(search.results) == configs(plain(max_evals=25).start())


def test_callbacks_see_everything_and_can_end_the_search():
    seen = []

    class Log(hone.Callback):
        def on_start(self, search):
            seen.append("start")

        def on_trial(self, search, trial):
            seen.append(trial.id)
            return trial.id == 5

        def on_end(self, search, results):
            seen.append(results.reason)

    plain(callbacks=[Log(), lambda trial: None]).start()
    assert seen == ["start", 1, 2, 3, 4, 5, "callback"]


def test_an_exception_of_a_callback_is_raised_and_nothing_is_lost():
    def broken(trial):
        if trial.id == 7:
            raise RuntimeError("tracker is down")

    search = plain(callbacks=[broken])
    with pytest.raises(RuntimeError, match="tracker is down"):
        search.start()
    assert len(search.results) == 7 and search.results.reason == "interrupted"


def test_interruption_is_raised_and_nothing_is_lost(tmp_path):
    def interrupted(config):
        if len(search.results) == 4:
            raise KeyboardInterrupt
        return 1.0

    search = Search(interrupted, SPACE, store=tmp_path)
    with pytest.raises(KeyboardInterrupt):
        search.start()
    assert len(search.results) == 4
    search.close()
    assert [s["state"] for s in hone._hone.Store(tmp_path).sessions()] == ["interrupted"]


# --- what objectives give ---


@pytest.mark.parametrize("result, cls, text", [
    (float("nan"), "no_metric", "'score' is nan"), (float("inf"), "no_metric", "inf"), (None, "no_metric", "number"),
    ("3", "no_metric", "number"), ((1, 2), "no_metric", "2 values, expected 1"), ((), "no_metric", "0 values"),
    (INVALID_SCORE, "wrong_result", "INVALID_SCORE"), ({"other": 1}, "no_metric", "'score' is missing"),
    ([[1]], "no_metric", ""), (10**400, "no_metric", ""), (1j, "no_metric", ""),
    ((3,), "ok", ""), ({"score": 3, "more": 4}, "ok", ""), (True, "ok", "")])
def test_results_that_are_no_score_are_failed_trials(result, cls, text):
    results = Search(lambda c: result, SPACE, max_evals=3).start()
    assert results.counts() == {cls: 3} and text in results.trials[0].detail
    assert (results.best is None) == (cls != "ok")


@pytest.mark.parametrize("error, cls", [(ValueError("odd"), "run_crash"), (MemoryError(), "over_limit"),
                                        (TimeoutError("late"), "run_timeout"), (SystemExit(3), "run_crash")])
def test_exceptions_are_failed_trials(error, cls):
    def raises(config):
        raise error

    results = Search(raises, SPACE, max_evals=3).start()
    assert results.counts() == {cls: 3} and type(error).__name__ in results.trials[0].detail
    assert "raises" in results.trials[0].detail


def test_numpy_numbers_are_numbers():
    numpy = pytest.importorskip("numpy")
    results = Search(lambda c: numpy.float32(2.5), SPACE, max_evals=2).start()
    assert results.best.score == 2.5
    results = Search(lambda c: numpy.array(2.5), SPACE, max_evals=2).start()
    assert results.best.score == 2.5


def test_several_objectives_are_tuples_with_directions():
    results = Search(lambda c: (c["x"], -c["x"] * c["y"]), SPACE, num_objectives=2, directions=["min", "max"],
                     objectives=["time", "gain"], max_evals=80, pool_size=16).start()
    best = results.get_best_result()
    assert best.config["x"] == 1.0 and isinstance(best.score, tuple)
    front = results.pareto_front()
    assert {(t.config["x"], t.config["y"]) for t in front} == {(1.0, 1)}
    assert results.hypervolume([20, -60]) == pytest.approx(19 * 59)


def test_maximising():
    assert plain(problem_type="max", max_evals=200).run().config["x"] > 18


def test_outcome_constraints_bind_the_best():
    def measured(config):
        return config["x"], 100 / config["x"]

    results = Search(measured, SPACE, constraints=["memory_mb <= 20"], max_evals=120, engine="evolve").start()
    assert results.best.score == 5.0 and results.best.metrics == (20.0,)
    assert any(t.violation > 0 and t.ok and not t.feasible for t in results)
    named = Search(lambda c: {"memory_mb": 100 / c["x"], "score": c["x"]}, SPACE, constraints="memory_mb <= 20",
                   max_evals=120, engine="evolve").start()
    assert configs(named) == configs(results)


def test_repeats_take_the_median():
    calls = []

    def noisy(config):
        calls.append(1)
        return [1.0, 50.0, 2.0][len(calls) % 3]

    results = Search(noisy, SPACE, repeats=3, max_evals=4).start()
    assert [t.score for t in results] == [2.0] * 4 and len(calls) == 12


def test_a_drifting_machine_is_put_right_by_the_baseline():
    n = [0]

    def drifting(config):
        n[0] += 1
        return objective(config) * (1 + n[0] / 50)

    results = Search(drifting, SPACE, baseline={"x": 10.0, "y": 1}, baseline_every=3, engine="evolve", max_evals=60,
                     seed=2).start()
    measured = [t for t in results if t.phase == "baseline"]
    assert len(measured) >= 15 and results.baseline == (101 * 1.02,)
    for t in results:
        assert t.values[0] == pytest.approx(objective(t.config) * 1.02, rel=0.25)
    assert results.trials[-1].raw[0] > 1.5 * results.trials[-1].values[0]


def test_a_failing_baseline_is_an_error():
    with pytest.raises(hone.BaselineError, match="run_crash"):
        Search(lambda c: 1 / 0, SPACE, baseline=True).start()


# --- ask and tell ---


def test_ask_and_tell_is_the_same_search():
    search = plain()
    for _ in range(60):
        config = search.ask()
        search.tell(config, objective(config))
    assert configs(search.results) == configs(plain().start())


def test_tell_takes_what_was_never_asked_and_failures():
    search = Search(None, SPACE)
    trial = search.tell({"x": 1.0, "y": 1}, 2.0)
    assert trial.phase == "told" and search.results.best is trial
    assert search.tell(search.ask(), ValueError("no")).cls == "run_crash"
    assert search.tell(search.ask(), INVALID_SCORE).cls == "wrong_result"
    with pytest.raises(hone.InputError):
        search.tell({"x": 0.9}, 1.0)
    with pytest.raises(hone.UsageError, match="ask and tell"):
        search.start()


def test_asking_for_many_gives_different_points():
    search = plain()
    many = search.ask(50)
    assert len({str(c) for c in many}) == 50


# --- records ---


def test_a_session_is_taken_up_where_it_was_left(tmp_path):
    whole = configs(plain(max_evals=50).start())
    for evals in (20, 35, 50):
        with plain(max_evals=evals, store=tmp_path, resume=True) as search:
            search.start()
    assert configs(search.results) == whole
    assert [t.score for t in search.results] == [objective(c) for c in whole]
    sessions = hone._hone.Store(tmp_path).sessions()
    assert len(sessions) == 1 and sessions[0]["n_trials"] == 50 and sessions[0]["state"] == "finished"


def test_killing_the_process_loses_nothing_that_was_finished(tmp_path):
    code = ("import hone, hone.space as ss, os\n"
            "def f(c):\n"
            "    if len(s.results) == 13: os.kill(os.getpid(), 9)\n"
            "    return c['x']\n"
            f"s = hone.Search(f, {{'x': ss.range(1, 1000)}}, store={str(tmp_path)!r}, name='n'); s.start()\n")
    assert subprocess.run([sys.executable, "-c", code]).returncode == -9
    with Search(lambda c: c["x"], {"x": ss.range(1, 1000)}, store=tmp_path, name="n", resume=True) as again:
        assert len(again.results) == 13
        again.start()
    assert len({t.point for t in again.results}) == 200


def test_a_space_may_grow_between_sessions(tmp_path):
    with plain(store=tmp_path, max_evals=30) as first:
        first.start()
    grown = {**SPACE, "y": ss.choice([0, 1, 2, 3]), "new": ss.flag()}
    with Search(objective, grown, store=tmp_path, resume=True, max_evals=40, engine="evolve") as second:
        assert len(second.results) == 30 and second.results.n_dropped == 0
        assert [t.score for t in second.results] == [t.score for t in first.results]
        assert all(t.config["new"] is False for t in second.results)
        second.start()
    assert len(second.results) == 40
    shrunk = {**SPACE, "y": ss.choice([2, 3])}
    third = Search(objective, shrunk, store=tmp_path, resume=True, engine="evolve")
    assert third.results.n_dropped == sum("new" in t.config or t.config["y"] < 2 for t in second.results)
    third.close()
    assert [s["n_trials"] for s in hone._hone.Store(tmp_path).sessions()][:2] == [30, 40]


def test_other_objectives_are_refused(tmp_path):
    with plain(store=tmp_path, max_evals=5) as search:
        search.start()
    with pytest.raises(hone.MismatchError, match="other objectives"):
        plain(store=tmp_path, resume=True, problem_type="max")


def test_a_csv_file_is_a_record_too(tmp_path):
    first = plain(max_evals=30).start()
    first.save(tmp_path / "r.csv")
    second = plain(max_evals=50, resume=tmp_path / "r.csv").start()
    assert configs(second) == configs(plain(max_evals=50).start())


def test_the_command_reads_the_record(tmp_path):
    with plain(store=tmp_path, baseline={"x": 20.0, "y": 1}, max_evals=30, name="from Python") as search:
        search.start()
    hone_command = os.environ.get("HONE") or os.path.join(os.environ["HONE_BUILD"], "hone")
    told = {}
    for command in ("status", "results"):
        done = subprocess.run([hone_command, command, "--store", str(tmp_path)], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        told[command] = done.stdout
    assert "'from Python', finished (evaluations)" in told["status"] and "baseline 401, best" in told["status"]
    assert told["results"].startswith("trial  score") and " evolve " in told["results"]


def test_baselines_are_resumed(tmp_path):
    for evals in (10, 20):
        with plain(store=tmp_path, resume=True, baseline={"x": 10.0, "y": 1}, max_evals=evals) as search:
            search.start()
    assert search.results.baseline == (101.0,)
    assert sum(t.phase == "search" for t in search.results) == 20


# --- configuration ---


@pytest.mark.parametrize("options", [
    {"generations": 0}, {"pool_size": 2.5}, {"problem_type": "best"}, {"num_objectives": 2, "directions": ["min"]},
    {"constraints": ["memory"]}, {"constraints": ["score <= 1"]}, {"max_seconds": 0}, {"engine_options": {"nope": 1}},
    {"num_objectives": 9}])
def test_mistakes_of_configuration_are_usage_errors(options):
    with pytest.raises(hone.UsageError):
        Search(objective, SPACE, **options)


def test_unknown_options_are_type_errors():
    with pytest.raises(TypeError):
        Search(objective, SPACE, max_evalls=3)
    with pytest.raises(hone.UsageError):
        Search(objective)
    with pytest.raises(hone.UsageError):
        plain().start(0)
    with pytest.raises(hone.UsageError):
        plain().start(1, -1)


def test_genetic_fields_choose_the_genetic_engine():
    assert SearchConfiguration().engine_name() == "auto"
    assert SearchConfiguration(pool_size=8).engine_name() == "evolve"
    assert SearchConfiguration(pool_size=8, num_objectives=2).engine_name() == "nsga2"
    assert SearchConfiguration(pool_size=8, cull_size=4, mutate_rate=0.5).engine_texts() == (
        "pool=8", "parents=4", "mutate=0.5")


def test_seeds_and_defaults_come_first():
    space = {"x": ss.range(1, 1000, default=500), "y": ss.flag()}
    results = Search(lambda c: c["x"], space, seeds=[{"x": 7, "y": True}], max_evals=2).start()
    assert configs(results) == [{"x": 500, "y": False}, {"x": 7, "y": True}]


# --- threads, leaks, memory ---


def test_threads_of_objectives_that_raise_hang_and_call_back(tmp_path):
    import time

    shared = plain(max_evals=100_000)
    failures = []

    def nasty(config):
        kind = int(config["x"] * 2) % 4
        if kind == 0:
            raise RuntimeError("no")
        if kind == 1:
            time.sleep(0.002)
        if kind == 2:
            inner = shared.ask()
            shared.tell(inner, objective(inner))
        return Search(objective, SPACE, max_evals=3, engine="random").run().score

    def body(seed):
        try:
            results = Search(nasty, SPACE, seed=seed, max_evals=40, engine="evolve").start()
            assert len(results) == 40 and set(results.counts()) == {"ok", "run_crash"}
            results.pareto_front(), results.importance(), repr(results)
        except hone.ExhaustedError:
            pass
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=body, args=(seed,)) for seed in range(8)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert not failures
    assert len({t.point for t in shared.results}) == len(shared.results) > 0


SANITIZED = "HONE_PRELOADED" in os.environ  # what is freed stays in quarantine for a while


def rss_kib():
    with open("/proc/self/statm") as f:
        return int(f.read().split()[1]) * os.sysconf("SC_PAGESIZE") // 1024


def test_nothing_is_left_behind(tmp_path):
    import gc

    value = object()
    space_of = {"x": ss.range(1, 60), "v": ss.choice([value, "other"]), "in": {"f": ss.flag()}, "p": ss.permutation("abc")}

    def once(i):
        search = Search(lambda c: c["x"], space_of, max_evals=30, engine="evolve", store=tmp_path / "s")
        results = search.start()
        results.importance(), results.pareto_front(), list(results.rows())
        search.close()
        for bad in ({"x": 0}, {"x": "a"}, {"q": 1}, {"in": 3}, {"p": [1]}):
            try:
                search.space.point(bad)
            except (hone.Error, TypeError):
                pass
        try:
            ss.build({"x": ss.range(1, 2, when="nope")})
        except hone.Error:
            pass

    for i in range(3):
        once(i)
    gc.collect()
    objects, references, memory = len(gc.get_objects()), sys.getrefcount(value), rss_kib()
    for i in range(25):
        once(i)
    gc.collect()
    assert sys.getrefcount(value) == references
    assert len(gc.get_objects()) - objects < 50
    assert SANITIZED or rss_kib() - memory < 6000


@pytest.mark.skipif(SANITIZED, reason="freed memory is kept under AddressSanitizer")
def test_fifty_thousand_evaluations_grow_by_their_records_alone():
    space = {"x": ss.range(0.0, 1.0), "y": ss.range(0.0, 1.0), "k": ss.choice("abc")}
    at = {}

    def note(trial):
        if trial.id in (10_000, 50_000):
            at[trial.id] = rss_kib()

    results = Search(lambda c: c["x"], space, engine="evolve", max_evals=50_000, callbacks=[note]).start()
    trial = results.trials[-1]
    parts = [trial, trial.point, trial.values, trial.values[0], trial.seconds, trial.at]
    record = sum(map(sys.getsizeof, parts)) + 8 + 200  # its place in the list; the engine's row, hash and table
    assert len(results) == 50_000
    debug = 1.6 if os.environ.get("PYTHONMALLOC") == "debug" else 1.0
    assert (at[50_000] - at[10_000]) * 1024 / 40_000 < record * debug * 1.25


# --- import ---


def test_import_loads_nothing_heavy():
    code = ("import sys, hone\n"
            "heavy = {'numpy', 'pandas', 'matplotlib', 'ray', 'mlflow', 'multiprocessing', 'asyncio', 'hone.search'}\n"
            "print(sorted(heavy & set(sys.modules)))")
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.strip() == "[]"


def test_all_names_of_the_package_are_there():
    for name in hone.__all__:
        assert getattr(hone, name) is not None
    with pytest.raises(AttributeError):
        hone.no_such_name


def test_invalid_score_survives_pickling():
    import pickle

    assert pickle.loads(pickle.dumps(INVALID_SCORE)) is INVALID_SCORE and math.isnan(INVALID_SCORE)
