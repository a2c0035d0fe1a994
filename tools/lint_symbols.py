#!/usr/bin/env python3
"""Checks what a build exports and that it has no mutable globals. usage: lint_symbols.py BUILD

1. libhone.so exports exactly the functions that the public headers declare HONE_API, all named hone_*.
2. libhone.a and libhonebench.a hold no writable data (tables that need relocation, .data.rel.ro, are constant).
3. Functions shared inside the library are named hn_* or hone_*; in libhonebench.a *_bench_*, *_gpu_* or *_nvml_*.
4. No name is global in both archives: programs link both.
"""
import os, re, subprocess, sys

ALLOWED_DATA = {"lost.o areas": "a handler of signals can be told of nothing in another way"}  # "object symbol": reason
DECLARED = re.compile(r'HONE_API[^;(]*?\b(hone_\w+)\s*\(')


def lines(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()


def declared():
    names = set()
    for h in sorted(os.listdir("include/hone")):
        if h.endswith(".h"):
            with open(os.path.join("include/hone", h), encoding="utf-8") as f:
                text = re.sub(r'#\s*define[^\n]*', "", f.read())
                names |= set(DECLARED.findall(re.sub(r'/\*.*?\*/', "", text, flags=re.S)))
    return names


def exported(library):
    rows = (l.split() for l in lines("nm", "-D", "--defined-only", library))
    return {r[-1].split("@")[0] for r in rows if len(r) == 3 and r[1] not in "wv"}


def api_faults(build):
    want, have = declared(), exported(os.path.join(build, "libhone.so"))
    for name in sorted(have - want):
        yield f"libhone.so exports '{name}', which no public header declares"
    for name in sorted(want - have):
        yield f"'{name}' is declared HONE_API but libhone.so does not export it"


def data_faults(archive):
    """objdump -t: address, 7 flag characters, section, size, name. Writable sections start with .data, .bss, .t…"""
    member = "?"
    for line in lines("objdump", "-t", archive):
        found = re.match(r'(\S+):\s+file format', line)
        if found:
            member = found.group(1)
        found = re.match(r'[0-9a-f]+ .{7} (\S+)\s+([0-9a-f]+)\s+(?:\.\w+ )?(\S+)$', line)
        if not found or not int(found.group(2), 16):
            continue
        section, name = found.group(1), found.group(3)
        writable = re.match(r'\.(data|bss|tdata|tbss|sdata|sbss)|\*COM\*', section)
        if writable and not section.startswith(".data.rel.ro") and f"{member} {name}" not in ALLOWED_DATA:
            yield f"{os.path.basename(archive)}({member}): '{name}' is writable data in {section}"


def globals_of(archive):
    rows = (line.split() for line in lines("nm", "--defined-only", "--extern-only", archive))
    return {r[2] for r in rows if len(r) == 3}


def name_faults(archive, pattern):
    for name in sorted(globals_of(archive)):
        if not re.match(pattern, name):
            yield f"{os.path.basename(archive)}: global '{name}' is not named {pattern}"


def main():
    build = sys.argv[1] if len(sys.argv) > 1 else "build"
    lib, harness = os.path.join(build, "libhone.a"), os.path.join(build, "libhonebench.a")
    faults = []
    try:
        faults += api_faults(build)
        faults += data_faults(lib)
        faults += name_faults(lib, "(hone|hn)_")
        if lines("ar", "t", harness):
            faults += data_faults(harness)
            faults += name_faults(harness, "(hone|hn)_(bench|gpu|nvml)_")
            faults += [f"'{n}' is global in libhone.a and in libhonebench.a" for n in sorted(globals_of(lib) & globals_of(harness))]
    except subprocess.CalledProcessError as why:
        faults.append(f"{' '.join(why.cmd)}: {why.stderr.strip()}")
    for f in faults:
        print("symbols:", f)
    return len(faults) != 0


if __name__ == "__main__":
    sys.exit(main())
