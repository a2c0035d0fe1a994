#!/usr/bin/env python3
"""Checks who includes whom. usage: lint_includes.py [ROOT]

A room of src/ includes its own headers and those of rooms below it; the headers of a folder inside a room are seen by that
folder alone; a public header hone/X.h belongs to the room that
implements it. src/bench (the harness) and examples/ see nothing of the library but hone/bench.h and public headers; cli/ uses
public headers alone. A third-party library is included by the one room that wraps it.
"""
import os, re, sys

ROOMS, WING, PUBLIC = [], {}, {"bench": "bench", "bench_gpu": "bench"}  # from the ground up; room -> wing; public header -> room
for row in open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "rooms.txt"), encoding="utf-8"):
    if row.strip() and not row.startswith("#"):
        name, wing, headers, _ = (x.strip() for x in row.split("|"))
        ROOMS.append(name)
        WING[name] = wing
        PUBLIC.update({h: name for h in re.split(r",\s*", headers) if h})
# Across rooms all the same, with the reason.
ALLOWED = {("shim", "backend/gpu/rt/driver.h"),  # the interface that artifacts call it by
           ("bench", "shim/rt/shim.h"),  # the library that it loads
           ("bench", "base/bench_data.h"),   # one definition of the format that the harness writes and measure reads
           ("backend", "hone/model.h"),  # what a library says of its kernels: places load it
           ("measure", "hone/bench.h"),  # the element types in it
           ("backend", "backend/cpu/reference_int.h"),  # kernels node by node are one text in all languages like C
           ("backend", "backend/cpu/cpu.h"),
           ("artifact", "hone/compile.h")}  # the options that it is made with
WRAPPED = {"yaml.h": "base", "sodium.h": "base", "sqlite3.h": "record", "libpq-fe.h": "record", "pcre2.h": "text", "utf8proc.h": "text", "protobuf-c/protobuf-c.h": "onnx",
           "openssl/ssl.h": "serve", "openssl/err.h": "serve", "openssl/x509v3.h": "serve"}
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


def files(root, *folders):
    for folder in folders:
        for path, _, names in sorted(os.walk(os.path.join(root, folder))):
            for name in sorted(names):
                if name.endswith((".c", ".h", ".def", ".inc")):
                    yield os.path.relpath(os.path.join(path, name), root)


def includes(root, path):
    with open(os.path.join(root, path), encoding="utf-8", errors="replace") as f:
        for n, line in enumerate(f, 1):
            found = INCLUDE.match(line)
            if found:
                yield n, found.group(1) == '"', found.group(2)


def room_of(header, quoted):
    """The room a header belongs to, or None when it is a system or third-party one."""
    folder, _, name = header.partition("/")
    if folder == "hone" and not quoted:
        return PUBLIC.get(name[:-2], "?" + header)
    if quoted:
        return folder if folder in ROOMS + ["bench"] else "?" + header
    return None


def fault_in_room(room, folder, header, quoted):
    """folder: where the including file lies, below src/ (a room, or a folder of one)."""
    header = header[3:] if header.startswith("../") else header
    if (room, header) in ALLOWED or (quoted and "/" not in header):  # its own folder's
        return None
    if quoted and header.count("/") > 1 and not header.startswith(folder + "/"):
        return f"{os.path.dirname(header)} is a folder of a room; its headers are its own"
    theirs = room_of(header, quoted)
    if theirs is None:
        owner = WRAPPED.get(header)
        return f"<{header}> is wrapped by {owner}" if owner and owner != room else None
    if theirs.startswith("?"):
        return f"'{header}' is no header of a room; write \"room/file.h\" or <hone/…>"
    if room == "bench" or theirs == "bench":
        return None if room == theirs else f"{room} and {theirs} have nothing to do with each other"
    if WING[room].startswith("compiler") and WING[theirs] == "tuner" and (quoted or WING[room] != "compiler+"):
        return f"{room} belongs to the compiler's wing, {theirs} to the tuner's"
    return f"{room} stands below {theirs}" if ROOMS.index(theirs) > ROOMS.index(room) else None


def fault_outside(top, header, quoted):
    """cli/ and examples/: public headers, their own headers, the system."""
    if quoted:
        return "only public headers here" if header.partition("/")[0] in ROOMS + ["bench"] else None
    if header.startswith("hone/") and header[5:-2] not in PUBLIC:
        return "no such public header"
    if header in WRAPPED:
        return f"<{header}> is wrapped by {WRAPPED[header]}"
    return None


def fault_in_public(name, header, quoted):
    if quoted:
        return "a public header includes <hone/…> and the system only"
    if not header.startswith("hone/"):
        return None if header in ("stdbool.h", "stddef.h", "stdint.h") else "public headers need no more than std{bool,def,int}.h"
    mine, theirs = PUBLIC[name], room_of(header, quoted)
    if mine == theirs:
        return None
    if theirs not in ROOMS or mine not in ROOMS or ROOMS.index(theirs) > ROOMS.index(mine):
        return f"{mine} stands below {theirs}"
    return None


def judge(path, header, quoted):
    parts = path.split(os.sep)
    if parts[:4] == ["src", "backend", "cpu", "rt"]:  # text that goes into artifacts
        return "the runtime's text includes system headers alone" if quoted or header.startswith("hone/") else None
    if parts[0] == "src":
        if len(parts) < 3 or parts[1] not in ROOMS + ["bench"]:
            return "not in a known room; see tools/lint_includes.py"
        return fault_in_room(parts[1], "/".join(parts[1:-1]), header, quoted)
    if parts[0] == "include":
        name = parts[-1][:-2]
        return fault_in_public(name, header, quoted) if name in PUBLIC else "a public header of no room"
    return fault_outside(parts[0], header, quoted)


def main():
    root = sys.argv[1] if len(sys.argv) > 1 else "."
    faults = n = 0
    for path in files(root, "src", "include", "cli", "examples"):
        n += 1
        for line, quoted, header in includes(root, path):
            why = judge(path, header, quoted)
            if why:
                faults += 1
                print(f"{path}:{line}: include of {header}: {why}")
    print(f"includes: {n} files, {faults} faults")
    return faults != 0


if __name__ == "__main__":
    sys.exit(main())
