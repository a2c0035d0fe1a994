#!/usr/bin/env python3
"""Checks who calls whom between rooms. usage: lint_rooms.py BUILD  (BUILD/obj holds the compiled sources)

Taken from the objects' symbols, not from includes: a file that declares a function itself, or gets a declaration by way of a
header of a lower room, is found too. A file uses files of its own room and of rooms below it (tools/rooms.txt). A call
upwards is a fault; where calls also lead back, the whole circle is printed.
"""
import collections, os, subprocess, sys

from lint_includes import ROOMS


def symbols(build):
    """(file that defines it by symbol, symbols that each file uses)."""
    owner, uses = {}, {}
    for folder, _, names in sorted(os.walk(os.path.join(build, "obj", "src"))):
        for path in (os.path.join(folder, n) for n in sorted(names) if n.endswith(".o")):
            source = os.path.relpath(path, os.path.join(build, "obj"))[:-2] + ".c"
            if not os.path.exists(source):  # left over from a file that has moved
                continue
            uses[source] = set()
            for line in subprocess.run(["nm", path], capture_output=True, text=True, check=True).stdout.splitlines():
                kind, name = line.split()[-2:]
                if kind == "U":
                    uses[source].add(name)
                elif kind in "TDBRCVW":
                    owner[name] = source
    return owner, uses


def way(edges, start, end):
    """A shortest chain of calls from start to end, or None."""
    before, queue = {start: None}, collections.deque([start])
    while queue:
        at = queue.popleft()
        if at == end:
            chain = []
            while at:
                chain.append(at)
                at = before[at]
            return chain[::-1]
        for to in sorted(edges[at]):
            if to not in before:
                before[to] = at
                queue.append(to)
    return None


# Programs of their own, which the library carries.
PROGRAMS = ("src/bench/program/", "src/target/driver/", "src/shim/rt/", "src/shim/cc/")


def main():
    owner, uses = symbols(sys.argv[1])
    edges = {f: {owner[s] for s in names if s in owner and owner[s] != f} for f, names in uses.items()}
    level = {f: ROOMS.index(f.split("/")[1]) for f in uses if f.split("/")[1] in ROOMS}
    faults = 0
    for path in sorted(os.path.join(d, n) for d, _, names in os.walk("src") for n in names if n.endswith(".c")):
        if path not in uses and not path.startswith(PROGRAMS):
            faults += 1
            print(f"{path}: not compiled in {sys.argv[1]}")
    for f in sorted(level):
        for to in sorted(edges[f]):
            if level.get(to, -1) <= level[f]:
                continue
            faults += 1
            called = sorted(s for s in uses[f] if owner.get(s) == to)
            print(f"{f}: uses {', '.join(called)} of {to}, a room above it")
            back = way(edges, to, f)
            if back:
                print(f"    a circle: {' -> '.join([f] + back)}")
    print(f"rooms: {len(level)} files in {len(ROOMS)} rooms, {faults} faults")
    return faults != 0 or not level


if __name__ == "__main__":
    sys.exit(main())
