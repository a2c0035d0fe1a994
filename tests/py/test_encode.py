"""Encoders of GGUF blocks, held against the PyPI package gguf: it reads what they write, and errs no less by itself."""

import os
import subprocess

import pytest

np = pytest.importorskip("numpy")
gguf = pytest.importorskip("gguf")
HELPER = os.path.join(os.environ.get("HONE_BUILD", "build"), "asan/tests/helper/gguf_encode")
TYPES = ["F16", "BF16", "Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "Q4_K", "Q5_K", "Q6_K"]
# Relative root mean square errors that these types have on normal values; a wrong layout errs by more than 1.
MOST = {"F16": 3e-4, "BF16": 2e-3, "Q4_0": 0.1, "Q4_1": 0.085, "Q5_0": 0.05, "Q5_1": 0.041, "Q8_0": 0.006, "Q4_K": 0.075, "Q5_K": 0.038,
        "Q6_K": 0.018}

if not os.path.exists(HELPER):
    pytest.skip("the helper gguf_encode is not built", allow_module_level=True)


def encode(folder, name, x, w=None):
    args = [HELPER, name, folder / "x"]
    x.astype(np.float32).tofile(folder / "x")
    if w is not None:
        w.astype(np.float32).tofile(folder / "w")
        args.append(folder / "w")
    got = subprocess.run(args, capture_output=True)
    assert got.returncode == 0, got.stderr
    return np.frombuffer(got.stdout, np.uint8)


def decoded(data, kind):
    return gguf.dequantize(data.view(np.float16) if kind.name == "F16" else data, kind).astype(np.float64).reshape(-1)


@pytest.mark.parametrize("name", TYPES)
def test_the_package_reads_it_and_errs_no_less(tmp_path, name):
    kind = gguf.GGMLQuantizationType[name]
    rng = np.random.default_rng(5)
    x = (rng.standard_normal(256 * 64) * 0.02).astype(np.float32)
    w = rng.gamma(0.4, 1, x.size).astype(np.float32)
    for weight in (None, w):
        square = (decoded(encode(tmp_path, name, x, weight), kind) - x) ** 2 * (1 if weight is None else weight)
        if weight is None:
            assert np.sqrt(square.sum() / (x.astype(np.float64) ** 2).sum()) < MOST[name]
        try:
            theirs = gguf.quantize(x, kind)
        except NotImplementedError:
            continue
        theirs = (decoded(theirs.view(np.uint8), kind) - x) ** 2 * (1 if weight is None else weight)
        ours, theirs = square.reshape(-1, 32).sum(axis=1), theirs.reshape(-1, 32).sum(axis=1)
        assert (ours <= theirs * (1 + 1e-6)).all()
        if name.startswith("Q"):
            assert ours.sum() < 0.95 * theirs.sum()
