#!/usr/bin/env python3
"""Prints the distribution of function and file lengths and fails on what is too long. usage: lint_lengths.py [ROOT]

Limits: a function 100 lines (signature to closing brace), a file 1,000 lines (.def tables exempt), and in the library and
the command the 95th percentile of functions 60. A function that must be longer stands in ALLOWED with its reason.
"""
import os, re, sys

FUNCTION_MAX, FILE_MAX, P95_MAX = 100, 1000, 60
ALLOWED = {}  # "path:function" or "path": reason

TOKEN = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)
DIRECTIVE = re.compile(r'^[ \t]*#(?:\\\n|[^\n])*', re.M)
NAME = re.compile(r'([A-Za-z_]\w*)\s*\(')


def blank(match):
    return re.sub(r"[^\n]", " ", match.group(0))


def functions(text):
    """(name, first line, lines) of each function definition. Comments, texts and directives are blanked out first."""
    text = DIRECTIVE.sub(blank, TOKEN.sub(blank, text))
    depth, start, at_line, line, body = 0, 0, 1, 1, None
    for i, c in enumerate(text):
        if c == "\n":
            line += 1
        elif c == "{":
            head = text[start:i]
            if depth == 0 and re.match(r'\s*extern\s+$', head):
                start = i + 1  # extern "C" { … }: its braces count for nothing
                continue
            if depth == 0:
                is_function = re.search(r'\)[\s\w()]*$', head) and not re.search(r'=\s*$|=\s*[({]', head)
                at_line = line - head.lstrip().count("\n")
                body = NAME.search(head) if is_function else None
            depth += 1
        elif c == "}":
            depth -= 1
            if depth < 0:
                depth = 0
                start = i + 1
            elif depth == 0 and body:
                yield body.group(1), at_line, line - at_line + 1
                body, start = None, i + 1
        elif c == ";" and depth == 0:
            start = i + 1


def percentile(sorted_values, p):
    return sorted_values[min(len(sorted_values) - 1, int(p / 100 * len(sorted_values)))] if sorted_values else 0


def row(label, values):
    v = sorted(values)
    print(f"{label:34}{len(v):7}{percentile(v, 50):8}{percentile(v, 95):6}{(v[-1] if v else 0):6}")


def scan(root, folders):
    found, lengths = [], {}
    for folder in folders:
        for path, _, names in sorted(os.walk(os.path.join(root, folder))):
            for name in sorted(names):
                if not name.endswith((".c", ".h")):
                    continue
                rel = os.path.relpath(os.path.join(path, name), root)
                with open(os.path.join(root, rel), encoding="utf-8", errors="replace") as f:
                    text = f.read()
                lengths[rel] = text.count("\n")
                found += [(rel, fn, at, n) for fn, at, n in functions(text)]
    return found, lengths


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else "."
    faults = 0
    print(f"{'lines of':34}{'number':>7}{'median':>8}{'p95':>6}{'max':>6}")
    for label, folders in (("library and command", ("include", "src", "cli")),
                           ("tests, examples, benchmarks", ("tests", "examples", "bench"))):
        found, lengths = scan(root, folders)
        row(f"functions, {label}", [n for *_, n in found])
        row(f"files, {label}", lengths.values())
        for rel, fn, at, n in sorted(found, key=lambda x: -x[3]):
            if n > FUNCTION_MAX and f"{rel}:{fn}" not in ALLOWED:
                faults += 1
                print(f"{rel}:{at}: function '{fn}' has {n} lines, at most {FUNCTION_MAX}")
        for rel, n in lengths.items():
            if n > FILE_MAX and rel not in ALLOWED:
                faults += 1
                print(f"{rel}: {n} lines, at most {FILE_MAX}")
        p95 = percentile(sorted(n for *_, n in found), 95)
        if label.startswith("library") and p95 > P95_MAX:
            faults += 1
            print(f"the 95th percentile of function lengths is {p95}, at most {P95_MAX}")
    return faults != 0


if __name__ == "__main__":
    sys.exit(main())
