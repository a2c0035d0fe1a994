"""One peer of bench/gpu.sh models: gpu_peers.py torch|torch.compile|'ONNX Runtime' MODEL ONNX BATCH SEQ SECONDS. Prints {"p50_s": ...}.

ONNX Runtime runs the file on CUDA where it can. torch runs networks of the same shapes with random weights in f32 (TF32 as torch has it by
default). Inputs lie in the host's memory and outputs come back to it, as hone's are timed."""

import json
import os
import statistics
import sys
import time


def timed(call, budget_s):
    for _ in range(3):
        call()
    took, end = [], time.perf_counter() + budget_s
    while time.perf_counter() < end or len(took) < 5:
        begin = time.perf_counter()
        call()
        took.append(time.perf_counter() - begin)
    return {"p50_s": statistics.median(took), "runs": len(took)}


def onnx_runtime(path, budget_s):
    import numpy as np
    import onnxruntime as ort

    providers = [p for p in ("CUDAExecutionProvider", "CPUExecutionProvider") if p in ort.get_available_providers()]
    session = ort.InferenceSession(path, providers=providers)
    rng = np.random.default_rng(1)
    feeds = {i.name: rng.integers(0, 2 if "mask" in i.name or "type" in i.name else 100, i.shape).astype(np.int64) if "int64" in i.type else
             rng.random(i.shape, np.float32) for i in session.get_inputs()}
    return {**timed(lambda: session.run(None, feeds), budget_s), "on": session.get_providers()[0]}


def torch_model(model):
    import torch
    from torch import nn
    from torch.nn import functional as F

    class Layer(nn.Module):
        def __init__(self, h, heads, inner, before, act):
            super().__init__()
            self.q, self.k, self.v, self.o = (nn.Linear(h, h) for _ in range(4))
            self.up, self.down, self.a, self.b = nn.Linear(h, inner), nn.Linear(inner, h), nn.LayerNorm(h), nn.LayerNorm(h)
            self.heads, self.before, self.act = heads, before, act

        def attend(self, x, mask):
            q, k, v = (f(x).unflatten(2, (self.heads, -1)).transpose(1, 2) for f in (self.q, self.k, self.v))
            return self.o(F.scaled_dot_product_attention(q, k, v, attn_mask=mask).transpose(1, 2).flatten(2))

        def feed(self, x):
            return self.down(F.gelu(self.up(x), approximate=self.act))

        def forward(self, x, mask):
            if self.before:
                x = x + self.attend(self.a(x), mask)
                return x + self.feed(self.b(x))
            x = self.a(x + self.attend(x, mask))
            return self.b(x + self.feed(x))

    class Transformer(nn.Module):
        def __init__(self, layers, h, heads, inner, words, decoder):
            super().__init__()
            self.words, self.places, self.norm, self.decoder = nn.Embedding(words, h), nn.Embedding(1024, h), nn.LayerNorm(h), decoder
            self.layers = nn.ModuleList(Layer(h, heads, inner, decoder, "tanh" if decoder else "none") for _ in range(layers))

        def forward(self, ids, mask):
            x = self.words(ids) + self.places(torch.arange(ids.shape[1], device=ids.device))
            x = x if self.decoder else self.norm(x)
            for layer in self.layers:
                x = layer(x, mask)
            return self.norm(x) @ self.words.weight.T if self.decoder else x

    def conv(i, o, k, s=1, groups=1, act=None):
        return nn.Sequential(nn.Conv2d(i, o, k, s, k // 2, groups=groups, bias=False), nn.BatchNorm2d(o), *([act()] if act else []))

    class Sum(nn.Module):
        def __init__(self, body, way=None, act=None):
            super().__init__()
            self.body, self.way, self.act = body, way or nn.Identity(), act or nn.Identity()

        def forward(self, x):
            return self.act(self.body(x) + self.way(x))

    def head(parts, c):
        return nn.Sequential(*parts, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(c, 1000))

    def resnet50():
        parts, c = [conv(3, 64, 7, 2, act=nn.ReLU), nn.MaxPool2d(3, 2, 1)], 64
        for mid, blocks, first in ((64, 3, 1), (128, 4, 2), (256, 6, 2), (512, 3, 2)):
            for i in range(blocks):
                s = 1 if i else first
                body = nn.Sequential(conv(c, mid, 1, act=nn.ReLU), conv(mid, mid, 3, s, act=nn.ReLU), conv(mid, 4 * mid, 1))
                parts.append(Sum(body, None if i else conv(c, 4 * mid, 1, s), nn.ReLU()))
                c = 4 * mid
        return head(parts, c)

    def mobilenet_v2():
        parts, c = [conv(3, 32, 3, 2, act=nn.ReLU6)], 32
        for wider, out, blocks, first in ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1)):
            for i in range(blocks):
                s, wide = 1 if i else first, c * wider
                body = nn.Sequential(*([conv(c, wide, 1, act=nn.ReLU6)] if wider > 1 else []), conv(wide, wide, 3, s, wide, nn.ReLU6), conv(wide, out, 1))
                parts.append(Sum(body) if s == 1 and c == out else body)
                c = out
        return head([*parts, conv(c, 1280, 1, act=nn.ReLU6)], 1280)

    return {"mlp": lambda: nn.Sequential(nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 256), nn.ReLU(), nn.Linear(256, 10), nn.Softmax(-1)),
            "minilm_l6": lambda: Transformer(6, 384, 12, 1536, 30522, False), "bert_base": lambda: Transformer(12, 768, 12, 3072, 30522, False),
            "gpt2": lambda: Transformer(12, 768, 12, 3072, 50257, True), "resnet50": resnet50, "mobilenet_v2": mobilenet_v2}[model]()


def with_torch(model, batch, seq, budget_s, compiled):
    import torch

    device = "cuda" if torch.cuda.is_available() else "cpu"
    net = torch_model(model).eval().to(device)
    if compiled:
        net = torch.compile(net)
    if model in ("minilm_l6", "bert_base", "gpt2"):
        mask = torch.zeros(batch, 1, 1, seq) if model != "gpt2" else torch.full((seq, seq), float("-inf")).triu(1).expand(batch, 1, seq, seq)
        given = (torch.randint(0, 1000, (batch, seq)), mask.contiguous())
    else:
        given = (torch.rand(batch, 784) if model == "mlp" else torch.rand(batch, 3, 224, 224),)
    with torch.inference_mode():
        return {**timed(lambda: net(*(x.to(device) for x in given)).cpu(), budget_s), "on": device}


def run():
    peer, model, path, batch, seq, budget_s = sys.argv[1:]
    found = onnx_runtime(os.path.abspath(path), float(budget_s)) if peer == "ONNX Runtime" else \
        with_torch(model, int(batch), int(seq), float(budget_s), peer == "torch.compile")
    return found


def main():
    """One line of JSON at the end, a failure as well; whatever a library prints stands in front."""
    try:
        found = run()
    except Exception as error:  # pylint: disable=broad-exception-caught; of someone else's library, anything
        found = {"error": f"{type(error).__name__}: {error}".splitlines()[0][:300]}
    print(json.dumps(found), flush=True)


main()
