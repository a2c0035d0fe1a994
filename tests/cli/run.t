#!/usr/bin/env python3
"""Runs the cases of the command line: tests/cli/NAME.sh against NAME.expected. TAP.

A case is a bash script. It runs in an empty folder, with `hone` in PATH, $HONE (the program), $CASES (this folder),
$ROOT (the repository), $SHARED (../shared, where there is one). What is compared is stdout and stderr merged, then a line
`exit N`. The names of the case's folder and of the repository are replaced by DIR and ROOT.

Lines in the head of a case: `# long` (runs only with tests/run.sh --long), `# quick` (tools of tests/helper/quick in front of PATH, but
with --long: models are compiled without optimisation), `# needs: WORD…` (skipped where the folder
../shared, a command or a file (a pattern that begins with /) is missing). UPDATE=1 rewrites the .expected files; HONE_CASE is a pattern of names.
"""
import concurrent.futures, difflib, fnmatch, glob, os, re, shutil, signal, subprocess, sys, tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.environ.get("HONE_ROOT", os.path.dirname(os.path.dirname(HERE)))
HONE = os.environ.get("HONE", os.path.join(ROOT, "build", "asan", "hone"))
SHARED = os.environ.get("HONE_SHARED", "")
LIMIT_S = 300 if os.environ.get("HONE_LONG") else 120


def head(path):
    """The markers in the comment lines at the top."""
    long, quick, needs = False, False, []
    with open(path, encoding="utf-8") as f:
        for line in f:
            if not line.startswith("#"):
                break
            long |= line.strip() == "# long"
            quick |= line.strip() == "# quick"
            found = re.match(r"#\s*needs:\s*(.*)", line)
            if found:
                needs += re.split(r"[,\s]+", found.group(1).strip())
    return long, quick, needs


def missing(need):
    if need.startswith("/"):  # a file that is no command
        return not glob.glob(need)
    return not SHARED if need == "shared" else shutil.which(need) is None


def skip_reason(path):
    long, _, needs = head(path)
    if long and not os.environ.get("HONE_LONG"):
        return "long: runs with tests/run.sh --long"
    lacking = [n for n in needs if missing(n)]
    return "needs " + ", ".join(lacking) if lacking else None


def run(path):
    """What the case prints, with its exit code as the last line."""
    folder = os.path.realpath(tempfile.mkdtemp(prefix="case-"))
    env = dict(os.environ, HONE=HONE, CASES=HERE, ROOT=ROOT, SHARED=SHARED, HOME=folder, TERM="dumb", COLUMNS="80",
               PATH=os.path.dirname(HONE) + ":" + os.environ.get("PATH", "/usr/bin:/bin"))
    if head(path)[1] and "HONE_QUICK_CC" in os.environ:
        env["PATH"] = os.path.dirname(os.environ["HONE_QUICK_CC"]) + ":" + env["PATH"]
    env.setdefault("RUSTUP_HOME", os.path.expanduser("~/.rustup"))  # a rustc of rustup's looks for itself in HOME
    env.pop("UPDATE", None)
    child = subprocess.Popen(["bash", path], cwd=folder, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                             stderr=subprocess.STDOUT, start_new_session=True)
    try:
        out, end = child.communicate(timeout=LIMIT_S)[0], f"exit {child.returncode}"
    except subprocess.TimeoutExpired:
        os.killpg(child.pid, signal.SIGKILL)
        out, end = child.communicate()[0], f"ran longer than {LIMIT_S} s"
    subprocess.run(["chmod", "-R", "u+rwX", folder], stderr=subprocess.DEVNULL)
    shutil.rmtree(folder, ignore_errors=True)
    text = out.decode("utf-8", "backslashreplace").replace(folder, "DIR").replace(ROOT, "ROOT")
    if text and not text.endswith("\n"):
        text += "\n(no newline at the end)\n"
    return text + end + "\n"


def cost(before, name):
    """The case's seconds of processor time and of wall time, for $HONE_TEST_SAID.cpu. This process runs one case at a time."""
    user, system, user_below, system_below, wall = (b - a for a, b in zip(before, os.times()))
    if "HONE_TEST_SAID" in os.environ and wall >= 1:
        with open(os.environ["HONE_TEST_SAID"] + ".cpu", "a") as f:
            f.write("%.1f %.1f %.1f run.t:%s\n" % (user + user_below, system + system_below, wall, name))


def judge(path):
    """(ok, lines that say why not)"""
    before = os.times()
    got, expected = run(path), path[:-3] + ".expected"
    cost(before, os.path.basename(path)[:-3])
    if os.environ.get("UPDATE"):
        with open(expected, "w", encoding="utf-8") as f:
            f.write(got)
        return True, []
    try:
        with open(expected, encoding="utf-8") as f:
            want = f.read()
    except OSError as why:
        return False, [f"{why}; UPDATE=1 writes it"] + got.splitlines()
    return got == want, list(difflib.unified_diff(want.splitlines(), got.splitlines(), "expected", "got", lineterm=""))


def main():
    pattern = os.environ.get("HONE_CASE", "*")
    cases = [n for n in sorted(os.listdir(HERE)) if n.endswith(".sh") and fnmatch.fnmatch(n[:-3], f"*{pattern}*")]
    if not cases:
        print("1..0 # SKIP no case of that name" if pattern != "*" else "1..0 # SKIP no cases")
        return 0
    failed = 0
    with concurrent.futures.ProcessPoolExecutor(2) as pool:
        why = {n: skip_reason(os.path.join(HERE, n)) for n in cases}
        jobs = {n: pool.submit(judge, os.path.join(HERE, n)) for n in cases if not why[n]}
        for i, n in enumerate(cases, 1):
            if why[n]:
                print(f"ok {i} - cli/{n[:-3]} # SKIP {why[n]}", flush=True)
                continue
            ok, lines = jobs[n].result()
            failed += not ok
            print(f"{'' if ok else 'not '}ok {i} - cli/{n[:-3]}", flush=True)
            for line in lines:
                print("#   " + line, flush=True)
                print("#   " + line, file=sys.stderr)
    print(f"1..{len(cases)}")
    return failed != 0


if __name__ == "__main__":
    sys.exit(main())
