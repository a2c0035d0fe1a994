#!/usr/bin/env python3
"""A language model in Python: an answer as it comes, a batch, logits, sessions that part. Usage: answer.py MODEL.gguf [PROMPT]"""
import sys

import hone
import numpy as np


def main(path, prompt="Once upon a time"):
    with hone.LanguageModel(path) as m:
        with m.generate(prompt, max_tokens=48, seed=1, stream=True) as pieces:
            for piece in pieces:
                print(piece, end="", flush=True)
        print(f"\n-- {len(pieces.answer.tokens)} tokens, the first after {1e3 * pieces.answer.first_token_s:.0f} ms; end: {pieces.answer.end}")

        for text, answer in zip(("A", "B"), m.generate(["A", "B"], max_tokens=4, temperature=0)):
            print(f"-- {text!r} goes on with {answer.text!r}, log-probability {sum(answer.logprobs):.2f}")

        tokens = m.tokenize(prompt, frame=True)
        best = np.argsort(m.logits(tokens, last=True))[::-1][:3]
        print(f"-- behind the prompt's {len(tokens)} tokens the likeliest are {', '.join(repr(m.detokenize([t])) for t in best)}")
        with m.session(tokens) as here:
            ways = [here.fork() for _ in best]  # they share what was computed of the prompt
            for way, row in zip(ways, m.feed([(way, [int(t)]) for way, t in zip(ways, best)])):  # one step for all
                print(f"-- behind {m.detokenize(way.tokens[-1:])!r} comes {m.detokenize([int(row[-1].argmax())])!r}")
        print(f"-- perplexity of the prompt: {m.perplexity(prompt):.2f}")


if __name__ == "__main__":
    main(*sys.argv[1:])
