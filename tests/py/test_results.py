"""Results: tables, files, fronts, pictures; what is missing is named."""
import builtins
import os
import subprocess
import sys

import pytest

import hone
import hone.space as ss
from hone import Results, Search

SPACE = {"x": ss.range(0.0, 10.0), "k": ss.choice(["a", "b", 3, None]), "in": {"n": ss.range(1, 9), "f": ss.flag()},
         "z": ss.literal("c", knockout_prob=0.5), "order": ss.permutation([1, 2, 3])}


def two(config):
    if config["in"]["n"] == 5:
        raise ValueError('odd, "quoted"\nin two lines')
    return config["x"], 10 - config["x"] + config["in"]["n"], 100 / (1 + config["x"])


@pytest.fixture(scope="module")
def results():
    return Search(two, SPACE, objectives=["time", "size"], num_objectives=2, directions=["min", "max"],
                  constraints=["memory <= 60"], engine="random", max_evals=80).start()


def test_the_front_holds_what_nothing_beats(results):
    front = results.pareto_front()
    assert front and all(t.feasible for t in front)
    for t in results.candidates():
        beaten = any(o.values[0] <= t.values[0] and o.values[1] >= t.values[1] and o.values != t.values for o in front)
        assert beaten != (t in front)


def test_tables_have_a_row_per_trial(results):
    frame = pytest.importorskip("pandas") and results.get_results()
    assert list(frame.columns) == results.columns() and len(frame) == 80
    ok = frame[frame["class"] == "ok"]
    assert ok["time"].dtype == "float64" and (ok["time"] == ok["x"]).all()
    assert frame["z"].isna().any() and set(frame["in.f"]) == {True, False}
    assert len(Results(results.space).get_results()) == 0


def test_files_come_back_the_same(results, tmp_path):
    results.save(tmp_path / "r.csv")
    assert os.listdir(tmp_path) == ["r.csv"]
    again = Results.from_csv(tmp_path / "r.csv", SPACE)
    assert (again.objectives, again.maximize, again.constraints) == (results.objectives, results.maximize,
                                                                     results.constraints)
    for a, b in zip(again, results):
        for name in ("id", "point", "phase", "cls", "values", "raw", "metrics", "violation", "detail", "origin", "seconds",
                     "at"):
            assert getattr(a, name) == getattr(b, name), name
    assert again.best.config == results.best.config


def test_parameters_may_be_called_as_columns(tmp_path):
    space = {"id": ss.range(1, 9), "score": ss.flag(), "detail": ss.choice(["a", "b"]), "raw_score": ss.range(0.0, 1.0)}
    results = Search(lambda c: c["id"], space, engine="random", max_evals=20).start()
    results.save(tmp_path / "r.csv")
    again = Results.from_csv(tmp_path / "r.csv", space)
    assert [(t.id, t.config, t.score) for t in again] == [(t.id, t.config, t.score) for t in results]
    assert len(set(results.columns())) == len(results.columns()) and "config.score" in results.columns()
    with pytest.raises(hone.UsageError, match="'id' is a column"):
        Search(lambda c: 1, space, objectives=["id"])


def test_files_are_read_without_the_space(results, tmp_path):
    results.save(tmp_path / "r.csv")
    again = Results.from_csv(tmp_path / "r.csv")
    assert [t.values for t in again] == [t.values for t in results] and again.best.id == results.best.id
    pandas = pytest.importorskip("pandas")
    assert len(pandas.read_csv(tmp_path / "r.csv")) == 80


def test_files_of_another_space_lose_what_it_cannot_say(results, tmp_path):
    results.save(tmp_path / "r.csv")
    again = Results.from_csv(tmp_path / "r.csv", {**SPACE, "k": ss.choice(["a", "b"])})
    assert again.n_dropped == sum(t.config["k"] in (3, None) for t in results) == 80 - len(again)
    (tmp_path / "other.csv").write_text("a,b\n1,2\n")
    with pytest.raises(hone.InputError, match="other.csv"):
        Results.from_csv(tmp_path / "other.csv")


def test_a_file_is_replaced_at_once_or_not_at_all(results, tmp_path):
    path = tmp_path / "r.csv"
    path.write_text("old")
    broken = Results(results.space, trials=[object()])
    with pytest.raises(AttributeError):
        broken.save(path)
    assert path.read_text() == "old" and os.listdir(tmp_path) == ["r.csv"]


def test_importance_finds_what_matters():
    found = Search(lambda c: 100 * c["a"] + c["b"] + (c["k"] == "u") * 0.1,
                   {"a": ss.range(0.0, 1.0), "b": ss.range(0.0, 1.0), "k": ss.choice(["u", "v"]), "c": ss.range(1, 50)},
                   engine="random", max_evals=400).start().importance()
    assert list(found)[0] == "a" and found["a"] > 0.9 and max(found[n] for n in "bkc") < 0.1


def test_pictures(results, tmp_path):
    pytest.importorskip("matplotlib")
    import matplotlib.pyplot

    for axes in (results.plot_convergence(), results.plot_pareto(), results.plot_importance(3)):
        axes.figure.savefig(tmp_path / "p.png")
        assert (tmp_path / "p.png").stat().st_size > 5000
        matplotlib.pyplot.close(axes.figure)
    with pytest.raises(hone.UsageError):
        results.plot_pareto(0, 2)


def test_notebooks_see_a_table():
    page = Search(lambda c: c["x"], {"x": ss.choice(["<b>", "&"]), "n": ss.range(1, 3)}).run
    assert page() is None
    html = Search(lambda c: c["n"], {"x": ss.choice(["<b>", "&"]), "n": ss.range(1, 3)}).start()._repr_html_()
    assert "&lt;b&gt;" in html and "<b>" not in html and html.count("<tr>") == 7


@pytest.mark.parametrize("module, call", [("pandas", lambda r: r.get_results()),
                                          ("matplotlib.pyplot", lambda r: r.plot_convergence()),
                                          ("ray", lambda r: Search(two, SPACE).start(worker="ray"))])
def test_what_is_missing_is_named(results, monkeypatch, module, call):
    for name in [n for n in sys.modules if n == module or n.startswith(module + ".")]:
        monkeypatch.delitem(sys.modules, name)
    real = builtins.__import__
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(hone.UnsupportedError, match=f"needs the package '{module.partition('.')[0]}'.*pip install"):
        call(results)
    assert builtins.__import__ is real


# --- types ---


def run_tool(*arguments, cwd=None):
    return subprocess.run([sys.executable, "-m", *arguments], capture_output=True, text=True, cwd=cwd,
                          env=dict(os.environ, PYTHONMALLOC="malloc", MYPYPATH=""))


@pytest.fixture(scope="module")
def mypy_cache(tmp_path_factory):
    """The standard library and NumPy are read once."""
    return str(tmp_path_factory.mktemp("mypy"))


def test_the_package_is_typed(mypy_cache):
    pytest.importorskip("mypy", reason="mypy is not installed")
    root = os.environ["HONE_ROOT"]
    done = run_tool("mypy", "--cache-dir", mypy_cache, "--config-file", "pyproject.toml", "python/hone", cwd=root)
    assert done.returncode == 0, done.stdout + done.stderr


def test_programs_are_checked_against_it(tmp_path, mypy_cache):
    pytest.importorskip("mypy", reason="mypy is not installed")
    (tmp_path / "good.py").write_text(
        "from hone import Search, SearchConfiguration, Results\nimport hone.space as ss\n"
        "def f(config: dict[str, float]) -> float:\n    return config['x']\n"
        "results: Results = Search(f, {'x': ss.range(1, 9)}, SearchConfiguration(generations=2)).start(2, 1.0)\n"
        "best = results.get_best_result()\nif best is not None:\n    print(best.config, best.score, best.seconds + 1)\n")
    (tmp_path / "bad.py").write_text(
        "from hone import Search, SearchConfiguration\nimport hone.space as ss\n"
        "SearchConfiguration(generations='5')\nss.range('a', 2)\nSearch(3, {}).start('x')\n")
    config = os.path.join(os.environ["HONE_ROOT"], "pyproject.toml")
    mypy = ["mypy", "--config-file", config, "--cache-dir", mypy_cache]
    environment = os.path.join(os.environ["HONE_ROOT"], "python")
    good = subprocess.run([sys.executable, "-m", *mypy, "good.py"], cwd=tmp_path, capture_output=True, text=True,
                          env=dict(os.environ, MYPYPATH=environment, PYTHONMALLOC="malloc"))
    bad = subprocess.run([sys.executable, "-m", *mypy, "bad.py"], cwd=tmp_path, capture_output=True, text=True,
                         env=dict(os.environ, MYPYPATH=environment, PYTHONMALLOC="malloc"))
    assert good.returncode == 0, good.stdout + good.stderr
    assert bad.stdout.count("error:") == 4, bad.stdout


def test_stubs_say_what_the_extension_has():
    pytest.importorskip("mypy", reason="mypy is not installed")
    names = {n for n in vars(hone._hone) if not n.startswith("_")}
    stub = os.path.join(os.environ["HONE_ROOT"], "python/hone/_hone.pyi")
    import ast

    tree = ast.parse(open(stub, encoding="utf-8").read())
    told = {n.name for n in tree.body if isinstance(n, (ast.ClassDef, ast.FunctionDef))}
    told |= {n.target.id for n in tree.body if isinstance(n, ast.AnnAssign)}
    assert names <= told, names - told
    classes = {n.name: {f.name for f in n.body if isinstance(f, ast.FunctionDef)} for n in tree.body
               if isinstance(n, ast.ClassDef)}
    for name in ("Space", "Search", "Store"):
        assert {m for m in vars(getattr(hone._hone, name)) if not m.startswith("_")} == classes[name] - {"__new__"}
