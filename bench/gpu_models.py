"""What bench/gpu.sh models does: networks of `hone gen` on a device, held against the interpreter or ONNX Runtime, and timed beside torch
and ONNX Runtime where these can be imported. Only Python's own library is needed; each peer runs in a process of its own."""

import argparse
import importlib.util
import json
import os
import signal
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
NO_DEVICE = 3
TEXT = ("minilm_l6", "bert_base", "gpt2")
PEERS = {"torch": "torch", "torch.compile": "torch", "ONNX Runtime": "onnxruntime"}  # and what each imports
IMPORT_S = 120  # torch, from a cold disk


def seconds(text):
    return float(text[:-1]) * {"s": 1, "m": 60, "h": 3600}[text[-1]] if text[-1] in "smh" else float(text)


def json_in(text):
    """A text that is JSON, or whose last line is (libraries print what they like in front of it); None."""
    for part in (text, (text.strip().splitlines() or [""])[-1]):
        try:
            return json.loads(part)
        except ValueError:
            continue
    return None


class Bench:
    def __init__(self, args):
        self.args, self.begin = args, time.monotonic()
        self.hone = os.path.abspath(args.hone)
        os.makedirs(args.out, exist_ok=True)

    def left_s(self):
        return seconds(self.args.time) - (time.monotonic() - self.begin)

    def say(self, text):
        print(f"[{time.monotonic() - self.begin:5.0f} s] {text}", file=sys.stderr, flush=True)

    def run(self, *command, parse=True, limit_s=None):
        """Its JSON, the last line of it that is some, or {"failed": why}. At the end of its time the command goes with all its children."""
        wait_s = min(self.left_s(), limit_s or self.left_s())
        if wait_s < 5:
            return {"failed": "no time left"}
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace", start_new_session=True) as child:
            try:
                said, why = child.communicate(timeout=wait_s)
            except subprocess.TimeoutExpired:
                os.killpg(child.pid, signal.SIGKILL)
                child.communicate()
                return {"failed": "no time left" if self.left_s() < 1 else f"took more than {wait_s:.0f} s"}
            except BaseException:
                os.killpg(child.pid, signal.SIGKILL)
                raise
        found = json_in(said) if parse else {} if child.returncode == 0 else None
        if isinstance(found, dict):
            return {"failed": str(found["error"].get("text", found["error"]) if isinstance(found["error"], dict) else found["error"])} if "error" in found else found
        return {"failed": (why.strip().splitlines() or [f"ended with {child.returncode}"])[-1][:160]}

    def kept(self, name, make):
        """A part's result: from its file, else made; what failed is not kept."""
        path = os.path.join(self.args.out, name + ".json")
        if os.path.exists(path):
            with open(path, encoding="utf-8") as f:
                found = json_in(f.read())
            if isinstance(found, dict):
                return found
        self.say(name)
        found = make()
        if "failed" in found:
            self.say(f"{name}: {found['failed']}")
        else:
            with open(path + ".part", "w", encoding="utf-8") as f:
                json.dump(found, f)
            os.replace(path + ".part", path)
        return found

    def peers(self):
        """Which of them work here: {name: None, or why not}. What is there may still not import."""
        why = {}
        for module in dict.fromkeys(PEERS.values()):
            if not importlib.util.find_spec(module):
                why[module] = f"{sys.executable} has no {module}"
                continue
            found = self.run(sys.executable, "-c", f"import {module}, json; print(json.dumps({{'version': str({module}.__version__)}}))", limit_s=IMPORT_S)
            why[module] = f"{module} does not import: {found['failed']}" if "failed" in found else None
        return {peer: why[module] for peer, module in PEERS.items()}


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
        part = path[:-5] + ".part.onnx"
        failed = bench.run(bench.hone, "gen", model, part, "--batch", str(batch), *text, parse=False)
        if failed:
            return None, failed
        os.replace(part, path)
    return path, {}


def row(bench, place, model, batch):
    path, failed = onnx_of(bench, model, batch)
    if not path:
        return {"verify": failed, "hone": failed}
    name = f"{model}-{batch}-{place.replace(':', '-')}"
    against = [] if bench.without["ONNX Runtime"] else ["--against", "onnxruntime"]
    os.environ.setdefault("HONE_PYTHON", sys.executable)
    judged = path if against else onnx_of(bench, model, 1)[0] or path  # the interpreter takes minutes for a batch of 32
    out = {"verify": bench.kept(name + "-verify", lambda: bench.run(bench.hone, "verify", judged, "--place", place, "--inputs", "1", *against, "--json"))}
    measure = f"{bench.args.measure:g}s"
    out["hone"] = bench.kept(name + "-hone", lambda: bench.run(bench.hone, "bench", path, "--place", place, "--time", measure, "--json"))
    out["host"] = bench.kept(name + "-host", lambda: bench.run(bench.hone, "bench", path, "--time", measure, "--json")) if bench.args.cpu else {}
    if bench.args.cpu:  # every kernel as one work item an element, node by node
        out["naive"] = bench.kept(name + "-naive", lambda: bench.run(bench.hone, "bench", path, "--place", place, "--reference", "--time", measure, "--json"))
    for peer in PEERS:
        if not bench.without[peer]:
            words = [sys.executable, os.path.join(HERE, "gpu_peers.py"), peer, model, path, str(batch), str(bench.args.seq), str(bench.args.measure)]
            out[peer] = bench.kept(f"{name}-{peer.replace(' ', '_')}", lambda words=words: bench.run(*words))
    return out


def in_cell(text):
    return text.replace("|", "/").replace("\n", " ")


def right(found):
    if "failed" in found:
        return "no: " + in_cell(found["failed"])
    worst = max((o.get("max_abs") or 0 for o in found.get("outputs", [])), default=0)
    return f"{'yes' if found.get('same') else 'NO'} ({worst:.1e})"


def p50_s(found):
    """Of a result of hone's or a peer's; None."""
    if not found or "failed" in found:
        return None
    r = (found.get("results") or [{}])[0] if "results" in found else found
    return r.get("p50_s")


def ms(found):
    s = p50_s(found)
    return f"{s * 1e3:.3g}" if s is not None else in_cell(found["failed"]) if found and "failed" in found else "-"


def tried(bench, place, word):
    """A row, whatever goes wrong on the way."""
    model, _, batch = word.partition(":")
    try:
        return model, int(batch or 32), row(bench, place, model, int(batch or 32))
    except (OSError, ValueError, KeyError, TypeError, IndexError) as error:
        failed = {"failed": f"{type(error).__name__}: {error}"}
        bench.say(f"{word}: {failed['failed']}")
        return model, batch or 32, {"verify": failed, "hone": failed}


def as_data(found, keys):
    """One row of --json: seconds, or why there are none."""
    verify = found["verify"]
    out = {"right": bool(verify.get("same")), "max_abs": max((o.get("max_abs") or 0 for o in verify.get("outputs", [])), default=None),
           "why": verify.get("failed")}
    for name, key in keys.items():
        one = found.get(key) or {}
        out[name] = {"p50_s": p50_s(one), "failed": one.get("failed"), "on": one.get("on")}
    return out


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
    parser.add_argument("--json", action="store_true")
    bench = Bench(parser.parse_args())
    place, device = place_of(bench)
    bench.without = bench.peers()
    there = [p for p, why in bench.without.items() if not why]
    columns = ["hone", *(["hone on the CPU", "naive kernels"] if bench.args.cpu else []), *there]
    key = {"hone on the CPU": "host", "naive kernels": "naive"}
    rows, bad = [], False
    if not bench.args.json:
        print(f"Models on {device} ({place}); p50 of a run in ms, inputs from the host's memory and outputs back to it; text of {bench.args.seq} tokens.\n")
        print(f"| model | batch | right (worst error) | {' | '.join(columns)} |")
        print("|---|---|---|" + "---|" * len(columns), flush=True)
    for word in bench.args.models.split():
        model, batch, found = tried(bench, place, word)
        bad |= not found["verify"].get("same") or p50_s(found["hone"]) is None
        rows.append({"model": model, "batch": batch, **as_data(found, {c: key.get(c, c) for c in columns})})
        if not bench.args.json:
            print(f"| {model} | {batch} | {right(found['verify'])} | {' | '.join(ms(found.get(key.get(c, c))) for c in columns)} |", flush=True)
    for peer, why in bench.without.items():
        if why:
            print(f"{peer}: left out, {why}", file=sys.stderr)
    if bench.args.json:
        json.dump({"device": device, "place": place, "seq": bench.args.seq, "rows": rows, "left_out": {p: w for p, w in bench.without.items() if w},
                   "time_s": time.monotonic() - bench.begin}, sys.stdout, indent=1)
        print()
    return bad


if __name__ == "__main__":
    sys.exit(main())
