"""What people get wrong: each mistake is refused at once, in words that say what is right."""
import io

import hone
import hone.space as ss
import pytest
from hone import Search

SPACE = {"x": ss.range(1, 10)}


def objective(config):
    return config["x"]


@pytest.mark.parametrize("given, error, text", [
    (lambda: Search(5, SPACE), hone.UsageError, "'objective_function' is a function of a config, not 5"),
    (lambda: Search(objective, SPACE, {"max_evals": 3}), hone.UsageError, "'search_config' is a SearchConfiguration"),
    (lambda: Search(objective, SPACE, callbacks=[5]), hone.UsageError, "a callback is a Callback or a function of a trial"),
    (lambda: Search(objective, SPACE, pool_size=[1]), hone.UsageError, "'pool_size' is a whole number from 1, not"),
    (lambda: Search(objective, SPACE, max_evals="5"), hone.UsageError, "'max_evals' is a whole number from 1, not '5'"),
    (lambda: Search(objective, SPACE, max_evals=0), hone.UsageError, "'max_evals' is a whole number from 1, not 0"),
    (lambda: Search(objective, SPACE, max_seconds="5"), hone.UsageError, "'max_seconds' is a number above 0"),
    (lambda: Search(objective, SPACE, max_seconds=0), hone.UsageError, "'max_seconds' is a number above 0, not 0"),
    (lambda: Search(objective, SPACE, seed="a"), hone.UsageError, "'seed' is a whole number, not 'a'"),
    (lambda: Search(objective, SPACE, seed=float("nan")), hone.UsageError, "'seed' is a whole number"),
    (lambda: Search(objective, SPACE, pool_size=4, cull_size=9), hone.UsageError, "is more than 'pool_size' .4."),
    (lambda: Search(objective, SPACE, resume=True), hone.UsageError, "name its folder with store="),
    (lambda: Search(objective, SPACE).start("2"), hone.UsageError, "'num_workers' is a whole number from 1, not '2'"),
    (lambda: Search(objective, SPACE).start(num_workers=0), hone.UsageError, "'num_workers' is a whole number from 1, not 0"),
    (lambda: Search(objective, SPACE).start(1, "1"), hone.UsageError, "'task_timeout' is a number above 0"),
    (lambda: Search(objective, SPACE).start(worker="pol"), hone.UsageError, "there is no worker 'pol'"),
    (lambda: Search(objective, SPACE).tell("x", 1.0), hone.InputError, "a config of space 'space' is a dict, not str"),
    (lambda: Search(objective, [SPACE]).tell({"x": 1}, 1.0), hone.InputError, "a config of space 'space' is a list, not dict"),
    (lambda: Search(objective, {"in": SPACE}).tell({"in": 3}, 1.0), hone.InputError, "'in' in a config .* is a dict, not int"),
    (lambda: ss.range("a", "b"), TypeError, "'start' is a number, not 'a'"),
    (lambda: ss.range(1, 2, when=True), TypeError, "'when' is a condition as text"),
    (lambda: ss.choice(5), TypeError, "ss.choice takes a list of values, not 5"),
    (lambda: Search(objective, SPACE).start().hypervolume([1, 2]), hone.UsageError, "one value per objective .1., not 2"),
    (lambda: hone.compile(3), TypeError, "PathLike object, not int"),
])
def test_mistakes_are_named(given, error, text):
    with pytest.raises(error, match=text):
        given()


def test_one_where_a_list_would_do():
    seen = []
    results = Search(objective, SPACE, callbacks=seen.append, seeds={"x": 7}, directions="max", objectives="gain").start()
    assert len(seen) == 10 and results.trials[0].config == {"x": 7} and results.objectives == ("gain",)
    assert results.best.score == 10


def test_asking_for_more_than_there_is_gives_what_there_is():
    search = Search(objective, SPACE)
    assert len(search.ask(99)) == 10
    with pytest.raises(hone.ExhaustedError):
        search.ask(1)


def test_resuming_without_a_store_reads_no_descriptor():
    """True is also the number of standard output."""
    with pytest.raises(hone.UsageError):
        Search(objective, SPACE, resume=True)
    with open(1, "w", closefd=False) as out:
        assert isinstance(out, io.TextIOBase)


def test_values_that_cannot_be_printed(tmp_path):
    values = ["\n", "a\0b", "a", "\ud800", "ä", "'\"", None, True, 1, "x" * 300]
    for _ in range(2):
        with Search(lambda c: 1.0, {"v": ss.choice(values)}, store=tmp_path, name="n", resume=True) as search:
            results = search.start()
        assert len(results) == len(values) and {repr(t.config["v"]) for t in results} == set(map(repr, values))


def test_values_that_do_not_compare():
    np = pytest.importorskip("numpy")
    values = [np.zeros(3), np.ones(3)]
    space = {"v": ss.choice(values, default=np.ones(3))}
    search = Search(lambda c: float(c["v"].sum()), space)
    assert search.tell({"v": values[1]}, 3.0).config["v"] is values[1]
