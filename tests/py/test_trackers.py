"""Trackers: log lines, MLflow on a real local server, one's own class."""
import io
import json
import logging
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
import warnings

import hone
import hone.space as ss
import pytest
from hone.search import Callback

SPACE = {"x": ss.range(0, 9), "part": {"kind": ss.choice(["a", "b"])}}


def objective(config):
    if config["x"] == 3:
        raise ValueError("not three")
    return (config["x"] - 7) ** 2 + (config["part"]["kind"] == "b")


def search(*callbacks, **options):
    return hone.Search(objective, SPACE, callbacks=callbacks, max_evals=20, seed=2, engine="random", name="bowl", **options)


def test_log_lines():
    to = io.StringIO()
    results = search(hone.trackers.Log(to, every=1)).start()
    lines = to.getvalue().splitlines()
    assert lines[0] == "bowl: engine random, seed 2, 20 evaluations at most"
    assert len(lines) == len(results) + 2
    assert any("(best)" in line for line in lines) and any("run_crash: ValueError: not three" in line for line in lines)
    assert f"best {results.best.score!r} of trial {results.best.id}" in lines[-1] and "(evaluations)" in lines[-1]


def test_log_by_logging(caplog):
    caplog.set_level(logging.INFO, "bowl")
    search(hone.trackers.Log(logging.getLogger("bowl"))).start()
    said = [r.getMessage() for r in caplog.records]
    assert said[0].startswith("bowl: engine") and sum("(best)" in line for line in said) >= 1
    assert len(said) < 15


def test_a_class_of_ones_own():
    class Mine(Callback):
        def __init__(self):
            self.seen = []

        def on_start(self, search):
            self.seen.append("start")

        def on_trial(self, search, trial):
            self.seen.append(trial.id)
            return trial.id == 4

        def on_end(self, search, results):
            self.seen.append(results.reason)

    mine = Mine()
    search(mine).start()
    assert mine.seen == ["start", 1, 2, 3, 4, "callback"]


# --- MLflow


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    pytest.importorskip("mlflow.server", reason="the package mlflow is not installed")
    folder = tmp_path_factory.mktemp("mlflow")
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = s.getsockname()[1]
    command = [sys.executable, "-m", "mlflow", "server", "--host", "127.0.0.1", "--port", str(port), "--workers", "1",
               "--backend-store-uri", f"sqlite:///{folder}/mlflow.db", "--artifacts-destination", str(folder / "artifacts")]  # fmt: skip
    env = {k: v for k, v in os.environ.items() if k != "PYTHONMALLOC"}
    env["MLFLOW_SERVER_ENABLE_JOB_EXECUTION"] = "false"  # seven more processes otherwise
    with open(folder / "log", "w") as log:
        process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT, start_new_session=True, cwd=folder, env=env)
    uri = f"http://127.0.0.1:{port}"
    try:
        for _ in range(600):
            try:
                urllib.request.urlopen(uri + "/health", timeout=10)
                break
            except (urllib.error.URLError, OSError):
                assert process.poll() is None, (folder / "log").read_text()[-2000:]
                time.sleep(0.2)
        yield uri
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def test_mlflow_runs(server):
    from mlflow import MlflowClient

    tracker = hone.trackers.MLflow(server, "bowls", run_name="first", tags={"team": "kernels"})
    results = search(tracker).start()
    assert tracker.failed is None
    client = MlflowClient(server)
    run = client.get_run(tracker.run_id)
    assert run.info.status == "FINISHED" and run.info.run_name == "first"
    assert run.data.params["engine"] == "random" and run.data.params["seed"] == "2"
    assert run.data.tags["team"] == "kernels" and run.data.tags["hone.trials"] == str(len(results))
    assert run.data.tags["best.part.kind"] == results.best.config["part"]["kind"]
    assert run.data.metrics["best_score"] == results.best.score
    scores = {m.step: m.value for m in client.get_metric_history(tracker.run_id, "score")}
    assert scores == {t.id: t.score for t in results if t.ok}
    assert {a.path for a in client.list_artifacts(tracker.run_id)} == {"space.yaml", "results.csv", "front.json"}
    assert "hone-space" in open(client.download_artifacts(tracker.run_id, "space.yaml")).read()
    front = json.load(open(client.download_artifacts(tracker.run_id, "front.json")))
    assert front[0]["values"] == [results.best.score]

    nested = client.search_runs([run.info.experiment_id], f"tags.`mlflow.parentRunId` = '{tracker.run_id}'", max_results=100)
    assert len(nested) == len(results)
    by_name = {r.info.run_name: r for r in nested}
    for t in results:
        r = by_name[f"trial {t.id}"]
        assert r.data.params == {"x": str(t.config["x"]), "part.kind": t.config["part"]["kind"]}
        assert r.info.status == ("FINISHED" if t.ok else "FAILED") and r.data.tags["hone.class"] == t.cls
        assert r.data.metrics.get("score") == t.score


def test_mlflow_without_trials_and_interrupted(server):
    from mlflow import MlflowClient

    class Stop(Exception):
        pass

    def stop(trial):
        if trial.id == 5:
            raise Stop

    tracker = hone.trackers.MLflow(server, "bowls", trials=False)
    with pytest.raises(Stop):
        search(tracker, stop).start()
    client = MlflowClient(server)
    run = client.get_run(tracker.run_id)
    assert run.info.status == "KILLED" and len(client.get_metric_history(tracker.run_id, "seconds")) == 5
    assert not client.search_runs([run.info.experiment_id], f"tags.`mlflow.parentRunId` = '{tracker.run_id}'")


def test_mlflow_server_that_is_not_there(monkeypatch):
    pytest.importorskip("mlflow", reason="the package mlflow is not installed")
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_MAX_RETRIES", "0")
    monkeypatch.setenv("MLFLOW_HTTP_REQUEST_TIMEOUT", "2")
    tracker = hone.trackers.MLflow("http://127.0.0.1:9", "bowls")
    with pytest.warns(RuntimeWarning, match="MLflow tracking ends"):
        results = search(tracker).start()
    assert len(results) == 20 and tracker.failed is not None


def test_mlflow_missing_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "mlflow", None)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(hone.UnsupportedError, match=r"pip install 'hone\[mlflow\]'"):
            hone.trackers.MLflow()
