"""bench/models.py — the table of bench/models.sh: head, a row, and below it the geometric means and what failed.

usage: models.py head|row|foot TUNE PEERS [ROW...]
A ROW is the path in front of .VARIANT.PEER.json, as `hone bench --json` writes it; .error beside it where that failed.
"""

import json
import math
import os
import sys

what, tune, peers, rows = sys.argv[1], sys.argv[2], sys.argv[3].split(), sys.argv[4:]
variants = ["default"] + ([f"tuned-{tune}"] if tune else [])


def results(row, variant, peer):
    """The sides of one run, hone's first; None where it failed."""
    path = f"{row}.{variant}.{peer}.json"
    if not os.path.exists(path) or not os.path.getsize(path):
        return None
    with open(path, encoding="utf-8") as f:
        return json.load(f)["results"]


def ms(side):
    return f"{side['p50_s'] * 1e3:.4g}"


def ratio(row, variant, peer):
    sides = results(row, variant, peer)
    return sides[0]["p50_s"] / sides[1]["p50_s"] if sides else None


def cell(row, variant, peer):
    sides = results(row, variant, peer)
    if not sides:
        return "failed"
    a, b = sides[:2]
    low, high = a["p50_low_s"] / b["p50_high_s"], a["p50_high_s"] / b["p50_low_s"]
    return f"{a['p50_s'] / b['p50_s']:.2f} ({low:.2f} .. {high:.2f})"


def first(row, variants, who, side):
    """The median of a side, out of the first run that has it."""
    for variant in variants:
        for peer in who:
            sides = results(row, variant, peer)
            if sides:
                return ms(sides[side])
    return "failed"


def title(variant):
    return "hone" if variant == "default" else "tuned"


def put(cells):
    print("| " + " | ".join(cells) + " |", flush=True)


def name(row):
    """model, batch x tokens, threads"""
    model, size, threads = os.path.basename(row).rsplit("-", 2)
    return [model, size.replace("x", " x "), threads]


def head():
    heads = ["model", "batch x tokens", "threads"] + [f"{title(v)} p50 ms" for v in variants]
    for peer in peers:
        heads += [f"{peer} p50 ms"] + [f"{title(v)} / {peer}" for v in variants]
    put(heads)
    print("|" + "---|" * len(heads))


def put_row(row):
    cells = name(row) + [first(row, [v], peers + ["alone"], 0) for v in variants]
    for peer in peers:
        cells += [first(row, variants, [peer], 1)] + [cell(row, v, peer) for v in variants]
    put(cells)


def groups():
    """Rows by size and threads, in the order in which they came; models of images go with the first size of their batch."""
    sizes = []
    for row in rows:
        size = name(row)[1]
        if size not in sizes:
            sizes.append(size)
    found = {}
    for row in rows:
        _, size, threads = name(row)
        same = [s for s in sizes if " x " in s and s.split(" x ")[0] == size]
        found.setdefault((same[0] if same else size, threads), []).append(row)
    return found


def means(peer, variant):
    texts = []
    for (size, threads), some in groups().items():
        known = [r for r in (ratio(row, variant, peer) for row in some) if r]
        if known:
            mean = math.exp(sum(map(math.log, known)) / len(known))
            texts.append(f"{mean:.2f} ({size}, {threads} thread{'s' * (threads != '1')}, {len(known)} of {len(some)})")
    return ", ".join(texts) or "none"


def foot():
    print()
    for peer in peers:
        versions = {s[1]["who"] for s in (results(r, v, peer) for r in rows for v in variants) if s}
        for variant in variants:
            print(f"- geometric mean {title(variant)} / {', '.join(sorted(versions)) or peer}: {means(peer, variant)}")
    for row in rows:
        for variant in variants:
            for side in peers + ["alone", "tune"]:
                path = f"{row}.{variant}.{side}" + ("" if side == "tune" else ".json")
                if os.path.exists(path + ".error") and not os.path.exists(path):
                    with open(path + ".error", encoding="utf-8", errors="replace") as f:
                        lines = f.read().strip().splitlines()
                    print(f"- failed: {' '.join(name(row))} {title(variant)}, {side}: {lines[-1] if lines else 'no reason given'}")
    return any(first(row, [v], peers + ["alone"], 0) == "failed" for row in rows for v in variants)


if what == "head":
    head()
elif what == "row":
    put_row(rows[0])
elif foot():
    sys.exit(1)
