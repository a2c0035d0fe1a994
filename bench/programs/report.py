"""report.py RESULT.json ALL.json PARETO.json: the outcome of a search with several objectives as markdown."""

import json
import sys


def ratios(values, base):
    return [base[name] / v for name, v in values.items()]


def main():
    result, trials, front = (json.load(open(path, encoding="utf-8")) for path in sys.argv[1:])
    base = next((t["values"] for t in trials["trials"] if t["phase"] == "baseline" and t["class"] == "ok"), None)
    print(f"- {result['trials']} trials, {result['reused']} with a known object; ended by: {result['reason']}")
    failed = {k: v for k, v in result["classes"].items() if v and k != "ok"}
    print(f"- failures: {', '.join(f'{v} {k}' for k, v in failed.items()) or 'none'}")
    print(f"- first objective, closing race: {result['speedup']:.3f} ({result['speedup_lo']:.3f} .. {result['speedup_hi']:.3f})")
    rows = [t for t in front["trials"] if t["class"] == "ok" and t["values"]]
    if not rows or base is None:
        print("\nNothing was measured.")
        return 1
    names = list(rows[0]["values"])
    print("\nThe front; ratios are baseline / found, above 1 is better.\n")
    print("| trial | " + " | ".join(names) + " | " + " | ".join(f"gain in {n}" for n in names) + " |")
    print("|---|" + "---|" * (2 * len(names)))
    for t in sorted(rows, key=lambda t: t["values"][names[0]]):
        cells = [f"{t['values'][n]:.6g}" for n in names]
        cells += [f"{t['speedup']:.3f}"] + [f"{r:.3f}" for r in ratios(t["values"], base)[1:]]
        print(f"| {t['trial']} | " + " | ".join(cells) + " |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
