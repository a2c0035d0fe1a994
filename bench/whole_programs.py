"""Whole programs by stage; see bench/whole-programs.sh."""

import argparse
import glob
import os
import shlex
import shutil
import subprocess
import sys

import yaml

import real_gains

HERE = os.path.dirname(os.path.abspath(__file__))
STAGES = ("flags", "files", "pgo", "bolt", "allocator", "all", "clang", "passes")


def sources(folder, *patterns, but=()):
    """Names below the folder, sorted, without those that end in one of `but`."""
    names = [os.path.relpath(p, folder) for pattern in patterns for p in glob.glob(os.path.join(folder, pattern), recursive=True)]
    return sorted(n for n in names if not n.endswith(tuple(but)))


# name: where from, package, files to compile, what is read besides, words of the build, run
PROGRAMS = {
    "zstd": dict(pypi="zstandard==0.25.0", top="zstd", c=["zstd.c"], words="-DWHOLE_ZSTD -DZSTD_DISABLE_ASM", turns=25),
    "lz4": dict(debian="lz4", top="lib", c=["lz4.c", "lz4hc.c"], words="-DWHOLE_LZ4", turns=180),
    "brotli": dict(
        debian="brotli", top="c", c=["common/*.c", "dec/*.c", "enc/*.c"], words="-DWHOLE_BROTLI -Iinclude", text="enc/encode.c", turns=60, libs="-lm"
    ),
    "lua": dict(debian="lua5.4", top="src", c=["*.c"], but=["luac.c"], words="-DLUA_USE_POSIX", libs="-lm", run="{out} {src}/whole.lua 8"),
    "sqlite": dict(
        debian="sqlite3",
        top=".",
        make="./configure -q >/dev/null && make sqlite3.c >/dev/null",
        c=["sqlite3.c"],
        words="-DWHOLE_SQLITE -DSQLITE_THREADSAFE=0 -DSQLITE_OMIT_LOAD_EXTENSION",
        libs="-lm",
        turns=4,
    ),
    "quickjs": dict(
        pypi="quickjs==1.19.4",
        top="upstream-quickjs",
        c=["cutils.c", "libbf.c", "libregexp.c", "libunicode.c", "quickjs.c"],
        words='-DWHOLE_QUICKJS -D_GNU_SOURCE -DCONFIG_VERSION=\'"bench"\' -DCONFIG_BIGNUM',
        libs="-lm -lpthread",
        text="whole.js",
        turns=6,
    ),
    "zlib": dict(debian="zlib", top=".", c=["*.c"], but=["gzlib.c", "gzread.c", "gzwrite.c", "gzclose.c"], words="-DWHOLE_ZLIB", text="deflate.c", turns=80),
    "expat": dict(
        debian="expat",
        top="expat/lib",
        c=["xmlparse.c", "xmltok.c", "xmlrole.c"],
        words="-DWHOLE_EXPAT -DHAVE_MEMMOVE -DXML_NS -DXML_DTD -DXML_CONTEXT_BYTES=1024 -DXML_DEV_URANDOM",
        turns=12,
    ),
}


def fetch_debian(work, package):
    """The upstream archive of the package, by apt with lists of its own."""
    folder = os.path.join(work, "apt")
    os.makedirs(os.path.join(folder, "lists", "partial"), exist_ok=True)
    release = dict(line.strip().split("=", 1) for line in open("/etc/os-release", encoding="utf-8") if "=" in line)
    with open(os.path.join(folder, "sources.list"), "w", encoding="utf-8") as f:
        f.write(f"deb-src http://deb.debian.org/debian {release['VERSION_CODENAME'].strip(chr(34))} main\n")
    options = [f"-oDir::Etc::sourcelist={folder}/sources.list", "-oDir::Etc::sourceparts=-", f"-oDir::State::lists={folder}/lists"]
    if not glob.glob(os.path.join(folder, "lists", "*Sources*")):
        subprocess.run(["apt-get", *options, "update", "-qq"], check=True)
    subprocess.run(["apt-get", *options, "source", "-qq", "--download-only", package], check=True, cwd=folder, stderr=subprocess.DEVNULL)
    return glob.glob(os.path.join(folder, f"{package}_*.orig.tar.*"))[0]


def fetch_pypi(work, requirement):
    name, version = requirement.split("==")
    archive = os.path.join(work, f"{name}-{version}.tar.gz")
    if not os.path.exists(archive):
        pip = [sys.executable, "-m", "pip", "download", "-q", "--disable-pip-version-check", "--no-binary", ":all:", "--no-deps"]
        subprocess.run([*pip, requirement, "-d", work], check=True)
    return archive


def source_of(args, name):
    """Folder of the program's sources with the driver in it."""
    p = PROGRAMS[name]
    where = os.path.join(args.work, "source", name)
    if not os.path.isdir(where):
        archive = fetch_debian(args.work, p["debian"]) if "debian" in p else fetch_pypi(args.work, p["pypi"])
        part = where + ".part"
        shutil.rmtree(part, ignore_errors=True)
        os.makedirs(part)
        subprocess.run(["tar", "-xf", archive, "-C", part, "--strip-components=1"], check=True)
        os.rename(part, where)
        if "make" in p:
            subprocess.run(p["make"], shell=True, check=True, cwd=where)
    top = os.path.join(where, p["top"])
    for driver in ("whole.c", "whole.js", "whole.lua"):
        shutil.copy(os.path.join(HERE, "programs", driver), top)
    return top


def read_by(top, words, c):
    """What the compiler reads besides: headers, and C files that others include."""
    done = subprocess.run(["gcc", "-w", "-I.", *shlex.split(words), "-MM", *c], cwd=top, check=True, capture_output=True, text=True)
    names = {os.path.normpath(x) for x in done.stdout.replace("\\\n", " ").split() if not x.endswith(":")}
    return sorted(names - set(c))


def workload(args, name, stage, top):
    p = PROGRAMS[name]
    c = sources(top, *p["c"], but=p.get("but", ())) + ([] if "run" in p else ["whole.c"])
    c = [x for x in dict.fromkeys(c) if x != "whole.c" or "run" not in p]
    headers = read_by(top, p["words"], c)
    text = p.get("text", c[0])
    out = {
        "name": f"{name}-{stage}",
        "sources": list(dict.fromkeys(c + headers + ([text] if "run" not in p else ["whole.lua"]))),
        "build": "{cc} {flags} -w -I. " + p["words"] + " " + " ".join(c) + " " + p.get("libs", "") + " -o {out}",
        "run": p.get("run", f"{{out}} {{src}}/{text} {p.get('turns', 8)}"),
        "compilers": ["gcc"],
        "baseline": "-O3 -march=native",
        "objectives": "minimize cpu_time",
        "controls": {"lto": True, "pgo": False},
        "stages": {"build": "600 s", "run": "60 s"},
    }
    if stage in ("files", "all"):
        out["per_file"] = 2
        out["controls"]["lto"] = stage == "all"
    if stage in ("pgo", "all"):
        out["train"] = out["run"]
        out["controls"]["pgo"] = True
    if stage in ("bolt", "allocator"):
        out["controls"] = False
    if stage in ("bolt", "all"):
        out["post_link"] = "bolt"
    if stage in ("allocator", "all"):
        out["environment"] = ["allocator", "malloc"]
    if stage in ("clang", "passes"):  # beside clang's own baseline
        out["compilers"] = ["clang-19"]
        out["controls"] = {"lto": False, "pgo": False, "passes": stage == "passes"}
    return out


def measure(args, name, stage):
    """Gain proven (1: none) and what the search claimed; None: it failed."""
    top = source_of(args, name)
    folder = os.path.join(args.work, f"{name}-{stage}-{args.seed}-{args.evals or args.time}")
    shutil.copytree(top, folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns(".hone", "*.o", ".git", "test*", "doc*"))
    where = os.path.join(folder, "hone.yaml")
    with open(where, "w", encoding="utf-8") as f:
        yaml.safe_dump(workload(args, name, stage, top), f, sort_keys=False, width=1000)
    budget = ["--evals", str(args.evals)] if args.evals else ["--time", args.time]
    tuned = real_gains.ask(args, ["tune", where, "--new", "--seed", str(args.seed), *budget], folder, "tune", quiet=False)
    if tuned is None:
        return None
    claimed = tuned.get("speedup") or 1
    if claimed <= 1:
        return {"gain": 1.0, "lo": None, "claimed": claimed}
    pairs = ["--pairs", str(args.pairs), "--pairs-most", str(2 * args.pairs)] if args.pairs else []
    prove = ["validate", "--workload", where, "--seed", str(args.seed), "--time", args.prove, "--out", os.path.join(folder, name + ".hone")]
    proof = real_gains.ask(args, prove + pairs, folder, "validate", (0, real_gains.REJECTED), quiet=False)
    if proof is None:
        return None
    kept = [r["proof"]["overall"][0]["gain"] for r in proof["proofs"] if r["proof"]["kept"] and r["proof"].get("overall")]
    best = max(kept, key=lambda g: g["mid"], default=None)
    return {"gain": best["mid"] if best else 1.0, "lo": best["lo"] if best else None, "claimed": claimed}


def main():
    p = argparse.ArgumentParser()
    for option, kind in (("hone", str), ("work", str), ("time", str), ("evals", int), ("prove", str), ("pairs", int), ("seed", int), ("stages", str)):
        p.add_argument("--" + option, type=kind)
    p.add_argument("programs", nargs="+")
    args = p.parse_args()
    args.hone, args.work = os.path.abspath(args.hone), os.path.abspath(args.work)
    stages = args.stages.split()
    for kind, known, named in (("program", PROGRAMS, args.programs), ("stage", STAGES, stages)):
        for name in named:
            if name not in known:
                p.error(f"there is no {kind} '{name}'; there are: {' '.join(known)}")
    os.makedirs(args.work, exist_ok=True)
    print("\nProven gain; what is not proven counts as 1. In brackets: what the search claimed.\n")
    print("| program | " + " | ".join(stages) + " | best |\n|---|" + "---|" * (len(stages) + 1))
    best, failed = {}, 0
    for name in args.programs:
        cells, gains = [], [1.0]
        for stage in stages:
            r = measure(args, name, stage)
            failed += r is None
            cells.append("failed" if r is None else f"{r['gain']:.3f} ({r['claimed']:.3f})" if r["lo"] else f"- ({r['claimed']:.3f})")
            gains.append(1.0 if r is None else r["gain"])
        best[name] = max(gains)
        print(f"| {name} | " + " | ".join(cells) + f" | {best[name]:.3f} |", flush=True)
    mean = real_gains.geomean(list(best.values()))
    over = [sum(g >= least for g in best.values()) for least in (1.03, 1.1)]
    print(f"\n{len(best)} programs: {over[0]} with a proven gain of 3 %, {over[1]} with 10 %; geometric mean {mean:.3f}.")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
