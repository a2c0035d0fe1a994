#!/usr/bin/env python3
"""Programs and compilers that misbehave in every way the issue names: each classed rightly, the search goes on to its
end, no process is left."""
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile

HONE = os.environ.get("HONE", os.path.join(os.path.dirname(__file__), "../../build/asan/hone"))
MARK = f"HONE_TEST_FAULTS={os.getpid()}"

PROGRAM = r"""
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static void grandchildren(void) {
    for (int i = 0; i < 3; i++)
        if (fork() == 0) {
            setsid();
            signal(SIGTERM, SIG_IGN);
            signal(SIGHUP, SIG_IGN);
            if (fork() == 0) for (;;) pause();
            for (;;) pause();
        }
}
static void flood(void) {
    static char line[4096];
    memset(line, 'x', sizeof line);
    for (long i = 0; i < (1L << 30) / (long)sizeof line; i++) fwrite(line, 1, sizeof line, stdout);
}
static void eat(void) {
    for (;;) { char *p = malloc(1 << 20); if (!p) abort(); memset(p, 1, 1 << 20); }
}
int main(void) {
    const char *mode = MODE;
    if (!strcmp(mode, "segv")) raise(SIGSEGV);
    if (!strcmp(mode, "abort")) abort();
    if (!strcmp(mode, "exit1")) return 1;
    if (!strcmp(mode, "hang")) for (;;) pause();
    if (!strcmp(mode, "spin")) for (volatile int i = 0;; i++) {}
    if (!strcmp(mode, "orphans")) grandchildren();
    if (!strcmp(mode, "orphans_hang")) { grandchildren(); for (;;) pause(); }
    if (!strcmp(mode, "flood")) flood();
    if (!strcmp(mode, "eat")) eat();
    if (!strcmp(mode, "nothing")) return 0;
    printf("result %d\n", !strcmp(mode, "wrong") ? 41 : 42);
    if (!strcmp(mode, "nan")) printf("cost: nan\n");
    else if (strcmp(mode, "silent")) printf("cost: %d\n", 100 + (int)strlen(mode));
    return 0;
}
"""

COMPILER = r"""#!/bin/sh
# a compiler that misbehaves when its arguments say so
case "$*" in
*cc_hang*) trap '' TERM; sleep 1000 & sleep 1000 ;;
*cc_crash*) kill -SEGV $$ ;;
*cc_error*) echo "prog.c:1: error: planted" >&2; exit 1 ;;
*cc_nothing*) exit 0 ;;
esac
exec cc "$@"
"""

EXPECTED = {
    "fine": "ok", "orphans": "ok", "segv": "run_crash", "abort": "run_crash", "exit1": "run_crash", "hang": "run_timeout",
    "spin": "run_timeout", "orphans_hang": "run_timeout", "flood": "over_limit", "eat": "over_limit",
    "nothing": "wrong_result", "wrong": "wrong_result", "nan": "no_metric", "silent": "no_metric",
    "cc_hang": "build_timeout", "cc_crash": "build_error", "cc_error": "build_error", "cc_nothing": "build_error",
}

WORKLOAD = """hone: 1
name: faults
sources: [prog.c, fakecc]
controls: false
build: './fakecc {defines} prog.c -o {out}'
run: '{out}'
parameters:
  MODE: {type: choice, values: [%s], default: '"fine"'}
metrics: {source: lines, names: [cost]}
objectives: [minimize cost]
parity: {rule: exact}
stages: {build: 4 s, run: 3 s, memory: 128 MiB, output: 1 MB}
budget: {evaluations: 100}
""" % ", ".join("'\"%s\"'" % mode for mode in EXPECTED)

count = 0
failed = 0


def check(condition, name, detail=""):
    global count, failed
    count += 1
    failed += not condition
    print(f"{'' if condition else 'not '}ok {count} - {name}")
    if not condition and detail:
        print("\n".join("# " + line for line in str(detail).splitlines()))


def marked():
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            if int(pid) != os.getpid() and MARK.encode() in open(f"/proc/{pid}/environ", "rb").read():
                found.append(open(f"/proc/{pid}/cmdline", "rb").read().replace(b"\0", b" ").decode())
        except OSError:
            pass
    return found


def main():
    folder = tempfile.mkdtemp(prefix="hone-faults-")
    try:
        for name, text in (("prog.c", PROGRAM), ("fakecc", COMPILER), ("hone.yaml", WORKLOAD)):
            with open(os.path.join(folder, name), "w") as f:
                f.write(text)
        os.chmod(os.path.join(folder, "fakecc"), 0o755)
        env = dict(os.environ, **dict([MARK.split("=")]))
        run = subprocess.run([HONE, "tune", "hone.yaml"], cwd=folder, env=env, stdin=subprocess.DEVNULL,
                             capture_output=True, text=True, timeout=300)
        check(run.returncode == 0, "faults/search_goes_on_to_its_end", run.stdout[-800:] + run.stderr[-800:])
        db = sqlite3.connect(os.path.join(folder, ".hone", "hone.db"))
        rows = db.execute("SELECT point, class || ' ' || detail FROM trial WHERE phase = 'search'")
        seen = {json.loads(point)["MODE"].strip('"'): text for point, text in rows}
        for mode, want in EXPECTED.items():
            got = seen.get(mode, "missing")
            check(got.split()[0] == want, f"faults/{mode}_is_{want}", got[:600])
        left = marked()
        check(not left, "faults/no_process_is_left", "\n".join(left))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print(f"1..{count}")
    sys.exit(failed != 0)


main()
