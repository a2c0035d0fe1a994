#!/usr/bin/env python3
"""Checks that the library calls nothing it must not. usage: lint_calls.py [ROOT]

The library (src/, but for the harness and the driver of GPU compilers) never prints, exits or aborts; reads and writes numbers without the host's locale; takes
random numbers from base/rng.h and starts processes through proc/proc.h.
"""
import os, re, sys

from lint_lengths import TOKEN, blank

BANNED = {
    "printf vprintf puts putchar perror psignal err errx warn warnx": "the library never prints",
    "exit abort quick_exit": "the library never ends the process; return an error",
    "strtod strtof strtold atof": "follows the host's locale; use hn_strtod",
    "setlocale": "the locale is the host's",
    "rand srand random srandom drand48 rand_r arc4random getrandom": "random numbers come from base/rng.h",
    "system popen": "processes start through proc/proc.h",
    "gets tmpnam mktemp tempnam strtok": "has no bound or hidden state",
    "signal sigaction": "signal handlers are the host's",
}
# "path:function": reason
ALLOWED = {
    "src/proc/supervise.c:sigaction": "in the supervisor process, after fork",
    "src/proc/supervise.c:signal": "in the supervisor process, after fork",
    "src/proc/guard.c:signal": "in the guardian process, after fork",
    "src/serve/nursery.c:signal": "in the nursery, after fork",
    "src/serve/canary_child.c:signal": "in the process of a trial, after fork",
    "src/serve/canary_child.c:sigaction": "in the process of a trial, after fork",
    "src/backend/cpu/place_emulated.c:signal": "in the child that opened the place, after fork",
    "src/tune_model/lab.c:signal": "in the child that times kernels, after fork",
    "src/device/probe_program.h:printf": "the text of a program of its own",
}
WHY = {name: why for names, why in BANNED.items() for name in names.split()}
# Programs of their own, which people run: the harness, and the driver of compilers that are libraries.
PROGRAMS = tuple(os.path.join("src", *p) for p in (("bench",), ("target", "driver"), ("shim", "rt"), ("shim", "cc")))
CALL = re.compile(r'(?<![\w.>])(' + "|".join(WHY) + r')\s*\(|\b(stdout|stderr)\b')


def faults(root):
    for path, _, names in sorted(os.walk(os.path.join(root, "src"))):
        for name in sorted(names):
            rel = os.path.relpath(os.path.join(path, name), root)
            if not name.endswith((".c", ".h")) or rel.startswith(PROGRAMS):
                continue
            with open(os.path.join(root, rel), encoding="utf-8", errors="replace") as f:
                text = TOKEN.sub(blank, f.read())
            for n, line in enumerate(text.split("\n"), 1):
                for found in CALL.finditer(line):
                    what = found.group(1) or found.group(2)
                    if f"{rel}:{what}" not in ALLOWED:
                        yield f"{rel}:{n}: {what}: {WHY.get(what, 'the library never prints')}"


def main():
    found = list(faults(sys.argv[1] if len(sys.argv) > 1 else "."))
    for f in found:
        print(f)
    return len(found) != 0


if __name__ == "__main__":
    sys.exit(main())
