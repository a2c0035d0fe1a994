#!/usr/bin/env python3
"""Winners at a server of PostgreSQL: a private cluster on a UNIX socket, run by a user without rights. TAP.

The cases of tests/unit/record/test_winners.c on that server; the commands; schema and rows under concurrent writers; a server
that is away, stopped, or refuses; no password in any message. Skipped without PostgreSQL's programs."""
import glob, json, os, pwd, re, shutil, signal, subprocess, sys, tempfile, time
from concurrent.futures import ThreadPoolExecutor

BUILD = os.environ.get("HONE_BUILD", os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../build"))
HONE = os.environ.get("HONE", os.path.join(BUILD, "hone"))
UNIT = os.path.join(BUILD, "asan/tests/unit/record/test_winners")
PORTABLE = os.path.join(BUILD, "portable/hone")
SECRET = "s3cr3t-Pa55"
MODEL = """ir 1
input %0 : f32[64, 96] "x"
input %1 : f32[96, 64] "w"
%2 = contract %0, %1 {lhs = [0, 1], rhs = [1, 2], out = [0, 2], dtype = f32}
output %2 "y"
"""
count = failed = 0
said = []  # all that hone printed


def check(good, name, why=""):
    global count, failed
    count += 1
    failed += not good
    print(f"{'' if good else 'not '}ok {count} - winners_server/{name}", flush=True)
    for line in str(why).splitlines()[:40] if not good else []:
        print("#   " + line)


def tool(name):
    found = sorted(glob.glob(f"/usr/lib/postgresql/*/bin/{name}"))
    return shutil.which(name) or (found[-1] if found else None)


class Cluster:
    """A server of its own in a folder, as a user without rights."""

    def __init__(self, top):
        self.data, self.top = os.path.join(top, "data"), top
        self.user = {}
        if os.getuid() == 0:
            name = next(n for n in ("postgres", "nobody") if n in {p.pw_name for p in pwd.getpwall()})
            self.user = {"user": name, "group": pwd.getpwnam(name).pw_gid, "extra_groups": []}
            os.chown(top, pwd.getpwnam(name).pw_uid, -1)
        with open(os.path.join(top, "pw"), "w") as f:
            f.write(SECRET + "\n")
        os.chmod(f.name, 0o644)
        self.call("initdb", "-D", self.data, "-U", "hone", "-E", "UTF8", "--locale=C", "-N", "-A", "scram-sha-256", f"--pwfile={f.name}")
        self.start()

    def call(self, name, *words):
        return subprocess.run([tool(name), *words], cwd=self.top, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **self.user)

    def start(self):
        self.call("pg_ctl", "-D", self.data, "-l", os.path.join(self.top, "log"), "-w", "-o",
                  f"-k {self.top} -c listen_addresses='' -c fsync=off -c shared_buffers=16MB -c max_connections=40", "start")
        with open(os.path.join(self.data, "postmaster.pid")) as f:
            self.pid = int(f.readline())

    def stop(self):
        self.call("pg_ctl", "-D", self.data, "-m", "immediate", "-w", "stop")

    def url(self, user="hone", password=SECRET, database="postgres", more=""):
        return f"postgresql://{user}:{password}@/{database}?host={self.top}{more}"

    def sql(self, text):
        run = subprocess.run([tool("psql"), "-X", "-A", "-t", "-q", "-v", "ON_ERROR_STOP=1", "-d", self.url(), "-c", text], capture_output=True, text=True)
        return run.stdout.strip() if run.returncode == 0 else "failed: " + run.stderr


def hone(*words, url=None, program=HONE, **env):
    run = subprocess.run([program, *words], capture_output=True, text=True, timeout=120, stdin=subprocess.DEVNULL,
                         env={**os.environ, **({"HONE_WINNERS": url} if url else {}), **env})
    said.append(run.stdout + run.stderr)
    return run


def text_of(lo, pairs=100, body="b", code="bb", at=1):
    """A row as `hone winners export` writes it, without its id."""
    keys = {"kind": "map", "body": body, "target": "x86-64", "device": "d", "driver": "", "compiler": "gcc", "numeric": "exact", "schedules": "1",
            "sizes": "", "schedule": "plain", "cc": "", "cc_identity": "", "flags": "", "code": "aa", "default_code": code, "provenance": f"m{lo}",
            "default_s": 1, "tuned_s": 0.5, "gain_lo": lo, "gain": lo + 1, "gain_hi": lo + 2, "pairs": pairs, "at_s": at}  # fmt: skip
    rows = "".join(f"    {k}: {json.dumps(v)}\n" for k, v in keys.items())
    return "hone-winners: 1\nwinners:\n  - " + rows.lstrip()


def of_unit(db):
    """The same cases as on a file."""
    broken = f"{tool('psql')} -X -q -d '{db.url()}' -c 'select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid() and backend_type = $$client backend$$' >/dev/null"
    run = subprocess.run([UNIT], capture_output=True, text=True, timeout=120, env={**os.environ, "HONE_TEST_WINNERS": db.url(), "HONE_TEST_BREAK": broken})
    bad = [line for line in run.stdout.splitlines() if line.startswith("not ok")]
    check(run.returncode == 0 and "find_connects_again" in run.stdout, "cases_of_a_file_hold_on_a_server", "\n".join(bad) + run.stderr)


def of_commands(db, folder):
    url, model = db.url(), os.path.join(folder, "m.ir")
    with open(model, "w") as f:
        f.write(MODEL)
    run = hone("winners", "list", url=url)
    check(run.returncode == 6 and "makes their tables" in run.stderr, "nothing_there_is_said", run.stderr)
    tune = subprocess.Popen([HONE, "tune", model, "--budget", "100s", "--json", "-q"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                            env={**os.environ, "HONE_WINNERS": url})  # fmt: skip
    end = time.time() + 90
    while time.time() < end and tune.poll() is None and not db.sql("select count(*) from hone.winner_trial").strip("0").isdigit():
        time.sleep(0.2)
    tune.send_signal(signal.SIGINT)
    out, err = tune.communicate(timeout=60)
    said.append(out + err)
    check(out and json.loads(out)["winners"] == "postgresql:///postgres", "tune_keeps_them_there", out + err)
    n = db.sql("select count(*) from hone.winner_trial")
    check(n.isdigit() and int(n) > 0, "trials_are_shared", n)
    run = hone("compile", model, "-o", os.path.join(folder, "m"), "--json", url=url)
    check(run.returncode == 0 and "not looked at" not in run.stdout + run.stderr, "compile_looks_there", run.stdout + run.stderr)
    with open(os.path.join(folder, "w.yaml"), "w") as f:
        f.write(text_of(1.5, body="x\u00e4\u4e2d\n"))
    run = hone("winners", "import", f.name, "--winners", url)
    check(run.returncode == 0 and "1 of them new" in run.stdout, "import", run.stdout + run.stderr)
    run = hone("winners", "import", f.name, url=url.replace("postgresql:", "postgres:"))
    check(run.returncode == 0 and "0 of them new" in run.stdout, "import_again", run.stdout + run.stderr)
    run = hone("winners", "export", url=url)
    other = hone("winners", "import", f.name, "--winners", os.path.join(folder, "o.db"))
    mine = hone("winners", "list", "--json", url=url)
    check(run.returncode == 0 and run.stdout.count("- id:") == len(json.loads(mine.stdout)) > 0, "export", run.stdout)
    row = next(w for w in json.loads(mine.stdout) if w["provenance"] == "m1.5")
    check(row["body"] == "x\u00e4\u4e2d\n" and row["gain_lo"] == 1.5 and other.returncode == 0, "text_and_numbers_come_back", row)
    run = hone("winners", "prune", row["id"][:12], url=url)
    check(run.returncode == 0 and run.stdout.startswith("1 of"), "prune", run.stdout + run.stderr)


def of_writers(db, folder):
    """Eight begin with an empty database, each writes its proof of one key and a row of its own, in both orders."""
    db.sql("drop schema hone cascade")
    words = []
    for i in range(8):
        with open(os.path.join(folder, f"w{i}.yaml"), "w") as f:
            both = [text_of(1 + (i * 5 % 8) / 100, body="same"), text_of(1.5, body=f"own {i}").split("winners:\n")[1]]
            f.write("".join(both))
        words.append(f.name)
    with ThreadPoolExecutor(8) as pool:
        runs = list(pool.map(lambda w: hone("winners", "import", w, url=db.url()), words))
    check(all(r.returncode == 0 for r in runs), "eight_begin_at_once", "\n".join(r.stderr for r in runs))
    rows = json.loads(hone("winners", "list", "--json", url=db.url()).stdout)
    same = [w for w in rows if w["body"] == "same"]
    check(len(rows) == 9 and len(same) == 1 and same[0]["gain_lo"] == 1.07, "the_better_proof_stays_whoever_came_last", rows)
    check(db.sql("select count(*), max(version) from hone.format") == "1|1", "one_format", db.sql("select * from hone.format"))
    db.sql("update hone.format set version = 99")
    run = hone("winners", "list", url=db.url())
    check(run.returncode == 12 and "newer hone" in run.stderr, "a_newer_format_is_refused", run.stderr)
    db.sql("update hone.format set version = 1")


def of_rights(db):
    db.sql("create role reader login password 'reader'; grant usage on schema hone to reader; grant select on all tables in schema hone to reader")
    url = db.url(user="reader", password="reader")
    run = hone("winners", "list", url=url)
    check(run.returncode == 0, "a_reader_reads", run.stderr)
    run = hone("winners", "prune", "--all", url=url)
    check(run.returncode == 12 and "permission denied" in run.stderr and "docs/winners.md" in run.stderr, "a_reader_writes_nothing", run.stderr)


def of_faults(db, folder):
    model = os.path.join(folder, "m.ir")
    run = hone("winners", "list", url=db.url(password="wr0ng-" + SECRET))
    check(run.returncode == 12 and "authentication failed" in run.stderr, "a_wrong_password", run.stderr)
    run = hone("winners", "list", url=db.url(database="none"))
    check(run.returncode == 12 and '"none" does not exist' in run.stderr, "no_such_database", run.stderr)
    for bad in (f"postgresql://hone:{SECRET}", f"postgresql://hone:{SECRET}/x@db/hone", f"postgresql://h/d?passwrd={SECRET}", f"postgresql://h/d?{SECRET}",
                f"postgresql://hone:%zz{SECRET}@h/d", f"mysql://hone:{SECRET}@h/d"):  # fmt: skip
        run = hone("winners", "list", url=bad)
        check(run.returncode == 2 and "postgresql://" in run.stderr, "a_url_that_is_none", bad + ": " + run.stderr)
    if os.path.exists(PORTABLE):
        run = hone("winners", "list", url=db.url(), program=PORTABLE)
        check(run.returncode == 14 and "plain `make`" in run.stderr, "the_portable_program_says_so", run.stderr)
    os.kill(db.pid, signal.SIGSTOP)
    try:
        begin = time.time()
        run = hone("winners", "list", url=db.url(more="&connect_timeout=2"))
        check(run.returncode == 12 and "timeout expired" in run.stderr, "a_server_that_hangs", f"{time.time() - begin} s: {run.stderr}")
    finally:
        os.kill(db.pid, signal.SIGCONT)
    db.stop()
    run = hone("winners", "list", url=db.url())
    check(run.returncode == 12 and "cannot reach the winners at 'postgresql:///postgres'" in run.stderr and "HONE_WINNERS" in run.stderr, "a_server_that_is_away", run.stderr)
    run = hone("tune", model, "--budget", "2s", url=db.url())
    check(run.returncode == 12 and "cannot reach" in run.stderr, "tune_does_not_begin", run.stderr)
    run = hone("compile", model, "-o", os.path.join(folder, "a"), "--winners", db.url())
    check(run.returncode == 12 and "cannot reach" in run.stderr, "compile_with_one_named", run.stderr)
    local = os.path.join(folder, "data")
    hone("winners", "import", os.path.join(folder, "w.yaml"), XDG_DATA_HOME=local)
    run = hone("compile", model, "-o", os.path.join(folder, "a"), url=db.url(), XDG_DATA_HOME=local)
    check(run.returncode == 0 and "those of this machine are taken instead" in run.stdout, "compile_goes_on_with_the_local_file", run.stdout + run.stderr)
    run = hone("compile", model, "-o", os.path.join(folder, "a"), url=db.url(), XDG_DATA_HOME=os.path.join(folder, "none"))
    check(run.returncode == 0 and "not looked at: cannot reach" in run.stdout, "compile_goes_on_without_one", run.stdout + run.stderr)


def main():
    if not all(tool(name) for name in ("initdb", "pg_ctl", "psql")):
        print("1..0 # SKIP needs PostgreSQL's initdb, pg_ctl and psql")
        return 0
    if not os.path.exists("/tmp"):
        print("1..0 # SKIP needs /tmp, for a short path of a socket")
        return 0
    with tempfile.TemporaryDirectory(prefix="hone-pg-", dir="/tmp") as top, tempfile.TemporaryDirectory(prefix="winners-server-") as folder:
        os.chmod(top, 0o755)
        db = Cluster(top)
        try:
            of_commands(db, folder)
            of_unit(db)
            of_writers(db, folder)
            of_rights(db)
            of_faults(db, folder)
        finally:
            if os.path.exists(os.path.join(db.data, "postmaster.pid")):
                db.stop()
    check(not [s for s in said if SECRET in s], "no_message_holds_a_password", [s for s in said if SECRET in s])
    print(f"1..{count}")
    return failed != 0


sys.exit(main())
