"""Docstrings say what the tables say: options, results and their units, errors; and every public name has one."""
import ast
import inspect
import os
import re

import hone
import hone.space as ss
import pytest
from hone import Search, SearchConfiguration

_hone = hone._hone
CALLS = {"compile": hone.compile, "load": hone.load, "call": hone.Model.__call__, "bench": hone.Model.bench,
         "profile": hone.Model.profile, "verify": hone.Model.verify, "reset_state": hone.Model.reset_state,
         "save_state": hone.Model.save_state, "load_state": hone.Model.load_state, "fork": hone.Model.fork,
         "tune": hone.tune, "validate": hone.validate,
         "minimize": hone.minimize, "check": hone.check, "tune_model": hone.tune_model, "choose_precision": hone.choose_precision, "controls_load": hone.Controls.load,
         "controls_verify": hone.Controls.verify, "search": Search, "start": Search.start, "ask": Search.ask,
         "language_model": hone.LanguageModel, "text_generate": hone.LanguageModel.generate,
         "load_session": hone.LanguageModel.load_session, "server": hone.Server, "serve_ray": hone.serve_ray, "session_feed": hone.Session.feed,
         "tell": Search.tell, "compiler": ss.compiler, "from_file": ss.from_file}  # fmt: skip
OPTIONS = {"compile": "compile_options", "tune": "tune_options", "validate": "prove_options", "minimize": "prove_options",
           "check": "prove_options", "server": "serve_options", "tune_model": "tune_model_options", "choose_precision": "precision_options", "language_model": "text_options",
           "text_generate": "generate_options"}  # fmt: skip


def lines(what):
    return [line.strip() for line in what.__doc__.splitlines()]


def test_every_row_of_the_table_of_errors_is_in_its_docstring():
    assert {row[0] for row in _hone.raises} == set(CALLS)
    for call, error, text, when in _hone.raises:
        assert error.__doc__ == text  # the table of errors
        assert f"hone.{error.__name__}: {text} ({when})" in lines(CALLS[call]), call


def test_errors_are_named_nowhere_but_in_the_tables():
    """A docstring that named one by hand would not change with the table."""
    named = {call: re.findall(r"hone\.(\w+(?:Error|Failure|Memory))", what.__doc__) for call, what in CALLS.items()}
    told = {call: [row[1].__name__ for row in _hone.raises if row[0] == call] for call in CALLS}
    assert named == told


@pytest.mark.parametrize("call", OPTIONS)
def test_every_option_is_in_its_docstring(call):
    for name, kind, standard, doc in getattr(_hone, OPTIONS[call]):
        assert f"{name}: {doc} ({kind}, {standard})" in lines(CALLS[call])


def test_the_signature_of_compile_is_the_table():
    parameters = inspect.signature(hone.compile).parameters
    for name, kind, standard, _ in _hone.compile_options:
        default = parameters[name].default
        assert repr(default) == standard and type(default).__name__ in (kind, "NoneType")


def test_results_hold_what_their_docstrings_say(tmp_path):
    pytest.importorskip("numpy")
    (tmp_path / "m.ir").write_text('ir 1\nsymbol n in 1..8\ninput %0 : f32[n, 4] "x"\n%1 = exp %0\noutput %1 "y"\n')
    model = hone.compile(tmp_path / "m.ir", target="generic", parity=False, threads=1)
    assert list(model.result) == [row[0] for row in _hone.compile_fields]
    row = model.profile(seconds=0.01).kernels[0]
    assert list(row) == [row[0] for row in _hone.profile_fields] and len(row["time_s"]) == 3
    for fields, what in ((_hone.compile_fields, hone.Model), (_hone.profile_fields, hone.model.Profile)):
        for key, unit, doc in fields:
            assert f"{key}: {doc}" + (f" ({unit})" if unit else "") in lines(what)
            assert unit == {"s": "s", "b": "bytes"}.get(key.rsplit("_", 1)[-1], unit)  # a name's ending is its unit
    assert "x: float32[n, 4]; n from 1 to 8" in lines(model) and "y: float32[n, 4]; n from 1 to 8" in lines(model)


def test_engines_are_those_of_the_table():
    for name, summary, options in _hone.engines():
        assert f"{name}: {summary}" + (f" ({options})" if options else "") in lines(SearchConfiguration)


def public(module):
    for name in module.__all__ if hasattr(module, "__all__") else vars(module):
        yield name, getattr(module, name)


@pytest.mark.parametrize("module", [hone, ss, hone.workers, hone.trackers])
def test_every_public_name_has_a_docstring(module):
    for name, what in public(module):
        if name.startswith("_") or not callable(what) or not getattr(what, "__module__", "").startswith("hone"):
            continue
        assert what.__doc__ and "{" not in re.sub(r"\{['\"]|\{\}|\{cc\}", "", what.__doc__), name
        for method, function in vars(what).items() if inspect.isclass(what) else ():
            if not method.startswith("_") and inspect.isfunction(function):
                assert inspect.getdoc(getattr(what, method)), f"{name}.{method}"


def test_the_stubs_name_what_the_extension_has():
    with open(os.path.join(os.path.dirname(hone.__file__), "_hone.pyi"), encoding="utf-8") as f:
        stubs = ast.parse(f.read())
    told = {}
    for node in stubs.body:
        if isinstance(node, ast.ClassDef):
            told[node.name] = {m.name for m in node.body if isinstance(m, ast.FunctionDef) and not m.name.startswith("_")}
        elif isinstance(node, ast.FunctionDef):
            told[node.name] = set()
        elif isinstance(node, ast.AnnAssign):
            told[node.target.id] = set()
    there = {name for name in vars(_hone) if not name.startswith("__") or name == "__version__"}
    assert there <= set(told), there - set(told)
    for name in ("Space", "Search", "Store", "Program", "Text", "TextSession"):
        methods = {m for m, value in vars(getattr(_hone, name)).items() if not m.startswith("_")}
        assert methods == {m for m in told[name]} | (methods & {n.target.id for c in stubs.body
                          if isinstance(c, ast.ClassDef) and c.name == name for n in c.body if isinstance(n, ast.AnnAssign)})
    for name, what in vars(_hone).items():
        if callable(what) and not inspect.isclass(what):
            assert what.__doc__, name
