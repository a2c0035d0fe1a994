"""Every program of examples/python runs, with few evaluations."""
import os
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(os.environ.get("HONE_ROOT", Path(__file__).resolve().parents[2])) / "examples" / "python"
PROGRAMS = sorted(p.name for p in FOLDER.glob("*.py"))
ARGUMENTS = {"model.py": [], "serve_ray.py": []}
SAYS = {
    "single_objective.py": "best ",
    "multiple_objectives.py": " MB ",
    "nested_and_mixed.py": "bytes with",
    "custom_worker_and_tracker.py": "lines in trials.jsonl, ended by evaluations",
    "xgboost_tuning.py": "after 6 evaluations",
    "ray_cluster.py": "score=",
    "serve_ray.py": "replicas answer",
    "c_kernel.py": " us with ",
    "model.py": "as the interpreter",
    "triton_controls.py": "BLOCK=",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_example(name, tmp_path):
    if name in ("serve_ray.py", "ray_cluster.py", "xgboost_tuning.py") and not os.environ.get("HONE_LONG"):
        pytest.skip("Ray takes a minute to start, XGBoost's models too: make check-long")
    env = {k: v for k, v in os.environ.items() if k != "PYTHONMALLOC" or name not in ("ray_cluster.py", "serve_ray.py", "xgboost_tuning.py")}
    done = subprocess.run([sys.executable, str(FOLDER / name), *ARGUMENTS.get(name, ["6"])], cwd=tmp_path, env=env,
                          capture_output=True, text=True, timeout=200)  # fmt: skip
    if done.stderr.startswith("skipped: "):
        pytest.skip(done.stderr.strip())
    if "The current node timed out during startup" in done.stderr:
        pytest.skip("Ray did not start within the 30 s that it gives itself")
    assert done.returncode == 0, done.stdout[-1000:] + done.stderr[-4000:]
    assert SAYS[name] in done.stdout


def test_every_program_is_in_the_readme():
    text = (FOLDER / "README.md").read_text()
    assert all(f"[{name}]({name})" in text for name in PROGRAMS)
