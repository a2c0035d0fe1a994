"""bench/rollback.py HONE FOLDER [FAULT...]: deployments of versions with planted faults, one after another on one server."""

import http.client
import json
import os
import statistics
import subprocess
import sys
import threading
import time

ROOT = os.path.realpath(os.path.join(os.path.dirname(__file__), ".."))
RUNS, SHARE, CLIENTS = int(os.environ.get("RUNS", 100)), os.environ.get("SHARE", "5%"), int(os.environ.get("CLIENTS", 4))
WORK, MOST_S = os.environ.get("WORK", "40000"), float(os.environ.get("MOST_S", 300))
FAULTS = {
    "equal": ("equal", []),
    "better": ("5 % faster", ["-DSLOWER=0.95"]),
    "slower": ("3 % slower", ["-DSLOWER=1.03"]),
    "wrong": ("1 wrong element of 1,000", ["-DWRONG_IN=1000"]),
    "crash": ("a crash in 1 of 500 runs", ["-DCRASH_IN=500"]),
}
BODY = json.dumps({"inputs": [{"name": "x", "shape": [1, 16], "datatype": "FP32", "data": [0.5] * 16}]})


def build(folder, name, tag, flags):
    path = os.path.join(folder, f"{name}.so")
    subprocess.run(["cc", "-O2", "-shared", "-fPIC", f"-I{ROOT}/include", f"-DTAG={tag}", f"-DWORK={WORK}", *flags,
                    f"{ROOT}/tests/helper/fake/faulty_model.c", "-o", path], check=True)  # fmt: skip
    return path


class Clients:
    def __init__(self, port):
        self.port, self.over, self.n, self.failed, self.wrong = port, threading.Event(), 0, 0, 0
        self.threads = [threading.Thread(target=self.ask, daemon=True) for _ in range(CLIENTS)]
        for t in self.threads:
            t.start()

    def ask(self):
        c = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        while not self.over.is_set():
            c.request("POST", "/v2/models/m/infer", BODY)
            r = c.getresponse()
            text = r.read()
            self.n += 1
            if r.status != 200:
                self.failed += 1
            elif set(json.loads(text)["outputs"][0]["data"]) != {2.0}:
                self.wrong += 1


def main():
    hone, folder, names = sys.argv[1], sys.argv[2], sys.argv[3:] or list(FAULTS)
    os.environ["XDG_RUNTIME_DIR"] = folder
    store, now = os.path.join(folder, "rollback.db"), build(folder, "now", 0, [])
    for end in ("", "-wal", "-shm"):
        if os.path.exists(store + end):
            os.remove(store + end)
    server = subprocess.Popen([hone, "serve", f"m={now}", "--port", "0", "--threads", "1", "--json", "--store", store], stdout=subprocess.PIPE,
                              stderr=open(os.path.join(folder, "rollback.log"), "w"), text=True)  # fmt: skip
    port = json.loads(server.stdout.readline())["port"]
    clients = Clients(port)
    print(f"{'version':<26} {'n':>4} {'rolled back':>12} {'promoted':>9} {'held':>5} {'s to decide: p50':>17} {'p95':>7} {'pairs p50':>10} {'requests':>9} {'failed':>7}")
    try:
        for tag, name in enumerate(names, 1):
            title, flags = FAULTS[name]
            path, ends, took, pairs, n, failed = build(folder, name, tag, flags), {}, [], [], clients.n, clients.failed
            for _ in range(RUNS):
                begin = time.monotonic()
                subprocess.run([hone, "deploy", path, "--share", SHARE, "--wait", "--age", f"{MOST_S}s", "--port", str(port)], capture_output=True)
                took.append(time.monotonic() - begin)
                told = subprocess.run([hone, "deploy", "--history", "--json", "--port", str(port)], capture_output=True, check=True)
                last = json.loads(told.stdout)["deployments"][0]
                ends[last["state"]] = ends.get(last["state"], 0) + 1
                pairs.append(last["evidence"]["pairs"] if "pairs" in last["evidence"] else last["evidence"]["n"])
                if last["state"] != "rolled_back":
                    subprocess.run([hone, "rollback", "--port", str(port)], capture_output=True, check=True)
            cut = sorted(took)
            print(f"{title:<26} {RUNS:>4} {ends.get('rolled_back', 0):>12} {ends.get('promoted', 0):>9} {ends.get('held', 0):>5} {statistics.median(took):>17.1f} "
                  f"{cut[min(len(cut) - 1, int(0.95 * len(cut)))]:>7.1f} {statistics.median(pairs):>10.0f} {clients.n - n:>9} {clients.failed - failed:>7}", flush=True)  # fmt: skip
    finally:
        clients.over.set()
        server.terminate()
        server.wait()
    print(f"\n{clients.wrong} answers of {clients.n} held a wrong element (versions on trial answer {SHARE} of the requests).")


main()
