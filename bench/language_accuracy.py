#!/usr/bin/env python3
"""How far a language model's logits are from a float evaluation of the same dequantised weights.

    bench/language_accuracy.py MODEL.gguf [--tokens 2048] [--text FILE] [--llama PYTHON] [--activations float,default,auto,int8,int8x2]

MODEL: of the Llama family (SmolLM2). The reference is NumPy in f32 on the weights that the package `gguf` dequantises. Prints, for
each kind of activations: the largest difference of a logit, the mean Kullback-Leibler divergence, how often the likeliest
token is the same, the perplexity. --llama: a Python with llama-cpp-python, whose perplexity on the same tokens is printed, too.
The text is the GPL as Debian has it, unless another is named. Needs numpy, gguf and hone's package.
"""
import argparse
import json
import subprocess
import sys

import numpy as np

PEER = """
import json, sys
import numpy as np
from llama_cpp import Llama
tokens = json.load(sys.stdin)
m = Llama(sys.argv[1], n_ctx=len(tokens), n_batch=512, logits_all=True, verbose=False)
m.eval(tokens)
x = np.array(m.scores[: len(tokens)], dtype=np.float64)
x -= x.max(axis=1, keepdims=True)
p = x - np.log(np.exp(x).sum(axis=1, keepdims=True))
print(float(np.exp(-np.mean([p[i, t] for i, t in enumerate(tokens[1:])]))))
"""


def reference(path, tokens):
    """Logits of a Llama model, f32 [tokens, vocabulary]."""
    import gguf

    r = gguf.GGUFReader(path)
    fields = {k: f.contents() for k, f in r.fields.items() if k.startswith("llama.")}
    w = {t.name: gguf.quants.dequantize(t.data, t.tensor_type).astype(np.float32) for t in r.tensors}
    layers, heads, kv = (fields["llama." + k] for k in ("block_count", "attention.head_count", "attention.head_count_kv"))
    eps, base = fields["llama.attention.layer_norm_rms_epsilon"], fields.get("llama.rope.freq_base", 10000.0)
    x = w["token_embd.weight"][tokens]
    n, width = x.shape
    size = width // heads
    angle = np.arange(n)[:, None] * base ** (-2.0 * np.arange(size // 2) / size)
    c, s = np.cos(angle).astype(np.float32), np.sin(angle).astype(np.float32)
    hidden = np.triu(np.full((n, n), -np.inf, np.float32), 1)

    def norm(x, name):
        return x / np.sqrt((x.astype(np.float64) ** 2).mean(-1, keepdims=True) + eps).astype(np.float32) * w[name]

    def turn(x):  # neighbours are pairs
        a, b = x[..., 0::2], x[..., 1::2]
        out = np.empty_like(x)
        out[..., 0::2], out[..., 1::2] = a * c[:, None] - b * s[:, None], a * s[:, None] + b * c[:, None]
        return out

    for i in range(layers):
        p = f"blk.{i}."
        y = norm(x, p + "attn_norm.weight")
        q = turn((y @ w[p + "attn_q.weight"].T).reshape(n, heads, size))
        k = turn((y @ w[p + "attn_k.weight"].T).reshape(n, kv, size))
        v = (y @ w[p + "attn_v.weight"].T).reshape(n, kv, size)
        out = np.empty((n, heads, size), np.float32)
        for h in range(heads):
            a = q[:, h] @ k[:, h * kv // heads].T / np.float32(np.sqrt(size)) + hidden
            a = np.exp(a - a.max(-1, keepdims=True))
            out[:, h] = (a / a.sum(-1, keepdims=True)) @ v[:, h * kv // heads]
        x = x + out.reshape(n, width) @ w[p + "attn_output.weight"].T
        y = norm(x, p + "ffn_norm.weight")
        g = y @ w[p + "ffn_gate.weight"].T
        x = x + (g / (1 + np.exp(-g)) * (y @ w[p + "ffn_up.weight"].T)) @ w[p + "ffn_down.weight"].T
    return norm(x, "output_norm.weight") @ w.get("output.weight", w["token_embd.weight"]).T


def log_softmax(x):
    x = x.astype(np.float64)
    x -= x.max(-1, keepdims=True)
    return x - np.log(np.exp(x).sum(-1, keepdims=True))


def perplexity(logits, tokens):
    loss = [-log_softmax(logits[i])[t] for i, t in enumerate(tokens[1:])]
    return float(np.exp(np.mean(loss)))


def main():
    import hone

    a = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    a.add_argument("model")
    a.add_argument("--tokens", type=int, default=2048)
    a.add_argument("--text", default="/usr/share/common-licenses/GPL-3")
    a.add_argument("--activations", default="float,auto,int8,int8x2")
    a.add_argument("--llama", metavar="PYTHON")
    a.add_argument("--json", action="store_true")
    o = a.parse_args()
    with open(o.text, encoding="utf-8") as f:
        text = f.read()
    with hone.LanguageModel(o.model, tokenizer_only=True) as m:
        tokens = m.tokenize(text, frame=True)[: o.tokens]
    want = reference(o.model, tokens)
    rows = {"reference": {"perplexity": perplexity(want, tokens)}}
    for name in o.activations.split(","):
        with hone.LanguageModel(o.model, activations=None if name == "default" else name, context=len(tokens)) as m:
            got = m.logits(tokens)
        kl = 0.0
        for i in range(len(tokens)):
            p, q = log_softmax(want[i]), log_softmax(got[i])
            kl += float((np.exp(p) * (p - q)).sum())
        rows[name] = {"largest_difference": float(np.abs(got - want).max()), "mean_kl": kl / len(tokens),
                      "same_first_choice": float((got.argmax(-1) == want.argmax(-1)).mean()), "perplexity": perplexity(got, tokens)}
    if o.llama:
        run = subprocess.run([o.llama, "-c", PEER, o.model], input=json.dumps(tokens), capture_output=True, text=True)
        if run.returncode:
            sys.exit(f"{o.llama}: {run.stderr[-500:]}")
        rows["llama.cpp"] = {"perplexity": float(run.stdout)}
    if o.json:
        print(json.dumps({"tokens": len(tokens), **rows}))
        return
    for name, row in rows.items():
        print(f"{name:10}", ", ".join(f"{k} {v:.6g}" for k, v in row.items()))


if __name__ == "__main__":
    main()
