"""Reads programs for devices (`hone ir --program --target T`) and counts what runs where; tools/device-steps is its command."""

import os
import re
import shutil
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
KERNEL = re.compile(r'kernel (\d+) "[^"]*" "([^"]*)"(?: device (\d+))?')
VALUE = re.compile(r"%(\d+) = \w+(?:\[[^\]]*\])? (host|device \d+)\b")
NAMES = re.compile(r"%(\d+)")


def hone_program():
    for path in (os.environ.get("HONE"), os.path.join(ROOT, "build", "hone"), shutil.which("hone")):
        if path and os.access(path, os.X_OK):
            return path
    sys.exit("no hone to run; `make` builds it, or set HONE")


def target_of(place):
    """The target that a place stands for."""
    return "opencl" if place.startswith("opencl") else "cuda:sm_80" if place == "shim" else "cuda"


def program_of(model, target, hone=None, more=()):
    """(text, "") or ("", why not)."""
    done = subprocess.run([hone or hone_program(), "ir", "--program", "--target", target, *more, model], capture_output=True, text=True)
    return (done.stdout, "") if done.returncode == 0 else ("", (done.stderr.strip().splitlines() or ["no words"])[-1])


def count(text):
    """Kernels, those on the host, launches, and copies: to the device, to the host, and those to the host between two launches of the
    device ("between": [line]) that bring more than numbers which the program asks for (`read`)."""
    out = {"kernels": 0, "on_host": [], "launches": 0, "to_device": 0, "to_host": 0, "reads": 0, "between": []}
    space, kernel_is_far, copies, launches, other_uses = {}, {}, [], [], {}
    inside = False
    for at, line in enumerate(text.splitlines()):
        line = line.strip()
        found = KERNEL.match(line)
        if found:
            out["kernels"] += 1
            kernel_is_far[found[1]] = found[3] is not None
            if found[3] is None:
                out["on_host"].append(found[2])
        found = VALUE.match(line)
        if found and not inside:
            space[found[1]] = found[2]
        inside = inside or line.startswith("steps")
        if not inside:
            continue
        word = line.split(" ", 1)[0]
        if word == "launch":
            out["launches"] += 1
            if kernel_is_far.get(line.split()[1]):
                launches.append(at)
        if word == "read":
            out["reads"] += 1
        if word == "copy":
            to, source = NAMES.findall(line)[:2]
            here, there = space.get(to) == "host", space.get(source) == "host"
            out["to_host"] += here and not there
            out["to_device"] += there and not here
            if here and not there:
                copies.append((at, to, line))
        for name in NAMES.findall(line) if word not in ("read", "copy") else NAMES.findall(line)[1:] if word == "copy" else []:
            other_uses[name] = other_uses.get(name, 0) + 1
    results = set(re.findall(r"^output .* = %(\d+)", text, re.M))
    for at, to, line in copies:
        if launches and launches[0] < at < launches[-1] and (other_uses.get(to) or to in results):
            out["between"].append(line)
    return out
