"""Carried in the library (text_peer.c): an engine of language models, timed inside this process.

Arguments: engine, model, threads (0: its default), tokens of a round at most, a program (llama-bench) or "".
Says "ok VERSION", then answers each line "PROMPT TOKENS" by "ok SECONDS SECONDS BYTES": of an empty context that takes a
prompt of so many tokens, of so many tokens one by one behind it, and the memory of the process.
"""
import os
import sys
import time

try:
    import ctypes
    ctypes.CDLL(None).prctl(1, 9)  # PR_SET_PDEATHSIG, SIGKILL: also while it is stopped
except Exception:
    pass


def say(word, text):
    answers.write(f"{word} {text}".replace("\n", " ")[:600] + "\n")
    answers.flush()


def resident():
    with open("/proc/self/statm", encoding="ascii") as f:
        return int(f.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


class LlamaBench:
    """llama.cpp's own program; it is started for each round, loading is not timed."""

    def __init__(self, model, threads, context, program):
        import shutil
        self.program = shutil.which(program or "llama-bench")
        if not self.program:
            raise ImportError(f"there is no program '{program or 'llama-bench'}'")
        self.common = ["-m", model, "-r", "1", "-o", "json"] + (["-t", str(threads)] if threads else [])
        self.version = "llama-bench"

    def run(self, *words):
        import json
        import subprocess
        done = subprocess.run([self.program, *self.common, *map(str, words)], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              check=False)
        if done.returncode:
            raise RuntimeError(done.stderr.strip()[-400:] or f"{self.program} ended with {done.returncode}")
        row = json.loads(done.stdout)[-1]
        self.version = f"build {row['build_number']}" if row.get("build_number") else "llama-bench"
        return row["avg_ns"] * 1e-9

    def round(self, prompt, tokens):
        return self.run("-p", prompt, "-n", 0), self.run("-p", 0, "-n", tokens, "-d", prompt)

    def resident(self):
        import resource
        return resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024


class Llama:
    """llama.cpp through a package's bindings to its C API, as llama-bench calls it: random tokens, one sequence."""

    package, bindings = "llama_cpp", "llama_cpp.llama_cpp"

    def __init__(self, model, threads, context, program):
        import importlib
        import random
        self.version = getattr(importlib.import_module(self.package), "__version__", "")
        self.x = x = importlib.import_module(self.bindings)
        x.llama_backend_init()
        self.model = self.first("llama_model_load_from_file", "llama_load_model_from_file")(os.fsencode(model), self.model_how())
        if not self.model:
            raise RuntimeError("it cannot load this model")
        how = x.llama_context_default_params()
        threads = threads or len(os.sched_getaffinity(0))
        how.n_ctx, how.n_batch, how.n_ubatch, how.n_threads, how.n_threads_batch = context + 8, self.BATCH, 512, threads, threads
        self.context = self.first("llama_init_from_model", "llama_new_context_with_model")(self.model, how)
        if not self.context:
            raise RuntimeError("it cannot make a context for this model")
        n = x.llama_vocab_n_tokens(x.llama_model_get_vocab(self.model)) if hasattr(x, "llama_vocab_n_tokens") else x.llama_n_vocab(self.model)
        draw = random.Random(1)
        self.token = [draw.randrange(n) for _ in range(context)]
        self.batch = x.llama_batch_init(self.BATCH, 0, 1)

    BATCH = 2048

    def first(self, *names):
        return next(getattr(self.x, n) for n in names if hasattr(self.x, n))

    def model_how(self):
        how = self.x.llama_model_default_params()
        how.n_gpu_layers = 0
        return how

    def clear(self):
        if hasattr(self.x, "llama_memory_clear"):
            self.x.llama_memory_clear(self.x.llama_get_memory(self.context), True)
        else:
            self.x.llama_kv_cache_clear(self.context)

    def feed(self, at, n):
        b = self.batch
        b.n_tokens = n
        for i in range(n):
            b.token[i], b.pos[i], b.n_seq_id[i], b.logits[i] = self.token[at + i], at + i, 1, i == n - 1
            b.seq_id[i][0] = 0
        if self.x.llama_decode(self.context, b):
            raise RuntimeError(f"llama_decode fails behind {at} tokens")

    def wait(self):
        self.x.llama_get_logits_ith(self.context, self.batch.n_tokens - 1)  # waits for what is under way

    def round(self, prompt, tokens):
        self.clear()
        a = time.perf_counter()
        for at in range(0, prompt, self.BATCH):
            self.feed(at, min(self.BATCH, prompt - at))
        self.wait()
        b = time.perf_counter()
        for i in range(tokens):
            self.feed(prompt + i, 1)
            self.wait()
        return b - a, time.perf_counter() - b

    def resident(self):
        return resident()


class IkLlama(Llama):
    package, bindings = "ik_llama_cpp", "ik_llama_cpp._ctypes_api"


class OpenVINO:
    package = "openvino-genai"

    def __init__(self, model, threads, context, program):
        import openvino as ov
        import openvino_genai as genai
        self.ov, self.genai, self.version = ov, genai, genai.__version__.split("-", maxsplit=1)[0]
        how = {"INFERENCE_NUM_THREADS": threads} if threads else {}
        self.pipe = genai.LLMPipeline(model, "CPU", **how)
        self.rounds = 0

    def round(self, prompt, tokens):
        import numpy as np
        self.rounds += 1  # other tokens in each round: it keeps what it computed of prompts
        ids = np.random.default_rng(self.rounds).integers(0, 200, (1, prompt), dtype=np.int64)
        given = self.genai.TokenizedInputs(self.ov.Tensor(ids), self.ov.Tensor(np.ones_like(ids)))
        how = self.genai.GenerationConfig()
        how.max_new_tokens = how.min_new_tokens = tokens + 1
        how.ignore_eos, how.do_sample = True, False
        m = self.pipe.generate(given, how).perf_metrics
        return m.get_ttft().mean * 1e-3, m.get_tpot().mean * 1e-3 * tokens

    def resident(self):
        return resident()


ENGINES = {"llama-bench": LlamaBench, "llama.cpp": Llama, "ik_llama.cpp": IkLlama, "openvino-genai": OpenVINO}


def serve(name, model, threads, context, program):
    try:
        engine = ENGINES[name](model, int(threads), int(context), program)
    except ImportError as e:
        return say("missing", e)
    except Exception as e:
        return say("error", e)
    say("ok", engine.version)
    for line in sys.stdin:
        try:
            prompt, tokens = map(int, line.split())
            prompt_s, generate_s = engine.round(prompt, tokens)
            say("ok", f"{prompt_s:.9g} {generate_s:.9g} {engine.resident()}")
        except Exception as e:
            say("error", e)
    return None


answers = os.fdopen(os.dup(1), "w", encoding="utf-8")  # what engines print goes elsewhere
os.dup2(2, 1)
serve(*sys.argv[1:6])
