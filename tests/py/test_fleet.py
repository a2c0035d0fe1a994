"""hone.tune(..., workers="ray"): workload files on a local Ray cluster, proof included; workers that die cost a retry, no trial."""

import json
import os
import subprocess

import hone
import pytest

ray = pytest.importorskip("ray")
from hone.workers import fleet  # noqa: E402

COST = "$(( ({tile} - 7) * ({tile} - 7) + 60 )).$(( $(date +1%N) / 10000000 ))"
WORKLOAD = """hone: 1
name: bowl
controls: false
run: '%s echo cost: %s'
parameters:
  tile: {type: int, range: [0, 9], default: 0}
metrics: {source: lines, names: [cost]}
objectives: minimize cost
parity: none
budget: {evaluations: 8}
proof: {pairs: 12, pairs_most: 12, variants: 3}
"""


def write(folder, before=""):
    folder.mkdir(exist_ok=True)
    (folder / "hone.yaml").write_text(WORKLOAD % (before, COST))
    return folder / "hone.yaml"


@pytest.fixture(scope="module")
def cluster():
    """Two workers' places and a GPU that Ray is told of."""
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    try:
        ray.init(num_cpus=2, num_gpus=1, include_dashboard=False, log_to_driver=False, configure_logging=False)
    except Exception as error:
        pytest.skip(f"Ray does not start here: {error}")
    yield
    ray.shutdown()


def test_search_and_proof(cluster, tmp_path):
    path, seen = write(tmp_path / "w"), []
    found = hone.tune(path, workers="ray", num_gpus=0.5, num_cpus=0.5, batch=3, callback=seen.append, seeds=[{"tile": 7}], seed=1)
    assert found.trials == 8 == len(seen) and found.reason == "evaluations" and found.outcomes == {"ok": 8}
    assert found.best_point == {"tile": 7} and 1.5 < found.interval[0] <= found.speedup <= found.interval[1]
    points = [e.trial["point"]["tile"] for e in seen]
    assert len(set(points)) == 8 and seen[-1].best_speedup == pytest.approx(found.speedup, rel=0.05)
    listed = subprocess.run([os.path.join(os.environ.get("HONE_BUILD", "build"), "hone"), "results", "--json", "-w", path],
                            capture_output=True, text=True, check=True)  # fmt: skip
    assert "tile" in listed.stdout and json.loads(listed.stdout)
    proof = hone.validate(path, workers=fleet.Fleet(num_gpus=1), output=path.parent / "bowl.hone", top=1)
    assert proof and proof.session == found.session and proof.proofs[0].point == {"tile": 7} and "12 pairs" in proof.proofs[0].verdict
    assert hone.check(path.parent / "bowl.hone") and hone.Controls.load(path.parent / "bowl.hone").parameters == {"tile": "7"}
    with pytest.raises(hone.NotFoundError):
        hone.validate(write(tmp_path / "none"), workers="ray")


def mortal(tile, mark):
    """A worker that dies when it is given this tile; once, or (mark None) always."""

    class Mortal(fleet.Station):
        def trials(self, points, most, canary, options):
            if any(json.loads(p)["tile"] == tile for p in points) and not (mark and os.path.exists(mark)):
                if mark:
                    open(mark, "w").close()
                os._exit(1)
            return super().trials(points, most, canary, options)

    return Mortal


long = pytest.mark.skipif(not os.environ.get("HONE_LONG"), reason="new workers take seconds: make check-long")


@long
def test_a_worker_that_dies_costs_a_retry_and_no_trial(cluster, tmp_path, monkeypatch):
    mark = str(tmp_path / "died")
    monkeypatch.setattr(fleet, "Station", mortal(7, mark))
    monkeypatch.setattr(fleet, "_OPENING", 1)
    found = hone.tune(write(tmp_path / "w"), workers=fleet.Fleet(2, num_cpus=0.5, batch=2), max_evals=6, seeds=[{"tile": 7}, {"tile": 6}])
    assert os.path.exists(mark) and found.outcomes == {"ok": 6} and found.best_point == {"tile": 7}


@long
def test_what_always_kills_its_worker_is_a_crash(cluster, tmp_path, monkeypatch):
    monkeypatch.setattr(fleet, "Station", mortal(7, None))
    monkeypatch.setattr(fleet, "_OPENING", 1)
    found = hone.tune(write(tmp_path / "w"), workers=fleet.Fleet(1, num_cpus=0.5, batch=1, lost_most=2), max_evals=3, seeds=[{"tile": 7}, {"tile": 6}])
    assert found.outcomes == {"ok": 2, "run_crash": 1} and found.best_point == {"tile": 6}


def test_errors_of_workers_and_of_calls(cluster, tmp_path):
    bad = write(tmp_path / "bad", "exit 3;")
    with pytest.raises(hone.BaselineError, match="on a worker"):
        hone.tune(bad, workers="ray")
    path = write(tmp_path / "w")
    for wrong in ({"workers": "dask"}, {"workers": "ray", "num_workers": 0}, {"workers": fleet.Fleet(), "num_gpus": 1}, {"workers": "ray", "cpu": 1},
                  {"workers": "ray", "engine_options": {"a": 1}}, {"workers": "ray", "root": tmp_path / "bad"}):  # fmt: skip
        with pytest.raises(hone.UsageError):
            hone.tune(path, **wrong)
    with pytest.raises(hone.UsageError, match="is not in"):
        hone.validate(path, {"tile": 7}, workers="ray", output=tmp_path / "elsewhere.hone")
    (tmp_path / "w" / ".hidden").write_text("x")
    (tmp_path / "w" / "sub").mkdir()
    (tmp_path / "w" / "sub" / "a.txt").write_text("x")
    import io
    import tarfile

    assert tarfile.open(fileobj=io.BytesIO(fleet._packed(str(tmp_path / "w")))).getnames() == ["hone.yaml", "sub/a.txt"]
    monkey = fleet.MOST_B
    fleet.MOST_B = 1
    try:
        with pytest.raises(hone.LimitError, match="root="):
            fleet._packed(str(tmp_path / "w"))
    finally:
        fleet.MOST_B = monkey
