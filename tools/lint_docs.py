#!/usr/bin/env python3
"""Checks the links of all Markdown files: a relative one leads to a file here, its #anchor to a heading there; and every page
of docs/ can be reached from README.md, and every docs/NAME.md that a source names is there. Every command has its row in
docs/commands.md, and every key that a command prints as JSON stands in a page. README.md shows a picture on its first screen and
has one table of at most ten rows. usage: lint_docs.py [ROOT]"""
import os, re, sys

LINK = re.compile(r'(?<!!)\[[^\]]*\]\(([^)\s]+)\)|!\[[^\]]*\]\(([^)\s]+)\)')
FENCE = re.compile(r'^(```|~~~).*?^\1', re.M | re.S)


def pages(root):
    for path, folders, names in os.walk(root):
        folders[:] = sorted(f for f in folders if not f.startswith(".") and f not in ("build", "node_modules"))
        yield from (os.path.join(path, n) for n in sorted(names) if n.endswith(".md"))


def text_of(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


def anchors(text):
    """GitHub's rule: lower case, punctuation dropped, spaces to hyphens."""
    heads = re.findall(r'^#+\s+(.*?)\s*#*$', FENCE.sub("", text), re.M)
    return {re.sub(r'\s', "-", re.sub(r'[^\w\s-]', "", h.lower())) for h in heads}


def links(page):
    """(link, file, anchor) of each relative link."""
    text = re.sub(r'`[^`\n]*`', "", FENCE.sub("", text_of(page)))
    for a, b in LINK.findall(text):
        link = a or b
        if not re.match(r'[a-z]+:', link):
            path, _, anchor = link.partition("#")
            yield link, os.path.normpath(os.path.join(os.path.dirname(page), path)) if path else page, anchor


def reachable(page, seen):
    seen.add(page)
    for _, target, _ in links(page):
        if target.endswith(".md") and target not in seen and os.path.exists(target):
            reachable(target, seen)
    return seen


def named_in_sources(root):
    for folder in ("include", "src", "cli", "tests", "examples", "tools"):
        for path, _, names in sorted(os.walk(os.path.join(root, folder))):
            for name in sorted(names):
                if name.endswith((".c", ".h", ".def", ".yaml", ".sh")):
                    file = os.path.join(path, name)
                    with open(file, encoding="utf-8", errors="replace") as f:
                        yield from ((file, page) for page in set(re.findall(r'\bdocs/[\w-]+\.md', f.read())))


KEY = re.compile(r'cli_json_(?:k\w+|key)\([^",;]*,\s*"(\w+)"')
HIDDEN = {"case", "man"}  # commands that tools of ours call
ELSEWHERE = {"error", "exit", "text", "id", "args", "cat", "dur", "ph", "pid", "tid", "ts", "displayTimeUnit", "traceEvents", "case"}  # errors, traces, `hone case`


def commands(root):
    """(name, file) of each command that users see."""
    table = os.path.join(root, "cli", "commands.def")
    if os.path.exists(table):
        for name in re.findall(r'CLI_COMMAND\((\w+)\)', text_of(table)):
            if name not in HIDDEN:
                yield name, os.path.join(root, "cli", f"cmd_{name}.c")


def undocumented(root):
    page = os.path.join(root, "docs", "commands.md")
    listed = re.findall(r'^\| (.*?) \|', text_of(page), re.M) if os.path.exists(page) else []
    for name, file in commands(root):
        if not any(f"`{name}`" in row for row in listed):
            yield f"{page}: command '{name}' ({file}) has no row"
    every = "".join(map(text_of, pages(os.path.join(root, "docs"))))
    folder = os.path.join(root, "cli")
    for file in sorted(os.listdir(folder)) if listed else []:
        for key in sorted(set(KEY.findall(text_of(os.path.join(folder, file)))) - ELSEWHERE):
            if f"`{key}`" not in every:
                yield f"cli/{file}: key '{key}' of its JSON stands in no page of docs/"


SCREEN, ROWS = 30, 10


def first_page(root):
    """What a newcomer sees: a picture on the first screen, one table of at most ten rows."""
    lines = FENCE.sub("", text_of(os.path.join(root, "README.md"))).splitlines()
    if not any(line.startswith("![") for line in lines[:SCREEN]):
        yield f"README.md: no picture of a result in its first {SCREEN} lines"
    tables = [i for i, line in enumerate(lines) if re.match(r'\|[\s:|-]+\|$', line)]
    if len(tables) > 1:
        yield f"README.md: {len(tables)} tables, but one is for the first page; the rest belongs into docs/figures.md"
    rows = sum(line.startswith("|") for line in lines) - 2 * len(tables)
    if rows > ROWS:
        yield f"README.md: {rows} rows of a table, more than {ROWS}; the rest belongs into docs/figures.md"


def faults(root):
    yield from undocumented(root)
    yield from first_page(root)
    for file, page in named_in_sources(root):
        if not os.path.exists(os.path.join(root, page)):
            yield f"{file}: names '{page}', which is not there"
    seen = reachable(os.path.normpath(os.path.join(root, "README.md")), set())
    for page in map(os.path.normpath, pages(root)):
        if page not in seen and os.path.relpath(page, root).startswith("docs" + os.sep):
            yield f"{page}: cannot be reached from README.md; link it there"
        for link, target, anchor in links(page):
            if not os.path.exists(target):
                yield f"{page}: link to '{link}': there is no such file"
            elif anchor and target.endswith(".md") and anchor not in anchors(text_of(target)):
                yield f"{page}: link to '{link}': there is no such heading"


def main():
    found = list(faults(sys.argv[1] if len(sys.argv) > 1 else "."))
    for f in found:
        print(f)
    return len(found) != 0


if __name__ == "__main__":
    sys.exit(main())
