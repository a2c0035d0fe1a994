"""bench/sequences.py MODEL --counts 1,8 --prompt 128 --tokens 32 --rounds 5 --threads 2 — tokens per second of several sequences at once.

Each sequence has a prompt of random tokens; a step gives every one of them its next token in one call. Numbers of sequences take turns in
every round, in random order. Prints a row for each: the rate of all sequences together, and over that of the first number, with the
bootstrap's 95 % interval of the median over rounds. A model's speed does not depend on which tokens it sees."""

import argparse
import time

import numpy as np

import hone


def rate(model, random, count, prompt, tokens):
    """Tokens per second of `count` sequences, prompts aside."""
    sessions = [model.session(random.integers(3, model.vocabulary, prompt).tolist()) for _ in range(count)]
    draw = random.integers(3, model.vocabulary, (tokens + 2, count)).tolist()
    for step in range(2):  # the first steps make room
        model.feed([(s, [t]) for s, t in zip(sessions, draw[step])])
    begin = time.perf_counter()
    for step in range(2, tokens + 2):
        model.feed([(s, [t]) for s, t in zip(sessions, draw[step])])
    spent = time.perf_counter() - begin
    for s in sessions:
        s.close()
    return count * tokens / spent


def interval(random, x):
    medians = np.median(random.choice(x, (2000, len(x))), axis=1)
    return float(np.median(x)), float(np.percentile(medians, 2.5)), float(np.percentile(medians, 97.5))


def main():
    a = argparse.ArgumentParser()
    a.add_argument("model")
    a.add_argument("--name", required=True)
    a.add_argument("--counts", default="1,2,4,8,16")
    a.add_argument("--prompt", type=int, default=128)
    a.add_argument("--tokens", type=int, default=32)
    a.add_argument("--rounds", type=int, default=5)
    a.add_argument("--threads", type=int, default=0)
    a = a.parse_args()
    counts = [int(x) for x in a.counts.split(",")]
    random = np.random.default_rng(1)
    rates = {c: [] for c in counts}
    with hone.LanguageModel(a.model, threads=a.threads) as model:
        rate(model, random, counts[0], a.prompt, 4)
        for _ in range(a.rounds):
            for c in random.permutation(counts):
                rates[int(c)].append(rate(model, random, int(c), a.prompt, a.tokens))
    for c in counts:
        mine, low, high = interval(random, np.array(rates[c]))
        ratio, ratio_low, ratio_high = interval(random, np.array(rates[c]) / np.array(rates[counts[0]]))
        print(f"| {a.name} | {a.threads} | {c} | {mine:.1f} ({low:.1f} .. {high:.1f}) | {ratio:.2f} ({ratio_low:.2f} .. {ratio_high:.2f}) |", flush=True)


main()
