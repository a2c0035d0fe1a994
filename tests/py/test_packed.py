"""Models with packed weights: the logits of --exact are those of the same model with the dequantised weights as floats; with int8
activations they are near. Matrices of experts that are stored one by one, too."""

import copy
import os
import re
import subprocess

import hone
import pytest

np = pytest.importorskip("numpy")
gguf = pytest.importorskip("gguf")
language = pytest.importorskip("test_language")
HONE = os.path.join(os.environ.get("HONE_BUILD", "build"), "hone")


def shape_of(name):
    """The model's shape with rows of whole blocks."""
    s = copy.copy((language.MODELS | language.MORE)[name])
    s.__dict__.update(width=64, mlp=64, layers=1)
    if s.experts:
        s.__dict__["expert_mlp"] = 64
    return s


def logits(path, tokens, **how):
    with hone.LanguageModel(str(path), context=64, threads=2, **how) as m:
        return m.logits(tokens)


def stacked(s, values):
    """Experts' matrices of a file that has them one by one, together."""
    out = {k: v for k, v in values.items() if not re.search(r"ffn_\w+\.\d+\.weight", k)}
    for layer in range(s.layers if s.split else 0):
        for part in ("gate", "up", "down"):
            p = f"blk.{layer}.ffn_{part}"
            out[p + "_exps.weight"] = np.stack([values[f"{p}.{e}.weight"] for e in range(s.experts)])
    return out


@pytest.mark.parametrize("name, kind", [("mixtral-split", "q4_0"), *([("qwen3", "q8_0")] if os.environ.get("HONE_LONG") else [])])
def test_packed_weights(tmp_path, monkeypatch, name, kind):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    s, r = shape_of(name), np.random.default_rng(3)
    w = language.weights_of(s, r)
    language.write(str(tmp_path / "m.gguf"), s, w)
    subprocess.run([HONE, "quantize", tmp_path / "m.gguf", "-o", tmp_path / "p.gguf", "--type", kind], check=True, capture_output=True)
    packed = {t.name: t for t in gguf.GGUFReader(tmp_path / "p.gguf").tensors}
    assert packed["blk.0.attn_q.weight"].tensor_type.name == kind.upper()
    graph = subprocess.run([HONE, "ir", tmp_path / "p.gguf"], check=True, capture_output=True, text=True).stdout
    assert graph.count(f"codec = {kind}") >= 7 * s.layers  # experts' products, too
    values = {k: gguf.quants.dequantize(t.data, t.tensor_type).astype(np.float32) for k, t in packed.items()}
    values = {k: v.reshape(w[k].shape) for k, v in stacked(s, values).items()}
    language.write(str(tmp_path / "f.gguf"), s, values)
    tokens = [int(i) for i in r.integers(0, 200, 40)]
    want = logits(tmp_path / "f.gguf", tokens, exact=True, parity=False)
    most = np.abs(want).max()
    assert np.abs(logits(tmp_path / "p.gguf", tokens, exact=True) - want).max() <= 1e-5 * most
    got = logits(tmp_path / "p.gguf", tokens, parity=False)
    near = 0.3 if s.experts else 0.03  # rounding may choose another expert
    assert 0 < np.abs(got - want).max() and np.abs(got - want).mean() <= near * np.abs(want).mean()
    for one in (got[:7], got[:1]):  # the same bits whatever comes behind
        assert (logits(tmp_path / "p.gguf", tokens[: len(one)], parity=False) == one).all()
