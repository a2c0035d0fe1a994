"""Tuning, proving and controls files from Python, on workloads whose cost follows from their parameters."""
import json
import math
import os
import signal
import time

import hone
import pytest

PLAIN = """hone: 1
name: plain
controls: false
run: 'n=1$(date +%N); echo cost: $(( ({A}-7)*({A}-7) + 60 )).$(( n / 1000000 ))'
parameters:
  A: {type: int, range: [0, 9], default: 0}
metrics: {source: lines, names: [cost]}
objectives: minimize cost
parity: none
budget: {evaluations: 10}
proof: {pairs: 12, pairs_most: 12, variants: 3}
"""
BOWL = {
    "bowl.c": '#include <stdio.h>\n#include "bowl.h"\n'
    'int main(void) { printf("cost: %d\\n", 1000 * ((TILE - BEST) * (TILE - BEST) + 1)); return 0; }\n',
    "bowl.h": "#define BEST 7\n",
    "hone.yaml": """hone: 1
name: bowl
sources: [bowl.c, bowl.h]
build: "{cc} {flags} {defines} bowl.c -o {out}"
run: "{out}"
compilers: [gcc]
baseline: -O1
controls: false
parameters:
  TILE: {type: int, range: [0, 9], default: 4}
metrics: {source: lines, names: [cost]}
objectives: minimize cost
parity: none
budget: {evaluations: 5}
proof: {pairs: 10, variants: 3}
""",
}


@pytest.fixture
def plain(tmp_path):
    path = tmp_path / "hone.yaml"
    path.write_text(PLAIN)
    return path


@pytest.fixture(scope="module")
def bowl(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bowl")
    for name, text in BOWL.items():
        (folder / name).write_text(text)
    found = hone.validate(folder / "hone.yaml", [{"TILE": 6}], output=folder / "bowl.hone")
    assert found and found.controls == folder / "bowl.hone"
    return folder


def test_tune_validate_report(plain, tmp_path):
    events = []
    r = hone.tune(plain, seed=1, callback=events.append)
    assert r.trials == 10 and r.reason in ("evaluations", "exhausted") and r.outcomes["ok"] == 10
    assert r.speedup > 1 and r.best_point["A"] in (6, 7, 8) and "trials" in str(r) and "<table>" in r._repr_html_()
    stages = {e.stage for e in events}
    assert {"trial", "race"} <= stages
    trials = [e.trial for e in events if e.stage == "trial" and e.trial]
    assert all(t["outcome"] == "ok" and "A" in t["point"] and len(t["values"]) == 1 for t in trials)

    page = hone.report(plain, tmp_path / "page.html")
    assert "<html" in page.html and page.path.exists() and page.data
    assert hone.report(plain).html == page.html

    steps = []
    proven = hone.validate(plain, callback=steps.append)
    assert proven and proven.session == r.session and proven.controls is None
    assert proven.proofs[0].point == r.best_point and "kept" in repr(proven.proofs[0])
    points = [p.point["A"] for p in proven.proofs]
    assert sorted(points) == [6, 7, 8]  # the three best of the session, as the command takes them
    assert [p.point["A"] for p in hone.validate(plain, top=1, pairs=5, pairs_most=10).proofs] == points[:1]
    with pytest.raises(hone.UsageError, match="'top' is a whole number from 1, not 0"):
        hone.validate(plain, top=0)
    assert {"measure"} <= {s.stage for s in steps} and not math.isnan(steps[-1].gain[1])
    assert not hone.validate(plain, [{"A": 7}], min_gain=10.0)


def test_tune_goes_on_and_begins_anew(plain):
    first = hone.tune(plain, max_evals=4, canary=False)
    assert hone.tune(plain, max_evals=4, resume=-1, seed=3, canary=False, seeds=[{"A": 7}]).session == first.session + 1
    with pytest.raises(TypeError, match="hone.tune.. has no option 'evals'"):
        hone.tune(plain, evals=3)


def test_the_same_seed_gives_the_same_points(plain):
    def points():
        seen = []
        hone.tune(plain, seed=5, max_evals=6, resume=-1, canary=False,
                  callback=lambda e: e.trial and e.trial["phase"] == "search" and seen.append(e.trial["point"]["A"]))  # fmt: skip
        return seen

    first = points()
    assert len(first) == 6 and first == points()


def test_errors(plain, tmp_path):
    bad = tmp_path / "bad.yaml"
    bad.write_text(PLAIN.replace("objectives:", "objectivs:"))
    with pytest.raises(hone.InputError, match=r"bad.yaml:\d+:\d+: .*objectives"):
        hone.tune(bad)
    with pytest.raises(hone.IOFailure):
        hone.tune(tmp_path / "none.yaml")
    with pytest.raises(hone.Error):
        hone.validate(plain)
    with pytest.raises(hone.InputError):
        hone.validate(plain, ["{"])
    with pytest.raises(hone.BaselineError):
        bad.write_text(PLAIN.replace("echo cost:", "exit 3; echo cost:"))
        hone.tune(bad, canary=False)


class Stop(Exception):
    pass


def test_a_callback_that_raises_ends_the_search(plain):
    def stop(event):
        if event.stage == "trial":
            raise Stop(event.done)

    with pytest.raises(Stop):
        hone.tune(plain, callback=stop, canary=False)
    assert hone.tune(plain, canary=False).trials == 10  # goes on


def test_ctrl_c(tmp_path):
    path = tmp_path / "hone.yaml"
    path.write_text(PLAIN.replace("run: 'n=", "run: 'sleep 0.3; n=").replace("evaluations: 10", "evaluations: 10000"))

    def ring(*_):
        os.kill(os.getpid(), signal.SIGINT)

    old = signal.signal(signal.SIGALRM, ring)
    own = signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored where a shell started the tests with `&`
    signal.setitimer(signal.ITIMER_REAL, 1.5)
    begin = time.monotonic()
    try:
        with pytest.raises(KeyboardInterrupt):
            hone.tune(path, canary=False)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, old)
        signal.signal(signal.SIGINT, own)
    assert time.monotonic() - begin < 30
    assert hone.report(path).data


def test_minimize(tmp_path):
    path = tmp_path / "hone.yaml"
    text = PLAIN.replace("$(( ({A}-7)*({A}-7) + 60 ))", "$(( 1000 - 40*{A} + 0*{B} ))")
    path.write_text(text.replace("parameters:", "parameters:\n  B: {type: int, range: [0, 9], default: 0}"))
    r = hone.minimize(path, {"A": 5, "B": 3}, output=tmp_path / "small.hone")
    assert (r.before, r.after) == (2, 1) and [name for name, _ in r.shares] == ["A"] and r.complete and "A" in str(r)
    assert r.proofs[0].kept and hone.Controls.load(r.controls).parameters["A"] == "5" and r.gain_after[1] > 1.1
    assert hone.minimize(path, {"A": 5, "B": 3}, prove=False).proofs == []


def test_controls(bowl):
    c = hone.Controls.load(bowl / "bowl.hone")
    assert c.name == "bowl" and c.compiler == "gcc" and c.parameters == {"TILE": "6"} and "-DTILE=6" in c.flags
    assert c.rsp.splitlines() == c.flags == (bowl / "bowl.rsp").read_text().splitlines()
    assert c.provenance["workload"] == "hone.yaml" and "bowl.c" in c.provenance["sources"]
    assert c.provenance["compiler"]["family"] == "gcc" and c.provenance["created"].endswith("Z")
    assert c.proof["verdict"].startswith("kept") or c.proof["verdict"]
    assert c.proof["results"][0]["gain"][0] > 1 and c.point["TILE"] == 6
    assert "bowl" in repr(c) and "<table>" in c._repr_html_()


def test_check(bowl):
    good = hone.check(bowl / "bowl.hone")
    assert good and good.status == "valid" and not good.differences
    header = bowl / "bowl.h"
    try:
        header.write_text("#define BEST 8\n")
        stale = hone.Controls.load(bowl / "bowl.hone").check()
        assert stale.status == "stale" and not stale and [d["what"] for d in stale.differences] == ["bowl.h"]
        assert hone.check(bowl / "bowl.hone", ignore=["source"])
    finally:
        header.write_text(BOWL["bowl.h"])
    assert hone.check(bowl / "none.hone").status == "broken"
    measured = hone.check(bowl / "bowl.hone", measure=True, pairs=10, pairs_most=10, variants=3)
    assert measured.status == "valid" and measured.gain[1] > 1


def test_signatures(bowl, tmp_path):
    key = hone.keygen(tmp_path / "team", "kernels team")
    hone.keygen(tmp_path / "other")
    with pytest.raises(hone.IOFailure):
        hone.keygen(key)
    c = hone.Controls.load(bowl / "bowl.hone")
    with pytest.raises(hone.NotFoundError):
        c.verify()
    c = c.sign(key)
    assert c.signer and c.verify(tmp_path / "team.pub") is c
    with pytest.raises(hone.MismatchError):
        c.verify(tmp_path / "other.pub")
    edited = tmp_path / "edited.hone"
    edited.write_text((bowl / "bowl.hone").read_text().replace("1000", "1001", 1).replace("TILE", "TILF", 1))
    with pytest.raises(hone.TamperedError):
        hone.Controls.load(edited)


def test_stages_and_triton():
    from hone.compilers import _stages

    words = ["-O3", "-Wl,-z,now", "-Xptxas", "-O1,-v", "--ptxas-options=--maxrregcount=64", "-Xcompiler", "-fPIC", "-Wa,--x"]
    assert _stages(words, False) == {
        "compile": ["-O3"], "assemble": ["--x"], "link": ["-z", "now"], "host": ["-fPIC"],
        "ptxas": ["-O1", "-v", "--maxrregcount=64"]}  # fmt: skip
    assert _stages(["--opt-level", "3"], True)["ptxas"] == ["--opt-level", "3"]


def test_triton_arguments(bowl, monkeypatch):
    c = hone.Controls.load(bowl / "bowl.hone")
    monkeypatch.delenv("TRITON_ALWAYS_COMPILE", raising=False)
    assert c.triton() == {} and c.ptx_options == "" and "TRITON_ALWAYS_COMPILE" not in os.environ
    c.flags, c.environment = ["-Xptxas", "-O1"], {"HONE_TEST_VARIABLE": "1"}
    monkeypatch.setenv("HONE_TEST_VARIABLE", "0")
    monkeypatch.setenv("TRITON_ALWAYS_COMPILE", "0")
    assert c.triton() == {"ptx_options": "-O1"} and os.environ["TRITON_ALWAYS_COMPILE"] == "1"


def test_options_are_documented():
    from hone import _hone

    for function, rows in ((hone.tune, _hone.tune_options), (hone.validate, _hone.prove_options)):
        assert "{options}" not in function.__doc__
        for name, kind, standard, doc in rows:
            assert f"{name}: {doc} ({kind}, {standard})" in function.__doc__


def test_json_of_a_proof(bowl):
    proof = hone.validate(bowl / "hone.yaml", [json.dumps({"TILE": 7})]).proofs[0]
    assert proof and proof.data["n_pairs"] >= 10 and proof.argv.startswith("gcc")


def test_callbacks_that_call_back_into_hone(plain, tmp_path):
    """From the thread that a search runs on: a model, another file's search, an error that stays inside."""
    np = pytest.importorskip("numpy")
    model = hone.compile(hone.generate("mlp", tmp_path / "mlp.onnx"), target="generic", parity=False, threads=1)
    inner = tmp_path / "inner"
    inner.mkdir()
    (inner / "hone.yaml").write_text(PLAIN)
    seen = []

    def callback(event):
        if event.stage != "trial" or not event.trial or event.trial["phase"] != "search":
            return
        seen.append(model(np.zeros((1, 784), "f4")).shape)
        with pytest.raises(hone.InputError):
            model()
        if len(seen) == 1:
            seen.append(hone.tune(inner / "hone.yaml", max_evals=2, canary=False).trials)

    assert hone.tune(plain, max_evals=4, canary=False, callback=callback).trials == 4
    assert seen.count((1, 10)) == 4 and 2 in seen


def test_searches_in_threads(tmp_path):
    import threading

    results, paths = [], []
    for i in range(3):
        folder = tmp_path / str(i)
        folder.mkdir()
        paths.append(folder / "hone.yaml")
        paths[-1].write_text(PLAIN)
    threads = [threading.Thread(target=lambda p=p: results.append(hone.tune(p, max_evals=3, canary=False, seed=1))) for p in paths]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert [r.trials for r in results] == [3, 3, 3]
