"""examples/canary/run.sh: a promotion, a rollback by itself, one by hand; no client has a wrong answer."""

import os
import shutil
import subprocess

import pytest

ROOT = os.environ.get("HONE_ROOT", os.path.realpath(os.path.join(os.path.dirname(__file__), "../..")))


def test_the_example(tmp_path):
    if not shutil.which("curl"):
        pytest.skip("curl is not installed")
    hone = os.path.join(os.environ.get("HONE_BUILD", os.path.join(ROOT, "build")), "hone")
    done = subprocess.run([os.path.join(ROOT, "examples/canary/run.sh")], env={**os.environ, "HONE": hone, "TMPDIR": str(tmp_path)}, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, (done.stdout, done.stderr)
    assert "is promoted: promoted:" in done.stdout and "is rolled back: rolled back:" in done.stdout and "\n0 wrong answers" in done.stdout
    assert done.stdout.count("now.ir answers now") == 1
