#!/usr/bin/env python3
"""Compilers' names and flags stand in src/target alone. usage: lint_families.py [ROOT]

The rooms above ask a family (src/target/family.h). Looked at are the string literals of src/: a compiler's name (the commands
and aliases of the families' rows), or a word that is a compiler's or a linker's flag. Comments and help texts may name what they like. ALLOWED says what else stands where,
with the reason; a row that excuses nothing is a fault, too.
"""
import fnmatch, os, re, sys

FLAG = re.compile(r"(?<![\w-])(-O([0-9szg]|fast)?\b|-[fm][a-z][a-z0-9-]{2,}|-W[a-z][a-z-]{2,}|-Wl,|-std=|-shared\b|-nostdlib\b|"
                  r"-nostartfiles\b|-l(m|pthread|dl|gcc)\b|-pthread\b|--param=|--target=|--crate-|-C ?[a-z]+(-[a-z]+)+|-D%s)")
GENERIC = ("cc", "c++", "opencl")  # whatever compiler the system has; an interface to devices, too
STRING = re.compile(r'"((?:[^"\\\n]|\\.)*)"')
# file pattern, pattern of the literal, reason
ALLOWED = [
    ("src/shim/cc/cc.c", "*", "the driver of the one compiler that the shim is made for"),
    ("src/backend/cpu/dialects.c", "*", "a row of an instruction set says which flags its C needs"),
    ("src/build/cc_flags.def", "*", "the one table of what the C compiler that builds artifacts gets"),
    ("src/artifact/source.c", "/[*] Compile with: *", "a comment in generated C"),
    ("src/artifact/source.c", "; link with *", "its end"),
    ("src/device/probe.c", "-*", "the program that measures this machine: what it is compiled with, in one place"),
    ("src/cubin/*", "*ptxas*", "device code is read with NVIDIA's tools, the assembler among them, whatever compiled it"),
    ("src/bench/bench*.c", "-Wformat", "a pragma: ISO C has no %m"),
    ("src/artifact/source.c", "-W*", "warnings that generated C turns off by pragmas"),
]


def code_of(text):
    """The text with comments blanked, line by line as before; strings stay."""
    def blank(found):
        s = found.group(0)
        return s if s[0] in "\"'" else re.sub(r"[^\n]", " ", s)
    return re.sub(r'"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)+\'|//[^\n]*|/\*.*?\*/', blank, text, flags=re.S)


def files(root):
    for path, _, names in sorted(os.walk(os.path.join(root, "src"))):
        room = os.path.relpath(path, os.path.join(root, "src")).split(os.sep)[0]
        for name in sorted(names):
            if room not in ("target", ".") and name.endswith((".c", ".h", ".def")):
                yield os.path.relpath(os.path.join(path, name), root)


def names(root):
    """What the families' commands are called: "gcc", "x86_64-linux-gnu-g++-12", but no part of a path or a longer word."""
    found, folder = set(), os.path.join(root, "src", "target")
    for name in sorted(os.listdir(folder)) if os.path.isdir(folder) else []:
        if name.endswith(".c"):
            with open(os.path.join(folder, name), encoding="utf-8") as f:
                for words in re.findall(r'\.(?:command|aliases) = "([^"]*)"', f.read()):
                    found.update(w for w in words.split("|") if w and w not in GENERIC)
    either = "|".join(re.escape(w) for w in sorted(found, key=len, reverse=True)) or "(?!)"
    return re.compile(rf"(?<![\w./+])({either})(?![\w./+])")


def faults(root):
    used, name_of = set(), names(root)
    for path in files(root):
        with open(os.path.join(root, path), encoding="utf-8", errors="replace") as f:
            code = code_of(f.read())
        for n, line in enumerate(code.split("\n"), 1):
            if re.match(r"\s*#\s*include", line):
                continue
            for literal in STRING.findall(line):
                found = name_of.search(literal) or FLAG.search(literal)
                rows = [i for i, (where, what, _) in enumerate(ALLOWED)
                        if found and fnmatch.fnmatchcase(path, where) and fnmatch.fnmatchcase(literal, what)]
                used.update(rows)
                if found and not rows:
                    yield f"{path}:{n}: '{found.group(0)}': compilers and their flags belong to src/target (hn_family)"
    for i, (where, what, _) in enumerate(ALLOWED):
        if i not in used and os.path.exists(os.path.join(root, where)):
            yield f"tools/lint_families.py: nothing needs '{what}' in '{where}' any more"


def main():
    found = list(faults(sys.argv[1] if len(sys.argv) > 1 else os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
    print("\n".join(found), end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
