#!/usr/bin/env python3
"""Fills the lists of rooms in the pages from tools/rooms.txt. usage: rooms.py [--write] [ROOT]; without --write it only checks.

A list stands between `<!-- rooms: KIND -->` and `<!-- end of rooms -->`. Kinds: `tuner` and `compiler`, tables of a wing's rooms
from the top down; `order`, all rooms from the ground up.
"""
import os, re, sys, textwrap

PAGES = ("CONTRIBUTING.md", "docs/style.md", "docs/design.md")
BLOCK = re.compile(r'(<!-- rooms: (\w+) -->\n).*?(<!-- end of rooms -->)', re.S)


def rooms(root):
    with open(os.path.join(root, "tools", "rooms.txt"), encoding="utf-8") as f:
        for row in f:
            if row.strip() and not row.startswith("#"):
                name, wing, headers, what = (x.strip() for x in row.split("|", 3))
                yield name, wing.rstrip("+"), [h for h in re.split(r",\s*", headers) if h], what


def table(rows):
    out = ["| room | what lives there | public header |", "|---|---|---|"]
    for name, _, headers, what in reversed(rows):
        links = ", ".join(f"[hone/{h}.h](../include/hone/{h}.h)" for h in headers)
        out.append(f"| `{name}` | {what} | {links + ' ' if links else ''}|")
    return "\n".join(out)


def text_of(kind, rows):
    if kind == "tuner":
        return "\n" + table([r for r in rows if r[1] != "compiler"]) + "\n\n"
    if kind == "compiler":
        return "\n" + table([r for r in rows if r[1] == "compiler"]) + "\n\n"
    wings = [(wing, " < ".join(r[0] for r in rows if r[1] == wing)) for wing in ("ground", "tuner", "both", "compiler")]
    lines = [textwrap.fill(f"{wing}: {names}", 110, initial_indent="    ", subsequent_indent="        ") for wing, names in wings]
    return "\n" + "\n".join(lines) + "\n\n"


def main():
    write = "--write" in sys.argv[1:]
    root = ([a for a in sys.argv[1:] if a != "--write"] or ["."])[0]
    if not os.path.isfile(os.path.join(root, "tools", "rooms.txt")):
        return 0
    rows, stale = list(rooms(root)), 0
    for page in PAGES:
        with open(os.path.join(root, page), encoding="utf-8") as f:
            old = f.read()
        new = BLOCK.sub(lambda m: m.group(1) + text_of(m.group(2), rows) + m.group(3), old)
        if not BLOCK.search(old):
            print(f"{page}: no list of rooms ('<!-- rooms: … -->')")
            stale += 1
        elif new != old and write:
            with open(os.path.join(root, page), "w", encoding="utf-8") as f:
                f.write(new)
        elif new != old:
            print(f"{page}: its list of rooms is not that of tools/rooms.txt; run tools/rooms.py --write")
            stale += 1
    return stale != 0


if __name__ == "__main__":
    sys.exit(main())
