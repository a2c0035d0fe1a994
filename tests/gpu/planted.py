"""Faults planted at random places of CUDA kernels by changes of their texts, and what finds each: the shim, or the values of the outputs.

usage: planted.py [FAULT|all] [N] [SEED]: N faults of a kind, and a table. Kernels: examples/gpu, bench/gpu/kernels, tests/gpu/kernels."""

import concurrent.futures
import os
import random
import re
import sys

import cuda_tools as tools

# kernel: (source, description, sizes: name -> range)
KERNELS = {
    "softmax": ("examples/gpu/softmax/softmax.cu", None, {"rows": (1, 3), "cols": (130, 600)}),
    "gemm": ("examples/gpu/gemm/gemm.cu", None, {"m": (33, 63), "n": (65, 100), "k": (34, 46)}),
    "attention": ("examples/gpu/attention/attention.cu", None, {"heads": (1, 2), "n_q": (17, 30), "n_k": (65, 90), "causal": (0, 0)}),
    "reduction": ("examples/gpu/reduction/reduction.cu", None, {"n": (3000, 6000), "BLOCKS": (2, 4)}),
    "scan": ("bench/gpu/kernels/scan.cu", "buffer x in f32 rows*cols\nbuffer y out f32 rows*cols\nlaunch scan\ngrid rows\nblock 128\npass x y cols:i32\n",
             {"rows": (1, 3), "cols": (1100, 1500)}),
    "histogram": ("bench/gpu/kernels/histogram.cu", "buffer words in u32 n/4\nbuffer bytes in u8 n\nbuffer bins inout u32 256 constant 0 anyway\n"
                  "launch histogram\ngrid 2\nblock 256\npass words bytes bins n:i32\n", {"n": (3001, 9000)}),
    "transpose": ("bench/gpu/kernels/transpose.cu", "buffer x in f32 rows*cols\nbuffer y out f32 rows*cols\nlaunch transpose\n"
                  "grid cdiv(cols,32) cdiv(rows,32)\nblock 32 8\npass x y rows:i32 cols:i32\n", {"rows": (40, 70), "cols": (40, 70)}),
    "layernorm": ("bench/gpu/kernels/layernorm.cu", "buffer x in f32 rows*cols\nbuffer gain in f32 cols\nbuffer bias in f32 cols\n"
                  "buffer y out f32 rows*cols\nlaunch layernorm\ngrid rows\nblock 128\npass x gain bias y cols:i32 0.00001:f32\n",
                  {"rows": (1, 3), "cols": (150, 500)}),
    "fft": ("bench/gpu/kernels/fft.cu", "buffer x in f32 batch*512\nbuffer y out f32 batch*512\nlaunch fft\ngrid cdiv(batch,2)\nblock 64 2\n"
            "pass x y batch:i32\n", {"batch": (3, 5)}),
    "product": ("tests/gpu/kernels/product.cu", None, {"m": (33, 63), "n": (9, 11), "k": (17, 19)}),
    "columns": ("tests/gpu/kernels/columns.cu", None, {"blocks": (1, 3)}),
    "turn": ("tests/gpu/kernels/turn.cu", None, {"rows": (40, 70), "cols": (40, 70)}),
}  # fmt: skip
EIGHTS = {"product": ("n", "k")}  # sizes that are multiples of eight


def each(pattern, text):
    return list(re.finditer(pattern, text))


def instead(text, found, new, group=0):
    return text[:found.start(group)] + new + text[found.end(group):]


def constants(rng, name, text):
    """Sizes that are written in the source vary, too."""
    if name == "columns":
        step, stages = rng.choice((4, 8)), rng.choice((2, 3, 4))
        text = text.replace("ROWS = 56, STEP = 8, STAGES = 3", f"ROWS = 56, STEP = {step}, STAGES = {stages}")
    if name == "product":
        text = text.replace("STAGES = 3", f"STAGES = {rng.choice((2, 3, 4))}")
    return text


# --- the faults: (kernels, text, description of the launch) to (text, description) or None

def missing_barrier(rng, text, description):
    found = rng.choice(each(r"__syncthreads\(\);", text))
    return instead(text, found, ";"), description


def divergent_barrier(rng, text, description):
    found = rng.choice(each(r"__syncthreads\(\);", text))
    t = rng.randrange(1, 31)
    ways = [f"if (threadIdx.x < {t}) __syncthreads();", f"if (threadIdx.x != {t}) __syncthreads();", "if (threadIdx.x & 1) __syncthreads();",
            f"if (threadIdx.x == {t})\n__syncthreads();\nelse\n__syncthreads();"]  # fmt: skip
    if text.rfind("__global__", 0, found.start()) >= 0:  # a function that returns nothing
        ways.append(f"if (threadIdx.x == {t}) return; __syncthreads();")
    how = rng.choice(ways)
    return instead(text, found, how), description


SHARED = r"\b(?:keys|values|at|bt|most|sum|part|ends|tile|data|own_data)((?:\[[^][]*(?:\[[^][]*\][^][]*)*\])+)"


def tile_off_by_one(rng, text, description):
    """An index of a shared array, a bound of the loop that fills or reads a tile, or the step from tile to tile."""
    body = text.index("__shared__")
    places = []
    for m in each(SHARED, text):
        if m.start() > text.index(";", body):
            inner = list(re.finditer(r"\[([^][]+)\]", m[0]))
            last = rng.choice(inner)
            if not re.fullmatch(r"\d+|[A-Z_ /*+0-9]+", last[1]):
                places.append((m.start() + last.start(1), m.start() + last.end(1), f"{last[1]} {rng.choice('+-')} 1"))
    for m in each(r"\b(?:e|l|j|w) < ((?:[A-Z]{2,}|\d+)(?: [*/] (?:[A-Z]{2,}|\d+))*)(?=;)", text):
        places.append((m.start(1), m.end(1), f"{m[1]} {rng.choice('+-')} 1"))
    for m in each(r"first \+= ([A-Z]{2,}(?: \* [A-Z]{2,})?)", text):
        places.append((m.start(1), m.end(1), f"({m[1]} {rng.choice('+-')} 1)"))
    if not places:
        return None
    start, end, new = rng.choice(places)
    return text[:start] + new + text[end:], description


def swizzle_wrong(rng, text, description):
    if "tile[i][t ^ i]" in text:
        at, other = rng.choice((("t ^ i]", ("t]", "(t ^ (i + 1)) % 32]", "t ^ (i & 15)]", "t ^ (i >> 1)]", "t ^ (i & ~1)]")),
                                ("i ^ t]", ("i]", "(i ^ (t + 1)) % 32]", "i ^ (t & 15)]", "i ^ (t >> 1)]", "i ^ (t & ~1)]"))))  # fmt: skip
        return text.replace(at, rng.choice(other), 1), description
    found = rng.choice([m for m in each(r"chunk_([ab])\(((?:[^(),]|\([^()]*\))+), ((?:[^(),]|\([^()]*\))+)\)", text) if not m[2].startswith("int")])
    wrong = {"a": ("0", "R & 3", "(R >> 2) & 3", "((R >> 1) + 1) & 3", "(R >> 1) & 1", "(R >> 1) & 2"),
             "b": ("0", "(R >> 1) & 7", "R & 3", "(R + 1) & 7", "R & 6", "~R & 7")}[found[1]]  # fmt: skip
    width = "BK" if found[1] == "a" else "BN"
    how = rng.choice(wrong).replace("R", f"({found[2]})")
    return instead(text, found, f"(({found[2]}) * {width} + 8 * (({found[3]}) ^ ({how})))"), description


def stage_reused(rng, text, description):
    if "hnr_mbar" in text:
        ways = (lambda s: re.sub(r"hnr_mbar_wait\(&empty[^;]*;", ";", s),
                lambda s: s.replace("hnr_mbar_init(&empty[s], WIDTH)", f"hnr_mbar_init(&empty[s], {rng.choice((1, 32, 63))})"),
                lambda s: re.sub(r"( *for \(int r = 0[^;]*;[^;]*;[^;]*;)\n( *hnr_mbar_arrive\(&empty\[s\]\);)", r"\2\n\1", s),
                lambda s: s.replace("hnr_bulk_copy(tile[s]", f"hnr_bulk_copy(tile[(s + {rng.choice((1, 'STAGES - 1'))}) % STAGES]"))  # fmt: skip
    else:
        one, two = rng.choice((("at", "bt"), ("bt", "at")))
        ways = (lambda s: s.replace("hnr_cp_wait<STAGES - 2>", f"hnr_cp_wait<STAGES {rng.choice(('- 1', '', '+ 1'))}>"),
                lambda s: s.replace("at[next % STAGES], bt[next % STAGES]", "at[next % STAGES], bt[next % STAGES]".replace(f"{one}[next", f"{one}[(next + 1)")),
                lambda s: s.replace("        hnr_cp_wait<STAGES - 2>();\n        __syncthreads();\n", "        hnr_cp_wait<STAGES - 2>();\n"),
                lambda s: s.replace("next = s + STAGES - 1", "next = s + STAGES"),
                # with two stages the wait covers the copy that is too early: no fault
                lambda s: s.replace("s < STAGES - 1; s++", "s < STAGES; s++") if "STAGES = 2" not in s else s.replace("next = s + STAGES - 1", "next = s + STAGES"),
                lambda s: s.replace(f"*{'as = at' if two == 'at' else 'bs = bt'}[s % STAGES]", f"*{'as = at' if two == 'at' else 'bs = bt'}[(s + 1) % STAGES]")
                if two == "at" else s.replace("*bs = bt[s % STAGES]", "*bs = bt[(s + 1) % STAGES]").replace("bs = bt[s % STAGES]", "bs = bt[(s + 1) % STAGES]"),
                lambda s: s.replace("as = at[s % STAGES]", "as = at[(s + STAGES - 1) % STAGES]"))  # fmt: skip
    return rng.choice(ways)(text), description


def phase_bit(rng, text, description):
    if rng.random() < 0.5:
        new = rng.choice(("1", "0", "k / STAGES & 1", "(k & 1) ^ 1", "(k / (STAGES + 1) & 1) ^ 1", "((k + 1) / STAGES & 1) ^ 1"))
        return text.replace("(k / STAGES & 1) ^ 1", new), description
    new = rng.choice(("0", "1", "(k / STAGES & 1) ^ 1", "k & 1", "k / (STAGES + 1) & 1", "(k + 1) / STAGES & 1"))
    return text.replace("&full[s], k / STAGES & 1", f"&full[s], {new}"), description


def past_the_end(rng, text, description):
    """A guard that lets too much through, an index too large, or a buffer that is too small for what the launch says."""
    places = [(m.start(1), m.end(1), f"{m[1]} + {rng.choice((1, 2, 7))}", True)
              for m in each(r"(?:i|first \+ j|first \+ i|at \+ k|row \+ i|col \+ j|\+ t|first \+ e / DEPTH|first \+ 8 \* c|col \+ 8 \* c) < "
                            r"\b(n|m|k|cols|rows|n_q|n_k|n / 4)\b(?=[ ;)&?])(?![^;]*THREADS)", text)]  # fmt: skip
    places += [(m.start(1), m.end(1), f"{m[1]} + {rng.choice((64, 1000))}", True) for m in each(r"HONE_LOAD\([A-Z0-9]+, &\w+\[([^][]+)\]\)", text)]
    places += [(m.start(1), m.end(1), f"{m[1]}-{1 if m[1] == 'BLOCKS' else rng.choice((1, 2, 5))}", False) for m in each(r"buffer \w+ (?:in|out|inout) \w+ ([\w*/+()]+)", description)
               if not m[1].isdigit()]  # fmt: skip
    start, end, new, of_text = rng.choice(places)
    if of_text:
        return text[:start] + new + text[end:], description
    return text, description[:start] + new + description[end:]


BARRIERS = ("softmax", "gemm", "attention", "reduction", "scan", "histogram", "transpose", "layernorm", "fft", "product", "columns", "turn")
FAULTS = {
    "missing_barrier": (missing_barrier, BARRIERS),
    "tile_off_by_one": (tile_off_by_one, ("gemm", "attention", "scan", "transpose", "fft", "softmax", "layernorm", "turn", "reduction")),
    "swizzle_wrong": (swizzle_wrong, ("product", "turn")),
    "stage_reused": (stage_reused, ("product", "columns")),
    "phase_bit": (phase_bit, ("columns",)),
    "divergent_barrier": (divergent_barrier, BARRIERS),
    "past_the_end": (past_the_end, ("softmax", "gemm", "attention", "reduction", "scan", "histogram", "transpose", "layernorm", "turn", "product")),
}  # fmt: skip


def run_module(module, description, sizes, data, order):
    env = dict(os.environ, HONE_GPU_DEVICE="shim", HONE_SHIM_ORDER=order, HONE_SHIM_STEPS="200000000")
    command = [f"{tools.BUILD}/hone-gpu-bench", description, module, *(f"{k}={v}" for k, v in sizes.items()), "--hone-once", "--hone-quiet", f"--hone-data={data}"]
    if os.path.exists(data):
        os.unlink(data)
    done = tools.run(command, env=env, timeout=60)
    fault = re.search(r"hone-shim:fault\t(\w+)", done.stdout)
    if fault:
        return f"shim: {fault[1]}", done.stdout
    if done.returncode:
        fault = re.search(r"hone/bench: (memory_fault|device_fault|run_crash): ", done.stderr)
        return (f"harness: {fault[1]}", "") if fault else (None, done.stderr)
    with open(data, "rb") as f:
        return None, f.read()


def compiled(where, stem, text, beside):
    source, module = f"{where}/{stem}.cu", f"{where}/{stem}.so"
    with open(source, "w", encoding="utf-8") as f:
        f.write(text)
    done = tools.run([f"{tools.BUILD}/shim/hone-shim-cc", source, "-o", module, f"-I{beside}"])
    return module if not done.returncode else None, done.stderr


def described(where, stem, text):
    with open(f"{where}/{stem}.kernel", "w", encoding="utf-8") as f:
        f.write(text)
    return f"{where}/{stem}.kernel"


def plant(fault, seed, where):
    """One fault: (kernel, what found it or None, what was changed)."""
    rng = random.Random(f"{fault}-{seed}")
    planter, names = FAULTS[fault]
    name = rng.choice(names)
    path, description, ranges = KERNELS[name]
    with open(f"{tools.ROOT}/{path}", encoding="utf-8") as f:
        text = constants(rng, name, f.read())
    sizes = {k: rng.randint(*r) * (8 if k in EIGHTS.get(name, ()) else 1) for k, r in ranges.items()}
    if description is None:
        with open(f"{tools.ROOT}/{path[:-3]}.kernel", encoding="utf-8") as f:
            description = f.read()
    else:
        description = "".join(f"parameter {k} 1\n" for k in sizes) + description
    bad, bad_description = planter(rng, text, description)
    stem, beside = f"{fault}-{seed}", os.path.dirname(f"{tools.ROOT}/{path}")
    changed = "; ".join(f"{a.strip()[:90]} -> {b.strip()[:90]}" for a, b in zip((text + description).splitlines(), (bad + bad_description).splitlines()) if a != b)
    if (bad, bad_description) == (text, description):
        return name, "nothing was planted", changed
    good, said = compiled(where, f"{stem}-good", text, beside)
    module, said_bad = compiled(where, stem, bad, beside)
    if not good or not module:
        return name, None, f"does not compile: {said} {said_bad}"
    right, wanted = run_module(good, described(where, f"{stem}-good", description), sizes, f"{where}/{stem}-good.data", "forwards")
    if right:
        return name, None, f"the kernel as it stands has a fault: {wanted} {sizes}"
    for order in ("forwards", "backwards", "1", "2"):
        by, got = run_module(module, described(where, stem, bad_description), sizes, f"{where}/{stem}.data", order)
        if by:
            return name, by, changed
        if order == "forwards" and got != wanted:
            return name, "values", changed
    return name, None, f"{changed} {sizes}"


def all_of(fault, n, seed=0):
    """Plants n faults: a list of (seed, kernel, found by, what was changed)."""
    with tools.folder() as where, concurrent.futures.ThreadPoolExecutor(2) as pool:
        jobs = [(k, pool.submit(plant, fault, k, where)) for k in range(seed, seed + n)]
        return [(k, *job.result()) for k, job in jobs]


def main():
    kinds = list(FAULTS) if len(sys.argv) < 2 or sys.argv[1] == "all" else [sys.argv[1]]
    n = int(sys.argv[2]) if len(sys.argv) > 2 else 2
    for kind in kinds:
        rows = all_of(kind, n, int(sys.argv[3]) if len(sys.argv) > 3 else 0)
        by = {}
        for k, name, found, changed in rows:
            by[found] = by.get(found, 0) + 1
            if found in (None, "nothing was planted") or n <= 5:
                print(f"  {kind} {k} in {name}: {found}: {changed}")
        print(f"{kind}: {n} planted, {n - by.get(None, 0)} found: " + ", ".join(f"{v} {k}" for k, v in sorted(by.items(), key=lambda x: -x[1]) if k), flush=True)


if __name__ == "__main__":
    main()
