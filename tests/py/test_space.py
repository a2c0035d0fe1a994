"""Search spaces from Python: what objectives receive, and the way back."""
import json
import os
import pickle
import subprocess

import pytest

import hone
import hone.space as ss

EVERYTHING = {
    "x": ss.range(start=1.0, end=20.0, step=0.5),
    "n": ss.range(1, 64),
    "rate": ss.log_sampling(1e-5, 1.0, seed_low=1e-3, seed_high=1e-2),
    "y": ss.choice([1, 2.5, "three", None, True, (4, 5)]),
    "level": ss.ordinal([1, 2, 4, 8], default=4),
    "order": ss.permutation(["a", "b", "c"]),
    "fast": ss.flag(),
    "z": ss.literal("constant", knockout_prob=0.5),
    "plain": 17,
    "inner": {"depth": ss.range(1, 8, when="fast"), "fast": ss.flag(default=True)},
}


def points(space, n=200):
    return [space.sample(i) for i in range(n)]


def test_configs_keep_shape_order_and_types():
    space = ss.build(EVERYTHING)
    seen = [space.config(p) for p in points(space)]
    assert all(list(c) == [k for k in EVERYTHING if k in c] for c in seen)
    types = {type(c["y"]) for c in seen}
    assert types == {int, float, str, type(None), bool, tuple}
    assert all(isinstance(c["x"], float) and isinstance(c["n"], int) and isinstance(c["fast"], bool) for c in seen)
    assert all(sorted(c["order"]) == ["a", "b", "c"] and c["plain"] == 17 for c in seen)
    assert {"z" in c for c in seen} == {True, False}


def test_conditions_decide_what_is_there():
    space = ss.build(EVERYTHING)
    for c in map(space.config, points(space)):
        assert ("depth" in c["inner"]) == c["inner"]["fast"]


def test_configs_and_json_lead_back_to_the_point():
    space = ss.build(EVERYTHING)
    for p in points(space):
        assert space.point(space.config(p)) == p
        assert space.from_json(space.to_json(p)) == p
        assert space.why(p) is None


def test_numpy_numbers_are_numbers_in_expressions():
    numpy = pytest.importorskip("numpy")
    space = ss.build(ss.space({"k": ss.choice(numpy.arange(4)), "f": ss.ordinal(numpy.float32([0.5, 1.5])),
                               "n": ss.range(numpy.int64(1), numpy.int64(9))}, ["k >= 2", "f < 1", "n % 2 == 0"]))
    for c in map(space.config, points(space, 50)):
        assert c["k"] >= 2 and isinstance(c["k"], numpy.int64) and c["f"] == 0.5 and c["n"] % 2 == 0
        assert space.point(c) == space.point({**c, "k": int(c["k"])})


def test_seed_windows_are_for_initial_samples():
    space = ss.build(EVERYTHING)
    assert all(1e-3 <= space.config(space.sample(i, True))["rate"] <= 1e-2 for i in range(50))
    assert any(space.config(p)["rate"] < 1e-3 for p in points(space))


def test_constraints_hold_everywhere():
    space = ss.build(ss.space({"m": ss.range(8, 128, 8), "k": {"n": ss.range(8, 128, 8)}}, ["m * k.n <= 1024"]))
    assert all(c["m"] * c["k"]["n"] <= 1024 for c in map(space.config, points(space)))


def test_nested_spaces_have_conditions_of_their_own():
    space = ss.build({"mode": ss.choice(["a", "b"]), "b": ss.space({"u": ss.range(1, 9), "v": ss.range(1, 9)},
                                                                   ["u <= v"], when="mode == 'b'")})
    for c in map(space.config, points(space)):
        assert ("u" in c["b"]) == (c["mode"] == "b")
        assert c["mode"] == "a" or c["b"]["u"] <= c["b"]["v"]


def test_lists_mix_dicts_files_and_compilers(tmp_path):
    path = tmp_path / "tile.yaml"
    path.write_text("hone-space: 1\nparameters:\n  T: {type: int, range: [8, 128], step: 8}\n"
                    "  inner: {type: space, parameters: {W: [4, 8, auto]}}\n")
    space = ss.build([{"u": ss.range(1, 4)}, ss.compiler("gcc"), ss.from_file(path), ss.range(0.0, 1.0)])
    for p in points(space, 20):
        user, flags, tile, number = config = space.config(p)
        assert 1 <= user["u"] <= 4 and tile["T"] % 8 == 0 and tile["inner"]["W"] in (4, 8, "auto") and 0 <= number <= 1
        assert isinstance(flags, ss.Flags) and flags[-1] == "-ffp-contract=off" and str(flags).count("-O") >= 1
        assert space.point(config) == p
        assert space.point(pickle.loads(pickle.dumps(config))) == p


def test_compilers_stand_anywhere_in_dicts():
    space = ss.build({"mode": ss.choice([1, 2]), "tool": {"cc": ss.compiler("gcc"), "k": ss.range(1, 4)},
                      "fast": ss.compiler("gcc", floating_point="fast")})
    for p in points(space, 10):
        config = space.config(p)
        assert list(config) == ["mode", "tool", "fast"] and list(config["tool"]) == ["cc", "k"]
        assert "-ffast-math" in config["fast"] and "-ffp-contract=off" in config["tool"]["cc"]
        assert space.point(config) == p


def test_a_compiler_alone_is_a_space():
    space = ss.build(ss.compiler("gcc"))
    flags = space.config(space.default())
    assert flags[0] == "-O2" or flags[0].startswith("-O")
    assert space.point(flags) == space.default()
    with pytest.raises(hone.ToolError, match="no-such-compiler"):
        ss.compiler("no-such-compiler")


def test_yaml_says_the_same():
    space = ss.build(EVERYTHING)
    again = ss.from_text(space.to_yaml())
    assert again.hash == space.hash and again.names == space.names


@pytest.mark.parametrize("given, error, text", [
    ({"a b": 1}, hone.InputError, "letters, digits"),
    ({1: ss.flag()}, TypeError, "keys of a search space are str"),
    ({"x": ss.range(5, 1)}, hone.InputError, "x"),
    ({"x": ss.range(1, 9, when="w > 1")}, hone.InputError, "unknown parameter 'w'"),
    ({"x": ss.log_sampling(0.0, 1.0)}, hone.InputError, "x"),
    ({"x": ss.choice([1, "1"])}, hone.InputError, "twice"),
    (17, TypeError, "a search space is a dict"),
    ({"x": [ss.range(1, 2)]}, TypeError, "'x' is a list of parameters"),
    (ss.space({"x": ss.range(1, 9)}, ["x > 9"]), hone.EmptyError, "")])
def test_mistakes_are_named(given, error, text):
    with pytest.raises(error, match=text):
        space = ss.build(given)
        space.sample(0)


@pytest.mark.parametrize("config, text", [
    ({"x": 1.25}, "grid"), ({"x": 99}, "range"), ({"x": "a"}, "a number"), ({"w": 1}, "keys that space"),
    ({"order": ["a", "a", "b"]}, "each once"), ({"y": 3}, "one of its values"), ({"fast": "yes"}, "True or False")])
def test_configs_of_another_space_are_refused(config, text):
    space = ss.build(EVERYTHING)
    with pytest.raises(hone.InputError, match=text):
        space.point({**space.config(space.sample(1)), **config})


@pytest.mark.parametrize("make", [lambda: ss.choice([]), lambda: ss.range(1, 2, 0), lambda: ss.choice([1], default=2),
                                  lambda: ss.flag(knockout_prob=2)])
def test_parameters_check_their_arguments(make):
    with pytest.raises(ValueError):
        make()


def test_errors_are_those_of_the_table():
    with pytest.raises(hone.Error) as caught:
        ss.from_file("/nonexistent.yaml")
    assert isinstance(caught.value, OSError) and caught.value.id == "E_IO" and caught.value.exit_code == 4


def test_objects_of_the_extension_refuse_misuse():
    space = hone._hone.Space("s")
    with pytest.raises(hone.UsageError):
        space.sample(1)
    space.seal()
    with pytest.raises(hone.UsageError):
        space.add("x", "flag", "x")
    built = ss.build(EVERYTHING)
    for wrong in (b"", b"x" * 8, "text", None):
        with pytest.raises(TypeError):
            built.config(wrong)
    with pytest.raises(TypeError):
        hone._hone.Search("no space", (False,))
    with pytest.raises(hone.NotFoundError, match="no-engine"):
        hone._hone.Search(built, (False,), engine="no-engine")


def test_the_command_samples_the_same_points(tmp_path):
    space = ss.build({k: v for k, v in EVERYTHING.items() if k not in ("y", "inner")})
    path = tmp_path / "space.yaml"
    path.write_text(space.to_yaml())
    command = [os.environ.get("HONE") or os.path.join(os.environ["HONE_BUILD"], "hone"), "sample", str(path), "--json"]
    out = subprocess.run([*command, "-n", "25", "--seed", "7"], capture_output=True, text=True, check=True).stdout
    mine = hone.Search(None, space, seed=7).sample(25)
    theirs = json.loads(out)
    theirs = theirs if isinstance(theirs, list) else next(v for v in theirs.values() if isinstance(v, list))
    assert [json.loads(space.to_json(space.point(c))) for c in mine] == theirs


@pytest.mark.parametrize("command, of, least", [("opencl", "-O", 2), *([("nvrtc", "maxrregcount", 9), ("nvcc", "maxrregcount", 9)] if os.environ.get("HONE_LONG") else [])])
def test_compilers_for_gpus(command, of, least):
    """Their controls are a space like any other; a point is a tuple of words. OpenCL's keep to strict floating point here, which leaves few."""
    try:
        space = ss.compiler(command)
    except hone.Error as error:
        pytest.skip(f"{command}: {error}")
    words = [space.config(p) for p in points(space, 20)]
    assert all(isinstance(w, ss.Flags) for w in words) and len({str(w) for w in words}) >= least
    assert any(of in str(w) for w in words), words
