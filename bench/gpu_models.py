"""What bench/gpu.sh models does: networks of `hone gen` on a device, held against the interpreter or ONNX Runtime, and timed beside torch
and ONNX Runtime where these can be imported. Only Python's own library is needed; each peer runs in a process of its own."""

import argparse
import importlib.util
import json
import os
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
NO_DEVICE = 3
TEXT = ("minilm_l6", "bert_base", "gpt2")
PEERS = {"torch": "torch", "torch.compile": "torch", "ONNX Runtime": "onnxruntime"}  # and what each imports


def seconds(text):
    return float(text[:-1]) * {"s": 1, "m": 60, "h": 3600}[text[-1]] if text[-1] in "smh" else float(text)


class Bench:
    def __init__(self, args):
        self.args, self.begin = args, time.monotonic()
        self.hone = os.path.abspath(args.hone)
        os.makedirs(args.out, exist_ok=True)

    def left_s(self):
        return seconds(self.args.time) - (time.monotonic() - self.begin)

    def say(self, text):
        print(f"[{time.monotonic() - self.begin:5.0f} s] {text}", file=sys.stderr, flush=True)

    def run(self, *command, parse=True):
        """Its JSON, or {"failed": why}."""
        if self.left_s() < 5:
            return {"failed": "no time left"}
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=self.left_s(), check=False)
        except subprocess.TimeoutExpired:
            return {"failed": "no time left"}
        if parse and done.stdout.lstrip().startswith("{"):
            found = json.loads(done.stdout)
            return {"failed": found["error"]["text"]} if "error" in found else found
        if not parse and done.returncode == 0:
            return {}
        return {"failed": (done.stderr.strip().splitlines() or [f"ended with {done.returncode}"])[-1][:160]}

    def kept(self, name, make):
        """A part's result: from its file, else made; what failed is not kept."""
        path = os.path.join(self.args.out, name + ".json")
        if os.path.exists(path):
            with open(path, encoding="utf-8") as f:
                return json.load(f)
        self.say(name)
        found = make()
        if "failed" in found:
            self.say(f"{name}: {found['failed']}")
        else:
            with open(path, "w", encoding="utf-8") as f:
                json.dump(found, f)
        return found


def place_of(bench):
    """(place, its name): what PLACE says, else CUDA's first device, else OpenCL's first."""
    found = bench.run(bench.hone, "devices", "--json")
    listed = found.get("devices", [])
    for wanted in [bench.args.place] if bench.args.place else ["cuda", "opencl"]:
        for d in listed:
            if d["place"] == wanted or d["place"].split(":")[0] == wanted:
                return d["place"], d["name"]
    print(f"no device: {found.get('failed') or found.get('missing') or 'none was found'}", file=sys.stderr)
    sys.exit(NO_DEVICE)


def onnx_of(bench, model, batch):
    path = os.path.join(bench.args.out, f"{model}-{batch}.onnx")
    if not os.path.exists(path):
        text = ["--seq", str(bench.args.seq)] if model in TEXT else []
        failed = bench.run(bench.hone, "gen", model, path, "--batch", str(batch), *text, parse=False)
        if failed:
            return None, failed
    return path, {}


def row(bench, place, model, batch):
    path, failed = onnx_of(bench, model, batch)
    if not path:
        return {"verify": failed, "hone": failed}
    name = f"{model}-{batch}-{place.replace(':', '-')}"
    against = ["--against", "onnxruntime"] if importlib.util.find_spec("onnxruntime") else []
    os.environ.setdefault("HONE_PYTHON", sys.executable)
    judged = path if against else onnx_of(bench, model, 1)[0] or path  # the interpreter takes minutes for a batch of 32
    out = {"verify": bench.kept(name + "-verify", lambda: bench.run(bench.hone, "verify", judged, "--place", place, "--inputs", "1", *against, "--json"))}
    measure = f"{bench.args.measure:g}s"
    out["hone"] = bench.kept(name + "-hone", lambda: bench.run(bench.hone, "bench", path, "--place", place, "--time", measure, "--json"))
    out["host"] = bench.kept(name + "-host", lambda: bench.run(bench.hone, "bench", path, "--time", measure, "--json")) if bench.args.cpu else {}
    if bench.args.cpu:  # every kernel as one work item an element, node by node
        out["naive"] = bench.kept(name + "-naive", lambda: bench.run(bench.hone, "bench", path, "--place", place, "--reference", "--time", measure, "--json"))
    for peer, module in PEERS.items():
        if importlib.util.find_spec(module):
            words = [sys.executable, os.path.join(HERE, "gpu_peers.py"), peer, model, path, str(batch), str(bench.args.seq), str(bench.args.measure)]
            out[peer] = bench.kept(f"{name}-{peer.replace(' ', '_')}", lambda words=words: bench.run(*words))
    return out


def right(found):
    if "failed" in found:
        return "no: " + found["failed"]
    worst = max((o["max_abs"] for o in found["outputs"]), default=0)
    return f"{'yes' if found['same'] else 'NO'} ({worst:.1e})"


def ms(found):
    if not found or "failed" in found:
        return found.get("failed", "-") if found else "-"
    r = found["results"][0] if "results" in found else found
    return f"{r['p50_s'] * 1e3:.3g}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--hone", required=True)
    parser.add_argument("--out", required=True)
    parser.add_argument("--time", default="15m")
    parser.add_argument("--models", default="mlp:32 minilm_l6:32 bert_base:32 gpt2:32 resnet50:32 resnet50:64 mobilenet_v2:32")
    parser.add_argument("--seq", type=int, default=128)
    parser.add_argument("--measure", type=float, default=3)
    parser.add_argument("--place", default="")
    parser.add_argument("--cpu", action="store_true")
    bench = Bench(parser.parse_args())
    place, device = place_of(bench)
    columns = ["hone", *(["hone on the CPU", "naive kernels"] if bench.args.cpu else []), *[p for p, m in PEERS.items() if importlib.util.find_spec(m)]]
    key = {"hone on the CPU": "host", "naive kernels": "naive"}
    print(f"Models on {device} ({place}); p50 of a run in ms, inputs from the host's memory and outputs back to it; text of {bench.args.seq} tokens.\n")
    print(f"| model | batch | right (worst error) | {' | '.join(columns)} |")
    print("|---|---|---|" + "---|" * len(columns), flush=True)
    bad = False
    for word in bench.args.models.split():
        model, _, batch = word.partition(":")
        found = row(bench, place, model, int(batch or 32))
        bad |= not found["verify"].get("same") or "failed" in found["hone"]
        cells = [ms(found.get(key.get(c, c))) for c in columns]
        print(f"| {model} | {batch or 32} | {right(found['verify'])} | {' | '.join(cells)} |", flush=True)
    for peer, module in PEERS.items():
        if not importlib.util.find_spec(module):
            print(f"\n{peer}: {module} cannot be imported by {sys.executable}", file=sys.stderr)
    return bad


if __name__ == "__main__":
    sys.exit(main())
