#!/usr/bin/env python3
"""Checks that the public headers are of one shape. usage: lint_api.py [ROOT]

1. A function of hone/X.h is called hone_<word>_…, with a word that PREFIXES gives this header; no other header has it.
2. `hone_X_options` begins with `size_t size`, and its header defines hone_X_defaults().
3. What options have in common has one name and one type: COMMON, as hone/base.h explains.
4. Times are in seconds: no name ends in _ms, _us or _ns. hone/model.h is the ABI of artifacts and has rules of its own.
"""
import os, re, sys

PREFIXES = {
    "array": "dtype array", "artifact": "artifact", "base": "rc", "check": "check", "compile": "compile",
    "controls": "controls key", "device": "device", "draft": "draft", "explain": "explanation", "far": "far", "front": "front", "import": "import",
    "inputs": "inputs", "ir": "graph", "latency": "latency", "load": "load", "machine": "machine noise", "mixed": "mixed", "npy": "npy", "onnx": "gen",
    "pack": "pack", "pass": "pass", "peer": "peer", "places": "place places", "process": "process temp", "profile": "profile",
    "precision": "precision", "program": "program", "prove": "prove proof proofs canary", "record": "store session trial trials",
    "quantize": "quantize", "race": "race", "reduce": "reduction", "report": "report", "rollout": "rollout rollouts",
    "search": "search outcome engine pareto recording replay", "space": "space point", "serve": "serve", "stat": "stat", "target": "target command family fp", "traffic": "traffic", "text": "text",
    "text_peer": "text_peer", "text_speed": "text_speed", "team": "team", "tune": "tune workload", "tune_model": "tune_model",
    "exactness": "exactness", "verify": "verify", "winners": "winner winners",
}
EXACT = {  # on what another header describes
    "base": {"hone_free", "hone_version"},
    "check": {"hone_controls_make", "hone_controls_nearest", "hone_controls_point"},
    "explain": {"hone_prove_explain"},
    "onnx": {"hone_import_operator_at", "hone_import_tensor"},
    "pass": {"hone_graph_optimise", "hone_graph_run_passes"},
    "reduce": {"hone_prove_minimize"},
}
COMMON = {"budget_s": "double", "n_jobs": "uint32_t", "device": "int32_t", "stop": "const volatile int *", "progress": "hone_progress"}
INSTEAD = {"max_s": "budget_s", "max_seconds": "budget_s", "timeout_s": "budget_s", "jobs": "n_jobs", "event": "progress",
           "on_event": "progress", "progress_arg": "progress"}
APART = {"model", "bench", "bench_gpu", "cuda_controls"}  # text that is copied into artifacts; the harness, a library of its own; macros of kernels

FUNCTION = re.compile(r'HONE_API[^;({]*?\b(hone_\w+)\s*\(')
OPTIONS = re.compile(r'typedef struct hone_(\w+)_options \{(.*?)\} hone_\1_options;', re.S)
FIELD = re.compile(r'([\w\s]+?[\s*]+)(\w+)(?:\[\w+\])?(?:\s*,|;)')


def headers(root):
    folder = os.path.join(root, "include", "hone")
    for name in sorted(os.listdir(folder)):
        if name.endswith(".h") and name[:-2] not in APART:
            with open(os.path.join(folder, name), encoding="utf-8") as f:
                text = re.sub(r'/\*.*?\*/', "", f.read(), flags=re.S)
            yield name[:-2], re.sub(r'^\s*#.*$', "", text, flags=re.M)


def function_faults(header, text):
    words = PREFIXES.get(header, "").split()
    if header not in PREFIXES:
        yield "no words for its functions in PREFIXES of tools/lint_api.py"
    for name in FUNCTION.findall(text):
        if name not in EXACT.get(header, ()) and not any(name.startswith(f"hone_{w}_") for w in words):
            yield f"{name} does not begin with hone_ and one of: {', '.join(words)}"


def option_faults(text):
    for name, body in OPTIONS.findall(text):
        if not re.match(r'\s*size_t size;', body):
            yield f"hone_{name}_options does not begin with 'size_t size'"
        if not re.search(rf'\bhone_{name}_options hone_{name}_defaults\(void\)', text):
            yield f"hone_{name}_options has no hone_{name}_defaults()"
        for kind, field in FIELD.findall(body):
            if field in INSTEAD:
                yield f"hone_{name}_options.{field} is called {INSTEAD[field]} everywhere"
            if field in COMMON and " ".join(kind.split()) != COMMON[field]:
                yield f"hone_{name}_options.{field} is {' '.join(kind.split())}, not {COMMON[field]}"


def faults(root):
    owner = {}
    for header, text in headers(root):
        found = [*function_faults(header, text), *option_faults(text)]
        found += [f"{name}: times are in seconds, with names in _s" for name in sorted(set(re.findall(r'\b\w+_(?:ms|us|ns)\b', text)))]
        for word in PREFIXES.get(header, "").split():
            if owner.setdefault(word, header) != header:
                found.append(f"functions hone_{word}_… are {owner[word]}.h's")
        yield from (f"include/hone/{header}.h: {f}" for f in found)


def main():
    found = list(faults(sys.argv[1] if len(sys.argv) > 1 else "."))
    for f in found:
        print(f)
    print(f"api: {len(found)} faults")
    return len(found) != 0


if __name__ == "__main__":
    sys.exit(main())
