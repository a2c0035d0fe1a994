#!/usr/bin/env python3
"""Runs `hone bench` on language models beside each peer and prints a table (bench/language.sh sets all up):
language.py --hone HONE --peer NAME=PROGRAM ... [--threads 1,2] [--lengths 512+128,8192+32] [--rounds 5] MODEL...
Each line of the results is kept in --keep FILE (JSON lines): started again, what stands there is not measured again."""
import argparse
import json
import os
import subprocess
import sys


def run(hone, model, threads, length, rounds, peer, program, cache):
    prompt, tokens = length.split("+")
    words = [hone, "bench", model, "--json", "--threads", threads, "--rounds", str(rounds), "--prompt-tokens", prompt, "--tokens", tokens]
    words += ["--cache-type", cache] if cache else []
    if peer:
        words += ["--against", peer, "--peer", program]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        return {"error": done.stderr.strip().splitlines()[-1] if done.stderr.strip() else f"ended with {done.returncode}"}
    return json.loads(done.stdout)


def known(keep, key):
    if not keep or not os.path.exists(keep):
        return None
    with open(keep, encoding="utf-8") as f:
        rows = [json.loads(line) for line in f]
    return next((r["seen"] for r in reversed(rows) if r["key"] == key), None)


def remember(keep, key, seen):
    if keep and "error" not in seen:
        with open(keep, "a", encoding="utf-8") as f:
            f.write(json.dumps({"key": key, "seen": seen}) + "\n")


def rate(x, key):
    low, high = x[key + "_ci"]
    return f"{x[key]:.4g} ({low:.4g} .. {high:.4g})"


def share(x):
    return "-" if x is None else f"{100 * x:.0f} %"


def mib(x):
    return f"{x / 2**20:.0f}" if x else "-"


def row(name, threads, length, peer, x):
    if "error" in x:
        return [name, threads, length, peer or "alone", x["error"]] + [""] * 7
    cells = [name, threads, length, x["peer"]["name"] if peer else "alone", rate(x, "prompt_tokens_per_s"), share(x["share_of_int8_peak"]),
             rate(x, "prompt_ratio") if peer else "", rate(x, "generation_tokens_per_s"), share(x["share_of_bandwidth"]),
             rate(x, "generation_ratio") if peer else "", f"{x['first_token_s']:.3g}"]
    return cells + [mib(x["resident_b"]) + (" / " + mib(x["peer"]["resident_b"]) if peer else "")]


HEADS = ["model", "threads", "tokens", "peer", "prompt, tokens/s", "of int8 peak", "hone / peer", "generation, tokens/s", "of bandwidth", "hone / peer",
         "first token, s", "MiB (hone / peer)"]


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("model", nargs="+")
    p.add_argument("--hone", required=True)
    p.add_argument("--peer", action="append", default=[])
    p.add_argument("--threads", default="1,2")
    p.add_argument("--lengths", default="512+128")
    p.add_argument("--rounds", type=int, default=5)
    p.add_argument("--cache", default="", help="how hone keeps keys and values")
    p.add_argument("--keep")
    a = p.parse_args()
    peers = [x.split("=", 1) for x in a.peer] or [["", ""]]
    binary = os.stat(os.path.realpath(a.hone))
    print("| " + " | ".join(HEADS) + " |\n|" + "---|" * len(HEADS), flush=True)
    for model in a.model:
        for threads in a.threads.split(","):
            for length in a.lengths.split(","):
                for peer, program in peers:
                    key = [binary.st_size, binary.st_mtime_ns, os.path.basename(model), threads, length, a.rounds, peer, a.cache]
                    seen = known(a.keep, key) or run(a.hone, model, threads, length, a.rounds, peer, program, a.cache)
                    remember(a.keep, key, seen)
                    name = os.path.basename(model).removesuffix(".gguf")
                    print("| " + " | ".join(map(str, row(name, threads, length, peer, seen))) + " |", flush=True)


if __name__ == "__main__":
    sys.exit(main())
