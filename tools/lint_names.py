#!/usr/bin/env python3
"""Checks what names mean. usage: lint_names.py [ROOT]

A type of a header, and any type named hn_… or hone_…, is defined once in the tree. An enumerator is not compared by its place in
the list, since a new row in the list would change what is meant: that a row belongs to a class is said in a column of the table. A
comment or a page names no identifier of ours and no file that is nowhere; capitals stand for any (src/target/NAME.c).
"""
import os, re, sys

from lint_lengths import DIRECTIVE, TOKEN, blank

TYPE = re.compile(r'\b(?:struct|union|enum)\s+(\w+)\s*(?=\{)')
ALIAS = re.compile(r'\btypedef\b[^;{}]*?(?:\(\s*\*\s*(\w+)\s*\)\s*\([^;]*\)|\b(\w+))\s*;')
ENUM = re.compile(r'\benum\b\s*\w*\s*\{([^}]*)\}')
RANGE = re.compile(r'(?<![<>-])[<>]=?\s*(?=(\w+))|(?=\b(\w+)\s*[<>]=?(?![<>]))')
ROW = re.compile(r'^HN_(?:OP|ATTR|KIND)\((\w+),', re.M)
PREFIX = {"ops.def": "HN_OP_", "attrs.def": "HN_A_", "kinds.def": "HN_KIND_"}
# Types that stand twice, and lists whose order is their meaning, with the reason.
TWICE = {"hone_model_instance": "of artifacts: with one model (instance.h), with several (entry.h)"}
COMMENT = re.compile(r'//[^\n]*|/\*.*?\*/', re.S)
FENCE = re.compile(r'^(```|~~~).*?^\1', re.M | re.S)
IDENTIFIER = re.compile(r'(?<![\w-])(?:hone|hn)_[a-z0-9]\w*')
FILE = re.compile(r'(?<![\w*{<%$./-])((?:[\w.+-]+/)*\w[\w+-]*\.(?:c|h|def|md|py|sh))\b(?![\w(/*])')
C = (".c", ".h", ".def", ".inc")
TOPS = ("src/", "include/", "cli/", "python/", "tests/", "docs/", "tools/", "bench/", "examples/")
ORDERED = {
    "HN_LAYOUT_": "from the most to the least that is perturbed",
    "HONE_FP_": "from the strictest contract to the loosest",
    "HN_IS_PENDING": "states of a point, from unknown to known",
}


def sources(root, tops):
    for top in tops:
        for path, _, names in sorted(os.walk(os.path.join(root, top))):
            for name in sorted(names):
                if name.endswith((".c", ".h", ".def", ".inc")):
                    path_name = os.path.relpath(os.path.join(path, name), root)
                    with open(os.path.join(root, path_name), encoding="utf-8", errors="replace") as f:
                        yield path_name, TOKEN.sub(blank, f.read())


def every_file(root):
    for top in (*TOPS, "README.md", "CONTRIBUTING.md", "Makefile"):
        if os.path.isfile(os.path.join(root, top)):
            yield top
        for path, folders, names in os.walk(os.path.join(root, top)):
            sources_of_build = top == "src/" and path.rstrip("/").endswith("/src")  # the room; elsewhere: outputs
            folders[:] = [f for f in folders if f not in ("__pycache__", "corpus") and (f != "build" or sources_of_build)]
            yield from (os.path.relpath(os.path.join(path, n), root) for n in names)


def types(texts):
    """{name: [places]}: definitions; `typedef struct x x;` names one that is defined elsewhere."""
    seen = {}
    for path, text in texts.items():
        if path.endswith(".def"):
            continue
        text = DIRECTIVE.sub(blank, text)
        for found in [*TYPE.finditer(text), *ALIAS.finditer(text)]:
            name = next(g for g in found.groups() if g)
            if found.re is ALIAS and re.search(rf"\b(struct|union|enum)\s+{name}\s+{name}\s*;$", found.group(0)):
                continue
            if name.startswith(("hn_", "hone_")) or path.endswith(".h"):
                place = f"{path}:{text.count(chr(10), 0, found.start()) + 1}"
                if not any(p.startswith(path + ":") for p in seen.setdefault(name, [])):
                    seen[name].append(place)
    return seen


def enumerators(texts):
    """{name: file, None where every file may see it}; what ends a list may be compared with, to tell what is in it."""
    names = {}
    for path, text in texts.items():
        where = None if path.endswith((".h", ".def")) else path
        prefix = PREFIX.get(os.path.basename(path))
        if prefix:
            names.update({prefix + row: None for row in ROW.findall(text)})
        for found in ENUM.finditer(text):
            items = [x.strip() for x in DIRECTIVE.sub("", found.group(1)).split(",") if x.strip()]
            if not any("=" in x for x in items):  # else numbers with names
                names.update({x: where for x in items[:-1]})
    return names


def dead(root):
    """Comments and pages that name what is not there: an identifier of ours, a file of the tree."""
    texts, files = {}, set()
    for path in every_file(root):
        files.add(path)
        if path.endswith((".c", ".h", ".def", ".inc", ".py", ".pyi", ".sh", ".t", ".md")) or path == "Makefile":
            with open(os.path.join(root, path), encoding="utf-8", errors="replace") as f:
                texts[path] = f.read()
    known, begins = set(), set()
    for path, text in texts.items():
        if not path.endswith(".md"):
            code = COMMENT.sub(" ", text) if path.endswith(C) else text
            known.update(re.findall(r"\b(?:hone|hn)_\w+", code))
            begins.update(re.findall(r"\b((?:hone|hn)_\w*)##", code))
    ends = {f"/{f}" for f in files}
    for path, text in sorted(texts.items()):
        if path.startswith(("tests/", "bench/")) or not path.endswith((*C, ".md")):
            continue
        page = path.endswith(".md")
        parts = [(0, FENCE.sub(blank, text))] if page else [(m.start(), m.group(0)) for m in COMMENT.finditer(text)]
        for start, part in parts:
            for m in IDENTIFIER.finditer(part):
                name = m.group(0)
                begin = name.endswith("_") and any(k.startswith(name) for k in known)
                if name not in known and not begin and not name.startswith(tuple(begins)) and not re.search("[A-Z]", name):
                    yield f"{path}:{text.count(chr(10), 0, start + m.start()) + 1}: names '{name}', which is nowhere"
            for m in FILE.finditer(part):
                name = m.group(1)
                ours = name.startswith(TOPS) if page else not name.startswith(".")
                if ours and not re.search("[A-Z]", os.path.basename(name).split(".")[0]) and not any(e.endswith("/" + name) for e in ends):
                    yield f"{path}:{text.count(chr(10), 0, start + m.start()) + 1}: names the file '{name}', which is nowhere"


def main():
    root = (sys.argv[1:] or ["."])[0]
    texts = dict(sources(root, ("src", "include", "cli", "python/src")))
    faults = []
    for name, places in sorted(types(texts).items()):
        places = [x for x in places if "/gpu/rt/c_" not in x]  # languages of devices, each a text of its own
        if len(places) > 1 and name not in TWICE:
            faults.append(f"{places[1]}: type '{name}' is also defined at {places[0]}")
    listed = enumerators(texts)
    for path, text in sorted(texts.items()):
        for found in RANGE.finditer(DIRECTIVE.sub(blank, text)):
            name = found.group(1) or found.group(2)
            if listed.get(name, "") in (None, path) and not name.startswith(tuple(ORDERED)):
                line = text.count("\n", 0, found.start()) + 1
                faults.append(f"{path}:{line}: '{name}' is compared by its place in the list; give the table a column")
    faults += dead(root)
    print(*faults, sep="\n", end="\n" * bool(faults))
    return len(faults) != 0


if __name__ == "__main__":
    sys.exit(main())
