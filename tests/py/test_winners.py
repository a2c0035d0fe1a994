"""Tuning a model's kernels from Python, and the file of what was found."""

import hone
import pytest

np = pytest.importorskip("numpy")
MODEL = """ir 1
input %0 : f32[64, 128] "x"
%1 = sum %0 {axes = [1], keep = 1}
%2 = tanh %1
output %2 "y"
"""


@pytest.fixture(scope="module")
def tuned(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tuned")
    path = hone.generate("mlp", folder / "model.onnx")
    events = []
    result = hone.tune(path, budget="4s", winners=folder / "winners.db", kernels="contract", callback=events.append, seed=1)
    return folder, result, events


def test_tune_a_model(tuned):
    folder, result, events = tuned
    assert result.winners == folder / "winners.db" and result.kernels and result.elapsed_s < 60
    assert {"profile"} <= {e.stage for e in events} and all(e.elapsed_s >= 0 for e in events)
    assert all(k["kind"] == "contract" or k["end"] == "left out" for k in result.kernels)
    assert "kernel" in str(result) and "<table>" in result._repr_html_()


def test_winners(tuned, tmp_path):
    folder, result, _ = tuned
    winners = hone.Winners(folder / "winners.db")
    rows = winners.rows()
    assert len(winners) == len(rows) >= sum(k["new"] for k in result.kernels) * (not result.dropped)
    assert all(w["gain"][0] <= w["gain"][1] <= w["gain"][2] and len(w["id"]) == 32 for w in winners)
    assert "winners.db" in repr(winners) and "<table>" in winners._repr_html_()
    text = winners.export()
    other = hone.Winners(tmp_path / "other.db")
    assert other.rows() == [] and other.take(text) == (len(rows), len(rows)) and other.take(text)[1] == 0
    for w in rows:
        other.remove(w["id"])
    assert len(other) == 0
    with pytest.raises(hone.NotFoundError):
        other.remove("0" * 32)
    with pytest.raises(hone.InputError):
        other.take("not: [what")
    assert hone.Winners().path.name == "winners.db"


def test_a_place_that_is_a_server(tmp_path, monkeypatch):
    url = f"postgresql://u:secret@/none?host={tmp_path}"
    monkeypatch.setenv("HONE_WINNERS", url)
    for w in (hone.Winners(), hone.Winners(url)):
        assert w.path == "postgresql:///none" and "secret" not in repr(w)
        with pytest.raises((hone.StoreError, hone.UnsupportedError), match="winners at") as e:
            w.rows()
        assert "secret" not in str(e.value)
    monkeypatch.setenv("HONE_WINNERS", str(tmp_path / "w.db"))
    assert hone.Winners().path == tmp_path / "w.db" and hone.Winners().rows() == []


def test_compile_takes_them(tuned):
    folder, result, _ = tuned
    m = hone.compile(folder / "model.onnx", winners=folder / "winners.db")
    assert (m.result["winners"] > 0) == (len(hone.Winners(folder / "winners.db")) > 0)
    assert hone.compile(folder / "model.onnx", use_winners=False, parity=False).result["winners"] == 0
    assert m.verify(inputs=1)


def test_errors(tmp_path):
    path = tmp_path / "model.ir"
    path.write_text(MODEL)
    with pytest.raises(hone.NotFoundError):
        hone.tune_model(path, 1, kernels="no-such-kernel", winners=tmp_path / "w.db")
    with pytest.raises(hone.UsageError, match="no duration"):
        hone.tune_model(path, "soon")
    with pytest.raises(hone.UsageError, match="'budget' is for models"):
        hone.tune(tmp_path / "hone.yaml", budget=3)
    with pytest.raises(hone.IOFailure):
        hone.tune(tmp_path / "none.onnx", budget=3)
    with pytest.raises(TypeError, match="no option 'speed'"):
        hone.tune(path, budget=1, speed=11)


class Stop(Exception):
    pass


def test_a_callback_that_raises_ends_it(tmp_path):
    path = tmp_path / "model.ir"
    path.write_text(MODEL)

    def stop(event):
        raise Stop(event.stage)

    with pytest.raises(Stop):
        hone.tune_model(path, "10m", winners=tmp_path / "w.db", callback=stop)


def test_durations():
    from hone.winners import duration_s

    assert [duration_s(x) for x in ("90", "90s", "1.5m", "1h", 3)] == [90, 90, 90, 3600, 3]


def test_options_are_documented():
    from hone import _hone

    for name, kind, standard, doc in _hone.tune_model_options:
        assert f"{name}: {doc} ({kind}, {standard})" in hone.tune_model.__doc__
