"""bench/promotion.py HONE FOLDER MODEL: a slow version of a language model answers, the usual one is on trial beside it."""

import ctypes
import http.client
import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import threading
import time

RUNS, SHARE, CLIENTS = int(os.environ.get("RUNS", 3)), os.environ.get("SHARE", "20%"), int(os.environ.get("CLIENTS", 2))
TOKENS, MOST_S, SLOWER = int(os.environ.get("TOKENS", 24)), float(os.environ.get("MOST_S", 1800)), os.environ.get("SLOWER", "-O1")
THREADS, RULES = os.environ.get("THREADS", str(len(os.sched_getaffinity(0)))), os.environ.get("RULES", "").split()
WORDS = "time people water house light river stone paper music winter garden morning street window summer animal".split()


def compile_slowly(hone, folder, model):
    """A folder that leads to the model, whose library a slower compiler makes: the server finds it compiled."""
    slow, tools = os.path.join(folder, "slow"), os.path.join(folder, "slow-cc")
    for old in (slow, tools):
        shutil.rmtree(old, ignore_errors=True)
    os.mkdir(tools)
    for name in ("cc", "gcc"):
        real = shutil.which(name)
        if real:
            with open(os.path.join(tools, name), "w") as f:
                f.write(f'#!/bin/sh\nexec "{os.path.realpath(real)}" "$@" {SLOWER}\n')
            os.chmod(os.path.join(tools, name), 0o755)
    library = ctypes.CDLL(os.path.join(os.path.dirname(os.path.realpath(hone)), "libhone.so"))
    if library.hone_text_tuned(model.encode(), slow.encode(), None):
        sys.exit(f"promotion.py: cannot make '{slow}'")
    run_once(hone, slow, {**os.environ, "PATH": tools + os.pathsep + os.environ["PATH"]})
    return slow


def run_once(hone, model, env=None):
    subprocess.run([hone, "generate", model, "-p", "The", "-n", "4", "--threads", THREADS], env=env, check=True, stdout=subprocess.DEVNULL)


class Clients:
    def __init__(self, port):
        self.port, self.over, self.n, self.failed = port, threading.Event(), 0, 0
        self.threads = [threading.Thread(target=self.ask, args=(i,), daemon=True) for i in range(CLIENTS)]
        for t in self.threads:
            t.start()

    def ask(self, seed):
        draw, c = random.Random(seed), http.client.HTTPConnection("127.0.0.1", self.port, timeout=600)
        while not self.over.is_set():
            body = {"prompt": " ".join(draw.choices(WORDS, k=16)), "max_tokens": TOKENS, "temperature": 0, "ignore_eos": True}
            c.request("POST", "/v1/completions", json.dumps(body))
            r = c.getresponse()
            text = r.read()
            self.n += 1
            self.failed += r.status != 200 or json.loads(text)["usage"]["completion_tokens"] != TOKENS


def main():
    hone, folder, model = sys.argv[1], os.path.realpath(sys.argv[2]), os.path.realpath(sys.argv[3])
    os.environ["XDG_RUNTIME_DIR"] = os.environ["XDG_CACHE_HOME"] = folder
    slow = compile_slowly(hone, folder, model)
    run_once(hone, model)
    store = os.path.join(folder, "promotion.db")
    for end in ("", "-wal", "-shm"):
        if os.path.exists(store + end):
            os.remove(store + end)
    server = subprocess.Popen([hone, "serve", f"m={slow}", "--port", "0", "--threads", THREADS, "--json", "--store", store], stdout=subprocess.PIPE,
                              stderr=open(os.path.join(folder, "promotion.log"), "w"), text=True)  # fmt: skip
    port = json.loads(server.stdout.readline())["port"]
    clients, took, ends = Clients(port), [], []
    print(f"{'deployment':>10} {'end':>12} {'seconds':>8} {'pairs':>6} {'runs':>6} {'tokens compared':>16} {'NEXT / NOW':>24} {'requests':>9} {'failed':>7}")
    try:
        for i in range(RUNS):
            begin, n, failed = time.monotonic(), clients.n, clients.failed
            subprocess.run([hone, "deploy", model, "--share", SHARE, "--wait", "--age", f"{MOST_S}s", *RULES, "--port", str(port)], capture_output=True)
            took.append(time.monotonic() - begin)
            told = json.loads(subprocess.run([hone, "deploy", "--history", "--json", "--port", str(port)], capture_output=True, check=True).stdout)
            last = told["deployments"][0]
            e, ratio = last["evidence"], [x["body"]["decision"]["ratio"] for x in last["events"] if (x["body"] or {}).get("decision")] or [{}]
            ends.append(last["state"])
            shown = " .. ".join("-" if x is None else f"{x:.3f}" for x in ratio[-1].values())
            print(f"{i + 1:>10} {last['state']:>12} {took[-1]:>8.0f} {e.get('pairs', e.get('n')):>6} {e['runs_next']:>6} {e['elements']:>16} {shown:>24} "
                  f"{clients.n - n:>9} {clients.failed - failed:>7}", flush=True)  # fmt: skip
            if last["state"] != "promoted":
                print(f"           {last['text']}")
            subprocess.run([hone, "rollback", "--port", str(port)], capture_output=True, check=True)
    finally:
        clients.over.set()
        server.terminate()
        server.wait()
    print(f"\npromoted: {ends.count('promoted')} of {RUNS}; seconds to decide: {statistics.median(took):.0f} (median)")
    sys.exit(ends.count("promoted") != RUNS)


main()
