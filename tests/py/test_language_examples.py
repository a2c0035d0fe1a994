"""The programs of examples/language run, on a tiny model with random weights."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

np = pytest.importorskip("numpy")
pytest.importorskip("gguf")
test_language = pytest.importorskip("test_language")
ROOT = Path(os.environ.get("HONE_ROOT", Path(__file__).resolve().parents[2]))
BUILD = Path(os.environ.get("HONE_BUILD", "build")).resolve()
FOLDER = ROOT / "examples" / "language"


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("examples")
    s = test_language.MODELS["llama"]
    test_language.write(str(folder / "tiny.gguf"), s, test_language.weights_of(s, np.random.default_rng(1)), context=256)
    return folder


def run(*words, cwd, **more):
    done = subprocess.run([str(w) for w in words], cwd=cwd, env={**os.environ, **more}, capture_output=True, timeout=100, check=False)
    out = done.stdout.decode("utf-8", "replace")
    assert done.returncode == 0, out[-1000:] + done.stderr.decode("utf-8", "replace")[-3000:]
    return out


def test_c(place):
    run("make", "-s", "-C", FOLDER, f"OUT={place / 'out'}", f"BUILD={BUILD}", cwd=place)
    told = run(place / "out" / "answer", place / "tiny.gguf", "A text", cwd=place)
    assert "48 tokens, the first after" in told or "end: eos" in told
    assert "behind the prompt's 6 tokens the likeliest is" in told
    missing = subprocess.run([str(place / "out" / "answer"), "missing.gguf"], cwd=place, capture_output=True, text=True, check=False)
    assert missing.returncode != 0 and "missing.gguf" in missing.stderr


def test_python(place):
    told = run(sys.executable, FOLDER / "answer.py", place / "tiny.gguf", "A text", cwd=place)
    assert "'A' goes on with" in told and told.count(" comes ") == 3 and "perplexity of the prompt:" in told


def test_shell(place):
    told = run(FOLDER / "answer.sh", place / "tiny.gguf", "A text", cwd=place, HONE=str(BUILD / "hone"))
    assert "hone  32 + 8" in told and "GGUF model" in told
