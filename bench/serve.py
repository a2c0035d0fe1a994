#!/usr/bin/env python3
"""What bench/serve.sh measures: hone serve and a peer side by side, bursts, answers under load. Its --help says what can be set."""
import argparse, concurrent.futures, json, os, random, signal, socket, statistics, subprocess, sys, tempfile, time, urllib.request

WORDS = "time water light house people number sound place year work world hand night story river line".split()
OPENINGS = ["Why is the", "Tell me about the", "What do you know of the", "Write a short story with the", "How does the"]
# The server of llama.cpp in a process of its own, from the package xllamacpp: MODEL THREADS SLOTS CONTEXT
XLLAMACPP = """
import signal, sys, xllamacpp as x
p = x.CommonParams()
p.model.path, p.n_parallel, p.n_ctx, p.port = sys.argv[1], int(sys.argv[3]), int(sys.argv[4]), 0
p.cpuparams.n_threads = p.cpuparams_batch.n_threads = int(sys.argv[2])
p.warmup, p.verbosity = True, 0
s = x.Server(p)
print(s.listening_address, flush=True)
signal.pause()
"""


class Server:
    """A server as a process; `url` once it answers."""

    def __init__(self, command, url=None, ready="/health", **how):
        self.log = tempfile.TemporaryFile()
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=self.log, text=True, **how)
        self.url = url or self.told()
        end = time.monotonic() + 900
        while not self.answers(ready):
            if self.process.poll() is not None or time.monotonic() > end:
                self.fail(command)
            time.sleep(0.2)

    def fail(self, command):
        self.log.seek(0)
        sys.exit(f"serve.py: '{command[0]}' does not serve:\n{self.log.read().decode(errors='replace')[-2000:]}")

    def told(self):
        line = self.process.stdout.readline().strip()
        if line.startswith("{"):
            return "http://{host}:{port}".format(**json.loads(line))
        if not line:
            self.fail(self.process.args)
        return line

    def answers(self, path):
        try:
            return urllib.request.urlopen(self.url + path, timeout=5).status == 200
        except OSError:
            return False

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def hone_server(o):
    return Server([o.hone, "serve", o.model, "--port", "0", "--threads", str(o.threads), "--at-once", str(o.slots), "--json"], ready="/ready")


def peer_server(o):
    """As many slots as hone has answers at once, each with a context of 2,048 tokens."""
    if o.peer == "none":
        return None
    words = [str(o.threads), str(o.slots), str(2048 * o.slots)]
    if o.peer == "xllamacpp":
        return Server([f"{o.peers}/xllamacpp/bin/python", "-c", XLLAMACPP, o.model, *words])
    port = free_port()
    return Server([f"{o.peers}/llama.cpp/bin/llama-server", "-m", o.model, "-t", words[0], "-tb", words[0], "-np", words[1], "-c", words[2],
                   "--host", "127.0.0.1", "--port", str(port)], url=f"http://127.0.0.1:{port}")  # fmt: skip


def load(o, *words):
    run = subprocess.run([o.hone, "load", *words, "--prompt", str(o.prompt), "--tokens", str(o.tokens), "--json"], capture_output=True, text=True)
    if run.returncode:
        sys.exit("serve.py: " + run.stderr)
    return json.loads(run.stdout)


def short(side):
    out = {k: side[k] for k in ("requests", "failed", "tokens", "tokens_per_s")}
    for key in ("first_s", "between_s", "whole_s"):
        out[key] = {p: side[key][p] for p in ("p50", "p95", "p99", "p50_range", "p95_range", "p99_range")}
    return out


def of_clients(o):
    rows = []
    mine, peer = hone_server(o), peer_server(o)
    for n in o.clients:
        against = ["--against", peer.url] if peer else []
        told = load(o, mine.url, *against, "--clients", str(n), "-n", str(max(o.requests, 2 * n)), "--rounds", str(o.rounds), "--seed", str(1000 + n))
        rows.append({"clients": n, "hone": short(told["servers"][0]), "peer": short(told["servers"][1]) if peer else None, "ratio": told["ratio"]})
    for server in (mine, peer):
        if server:
            server.end()
    return rows


def of_bursts(o, rows):
    """Steady load and bursts at one rate, in turns, of hone: p95 of all rounds, and its ratio round by round."""
    mine = hone_server(o)
    if rows:
        rate = rows[-1]["hone"]["tokens_per_s"][1] / o.tokens
    else:
        rate = load(o, mine.url, "--clients", str(o.slots), "-n", str(4 * o.slots), "--rounds", "2")["servers"][0]["tokens_per_s"][1] / o.tokens
    per_minute = max(1, round(60 * o.share * rate))
    out = {"per_minute": per_minute, "burst": o.burst, "steady": [], "bursts": []}
    for i in range(o.rounds):
        for name, more in (("steady", []), ("bursts", ["--burst", str(o.burst)])):
            told = load(o, mine.url, "--per-minute", str(per_minute), *more, "-n", str(o.burst * o.bursts), "--rounds", "1", "--seed", str(i))
            out[name].append(short(told["servers"][0]))
    mine.end()
    out["lost"] = sum(x["failed"] for name in ("steady", "bursts") for x in out[name])
    for key in ("first_s", "whole_s"):
        ratios = sorted(b[key]["p95"] / s[key]["p95"] for s, b in zip(out["steady"], out["bursts"]))
        out["p95_ratio_" + key] = [ratios[0], statistics.median(ratios), ratios[-1]]
    return out


def ask(url, prompt, n):
    body = {"prompt": prompt, "max_tokens": n, "temperature": 0, "logprobs": 1}
    request = urllib.request.Request(url + "/v1/completions", json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=600) as reply:
        choice = json.loads(reply.read())["choices"][0]
    return choice["text"], choice["finish_reason"], choice["logprobs"]["tokens"], choice["logprobs"]["token_logprobs"]


def of_answers(o):
    """One at a time in one server, at once in another; texts, tokens and the digits of their log-probabilities. Some also by `hone generate`."""
    rng = random.Random(1)
    prompts = [f"{rng.choice(OPENINGS)} {' '.join(rng.choices(WORDS, k=rng.randint(1, 60)))}" for _ in range(o.prompts)]
    one = hone_server(o)
    alone = [ask(one.url, p, o.tokens) for p in prompts]
    one.end()
    other = hone_server(o)
    with concurrent.futures.ThreadPoolExecutor(o.at_once) as pool:
        under = list(pool.map(lambda p: ask(other.url, p, o.tokens), prompts))
    other.end()
    differ = [i for i, (a, b) in enumerate(zip(alone, under)) if a != b]
    command = []
    for i in range(0, o.prompts, max(1, o.prompts // 10)):
        run = subprocess.run([o.hone, "generate", o.model, "-p", prompts[i], "-n", str(o.tokens), "--temperature", "0", "--threads", str(o.threads), "--json"],
                             capture_output=True, text=True)  # fmt: skip
        if run.returncode:
            sys.exit("serve.py: " + run.stderr)
        told = json.loads(run.stdout)
        command.append(told["text"] == under[i][0] and told["logprobs"] == under[i][3])
    return {"prompts": o.prompts, "at_once": o.at_once, "tokens": sum(len(a[2]) for a in alone), "differ": differ, "of_command": len(command),
            "differ_from_command": command.count(False)}  # fmt: skip


def ms(x):
    return "-" if x is None else f"{1000 * x:.3g}"


def show_clients(rows, peer):
    print(f"### Clients\n\nTokens per second, and milliseconds to the first token and between tokens: p50 / p95 / p99. The ratio is that of tokens per second, hone / {peer}, with its 95 % interval.\n")
    print("| clients | server | requests | failed | tokens/s | first token ms | between tokens ms | ratio |\n|---|---|---|---|---|---|---|---|")
    for row in rows:
        for name in ("hone", "peer"):
            x = row[name]
            if x:
                times = [" / ".join(ms(x[k][p]) for p in ("p50", "p95", "p99")) for k in ("first_s", "between_s")]
                ratio = "{1:.2f} ({0:.2f} .. {2:.2f})".format(*row["ratio"]) if name == "hone" and row["peer"] else ""
                print(f"| {row['clients']} | {name if name == 'hone' else peer} | {x['requests']} | {x['failed']} | {x['tokens_per_s'][1]:.4g} | {times[0]} | {times[1]} | {ratio} |")
    print()


def show_bursts(x):
    n = sum(r["requests"] for name in ("steady", "bursts") for r in x[name])
    print(f"### Bursts\n\nhone: {x['per_minute']} requests a minute, steady (Poisson) and in bursts of {x['burst']}, in turns: {n} requests, {x['lost']} lost.\n")
    print("| p95, bursts / steady | lowest round | median | highest |\n|---|---|---|---|")
    for key, name in (("first_s", "first token"), ("whole_s", "whole answer")):
        print(f"| {name} | " + " | ".join(f"{r:.2f}" for r in x["p95_ratio_" + key]) + " |")
    print()


def show_answers(x):
    print(f"### Answers\n\n{x['prompts']} prompts, temperature 0, {x['tokens']} tokens: {len(x['differ'])} answers differ between one at a time and {x['at_once']} at once "
          f"(texts, tokens, log-probabilities to the last digit); {x['differ_from_command']} of {x['of_command']} from those of `hone generate`.")  # fmt: skip


def main():
    p = argparse.ArgumentParser()
    for name in ("hone", "model", "peer", "peers", "parts", "clients"):
        p.add_argument("--" + name, required=True)
    for name in ("threads", "rounds", "requests", "prompt", "tokens", "burst", "bursts", "prompts", "at-once"):
        p.add_argument("--" + name, type=int, required=True)
    p.add_argument("--share", type=float, required=True)
    p.add_argument("--json", action="store_true")
    o = p.parse_args()
    o.clients, parts = [int(n) for n in o.clients.split()], o.parts.split()
    o.slots = max([*o.clients, o.at_once, *([o.burst] if "bursts" in o.parts else [])])
    out = {"model": os.path.basename(o.model), "peer": o.peer, "threads": o.threads, "prompt_words": o.prompt, "tokens": o.tokens}
    if "clients" in parts:
        out["clients"] = of_clients(o)
    if "bursts" in parts:
        out["bursts"] = of_bursts(o, out.get("clients"))
    if "answers" in parts:
        out["answers"] = of_answers(o)
    if o.json:
        print(json.dumps(out))
        return 0
    for name, show in (("clients", lambda x: show_clients(x, o.peer)), ("bursts", show_bursts), ("answers", show_answers)):
        if name in out:
            show(out[name])
    return 0


sys.exit(main())
