#!/usr/bin/env python3
"""Programs that run on another machine (measure.on), tested on this one: by a fake ssh ($HONE_SSH) that can die on command,
and by an sshd of its own on loopback where openssh-server is installed. TAP."""
import ctypes, getpass, json, os, shutil, signal, socket, subprocess, sys, tempfile, threading, time

HERE = os.path.dirname(os.path.abspath(__file__))
HONE = os.environ.get("HONE", os.path.join(HERE, "../../build/asan/hone"))
count = failed = 0

# Runs its last word here, in a home of its own; refuses while the file `down` is there. Says who it is, to be killed.
FAKE = """#!/bin/sh
for last; do :; done
if [ -e "$FAKE/down" ]; then echo "ssh: connect to host far: Connection refused" >&2; exit 255; fi
echo "a greeting of the login shell"
echo $$ >"$FAKE/pid"
cd "$FAKE/home" && HOME=$FAKE/home exec sh -c "$last"
"""
PROGRAM = """#include <stdio.h>
#include <unistd.h>
int main(void) { int k = 0; FILE *f = fopen("table.txt", "r"); if (!f || fscanf(f, "%d", &k) != 1) return 3;
  usleep(1000 * N); printf("%d\\n", k); return 0; }
"""
WORKLOAD = """build: "gcc -O1 -DN={{N}} k.c -o {{out}}"
run: "{run}"
sources: [k.c, table.txt]
controls: false
parameters: {{N: {{type: int, range: [1, 8], default: 4}}}}
measure: {{on: "{url}", wait: {wait} s}}
stages: {{run: 20 s, {stages}}}
proof: {{pairs: 10, pairs_most: 10, variants: 3}}
budget: {{evaluations: 8}}
"""


def check(good, name, why=""):
    global count, failed
    count += 1
    failed += not good
    print(f"{'' if good else 'not '}ok {count} - far/{name}", flush=True)
    for line in str(why).splitlines()[-30:] if not good else []:
        print("#   " + line)
    return good


def skip(name, why):
    global count
    count += 1
    print(f"ok {count} - far/{name} # SKIP {why}", flush=True)


def kill(pid):
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def end_with_parent():
    """PR_SET_PDEATHSIG: what this test started does not outlive it."""
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)


class Fake:
    """A machine behind the fake ssh."""

    url = "ssh://me@far/~/there"

    def __init__(self, top):
        self.top = top
        os.makedirs(os.path.join(top, "home"))
        path = os.path.join(top, "ssh")
        with open(path, "w") as f:
            f.write(FAKE)
        os.chmod(path, 0o755)
        self.env = dict(os.environ, FAKE=top, HONE_SSH=path)
        self.there = os.path.join(top, "home/there")

    def die(self):
        open(os.path.join(self.top, "down"), "w").close()
        with open(os.path.join(self.top, "pid")) as f:
            kill(int(f.read()))

    def come_back(self):
        os.remove(os.path.join(self.top, "down"))


class Sshd:
    """An sshd of our own on loopback."""

    def __init__(self, top):
        self.top, self.process = top, None
        self.program = shutil.which("sshd", path=os.environ["PATH"] + ":/usr/sbin")
        for name in ("host", "user"):
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", os.path.join(top, name)], check=True)
        shutil.copy(os.path.join(top, "user.pub"), os.path.join(top, "keys"))
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            self.port = s.getsockname()[1]
        with open(os.path.join(top, "sshd_config"), "w") as f:
            f.write(f"ListenAddress 127.0.0.1\nPort {self.port}\nHostKey {top}/host\nAuthorizedKeysFile {top}/keys\nPidFile none\n"
                    "UsePAM no\nPasswordAuthentication no\nKbdInteractiveAuthentication no\nStrictModes no\nPermitRootLogin yes\n")
        with open(os.path.join(top, "ssh_config"), "w") as f:
            f.write(f"IdentityFile {top}/user\nIdentitiesOnly yes\nUserKnownHostsFile {top}/known\nStrictHostKeyChecking no\nLogLevel ERROR\n")
        self.env = dict(os.environ, HONE_SSH=f"ssh -F {top}/ssh_config")
        self.url = f"ssh://{getpass.getuser()}@127.0.0.1:{self.port}{top}/there"
        self.there = os.path.join(top, "there")

    def come_back(self):
        if os.geteuid() == 0:
            os.makedirs("/run/sshd", exist_ok=True)
        self.process = subprocess.Popen([self.program, "-D", "-e", "-f", os.path.join(self.top, "sshd_config")],
                                        stderr=subprocess.DEVNULL, start_new_session=True, preexec_fn=end_with_parent)
        for _ in range(100):
            with socket.socket() as s:
                if s.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            time.sleep(0.05)

    def children(self, pid):
        with open(f"/proc/{pid}/task/{pid}/children") as f:
            return [int(x) for x in f.read().split()]

    def die(self):
        todo, all_of = [self.process.pid], []
        while todo:
            pid = todo.pop()
            all_of.append(pid)
            try:
                todo += self.children(pid)
            except OSError:
                pass
        for pid in all_of:
            kill(pid)
        self.process.wait()


def folder(top, name, url, run="{out}", wait=60, stages="memory: 1 GiB"):
    path = os.path.join(top, "work", name)
    os.makedirs(path)
    for file, text in (("k.c", PROGRAM), ("table.txt", "7\n"),
                       ("hone.yaml", WORKLOAD.format(url=url, run=run, wait=wait, stages=stages))):
        with open(os.path.join(path, file), "w") as f:
            f.write(text)
    return path


def hone(path, env, *words):
    return subprocess.run([HONE, *words], cwd=path, env=env, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=110)


def trials(path, env):
    run = hone(path, env, "results", "--all", "--json")
    return [t for t in json.loads(run.stdout)["trials"] if t["phase"] == "search"] if run.returncode == 0 else []


def whole(path, env):
    """Eight trials, each point once, all of them good."""
    seen = trials(path, env)
    return sorted(t["point"]["N"] for t in seen) == list(range(1, 9)) and all(t["class"] == "ok" for t in seen)


def works(top, machine, name):
    path = folder(top, name, machine.url, run="{out}; cat {src}/table.txt")
    run = hone(path, machine.env, "tune")
    check(run.returncode == 0 and whole(path, machine.env), f"{name}_tunes", run.stderr)
    session = json.loads(hone(path, machine.env, "status", "--json").stdout)
    check(machine.url in json.dumps(session), f"{name}_the_record_names_the_machine", session)
    left = os.listdir(os.path.join(machine.there, "w"))
    check(left == [] and os.listdir(os.path.join(machine.there, "blobs")), f"{name}_folders_are_removed", left)
    run = hone(path, machine.env, "doctor", "--on", machine.url)
    check(run.returncode == 0 and "processor" in run.stdout and "free in hone's folder" in run.stdout, f"{name}_doctor", run.stderr)


def lost_and_regained(top, machine, name):
    path = folder(top, name, machine.url, run="sleep 0.1; {out}")
    tune = subprocess.Popen([HONE, "tune"], cwd=path, env=machine.env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)

    def trouble():
        for line in tune.stderr:
            said.append(line)

    said = []
    reader = threading.Thread(target=trouble)
    reader.start()
    until = time.time() + 60
    for n in (2, 5):  # lost twice
        while len(trials(path, machine.env)) < n and time.time() < until and tune.poll() is None:
            time.sleep(0.05)
        machine.die()
        time.sleep(1.2)
        machine.come_back()
    tune.wait(timeout=60)
    reader.join()
    text = "".join(said)
    check(tune.returncode == 0 and whole(path, machine.env), f"{name}_no_trial_is_lost", text)
    check(text.count("is back") == 2 and "does not answer" in text, f"{name}_is_told", text)


def stays_away(top, machine, name):
    path = folder(top, name, machine.url, run="sleep 0.05; {out}", wait=1)
    tune = subprocess.Popen([HONE, "tune"], cwd=path, env=machine.env, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    while len(trials(path, machine.env)) < 2 and tune.poll() is None:
        time.sleep(0.05)
    machine.die()
    text = tune.communicate(timeout=60)[1]
    before = len(trials(path, machine.env))
    check(tune.returncode == 4 and "has not answered for 1 s" in text and 2 <= before < 8, f"{name}_ends_the_search", text)
    run = hone(path, machine.env, "tune")
    check(run.returncode == 4 and "cannot run anything on" in run.stderr, f"{name}_is_an_error_at_once", run.stderr)
    machine.come_back()
    run = hone(path, machine.env, "tune")
    check(run.returncode == 0 and whole(path, machine.env) and "session 1" in run.stdout, f"{name}_goes_on_later", run.stderr)


def kills_its_machine(top, machine, name):
    """A program that takes the machine with it each time is a failed trial, not an endless search."""
    run = "[ {N} != 6 ] || kill -9 $(cat $FAKE/pid); {out}"
    path = folder(top, name, machine.url, run=run, stages="confine: false")
    tune = hone(path, machine.env, "tune")
    bad = {t["point"]["N"]: (t["class"], t.get("detail") or "") for t in trials(path, machine.env) if t["class"] != "ok"}
    check(tune.returncode == 0 and list(bad) == [6] and bad[6][0] == "run_crash" and "was lost each of the 3 times" in bad[6][1],
          f"{name}_is_a_failed_trial", f"{bad}\n{tune.stderr}")


def confined(top, machine, name):
    path = folder(top, name, machine.url, run="[ {N} != 5 ] || echo x >$FAKE/home/mine || exit 4; {out}")
    run = hone(path, machine.env, "tune")
    offered = "their private folder alone" in hone(path, machine.env, "doctor", "--on", machine.url).stdout
    if not offered:
        return skip(f"{name}_there_too", "this kernel confines nothing")
    bad = {t["point"]["N"]: t["detail"] for t in trials(path, machine.env) if t["class"] == "run_crash"}
    check(not os.path.exists(os.path.join(machine.there, "../mine")) and list(bad) == [5] and "stages.confine" in bad[5],
          f"{name}_there_too", f"{bad}\n{run.stderr}")


def proves(top, machine, name):
    path = folder(top, name, machine.url)
    hone(path, machine.env, "tune")
    run = hone(path, machine.env, "validate")
    check(run.returncode in (0, 17) and "verdict" in run.stdout and " 10  " in run.stdout, f"{name}_over_there",
          f"{run.returncode}\n{run.stdout}{run.stderr}")


def frame(kind, *fields, raw=b""):
    body = b"".join(f.encode() + b"\0" for f in fields) + raw
    return f"hn{kind}{len(body):012d}\n".encode() + body


def agent_stands(top, machine):
    """What the agent answers to messages that are wrong; none ends it but a head that is none."""
    folder = os.path.join(top, "agent")
    os.makedirs(folder)
    agent = os.path.join(machine.there, [n for n in os.listdir(machine.there) if n.startswith("agent-")][0])
    zero = "0" * 32
    wrong = {
        "path_outside": frame("f", "slot", "../../x", "420", "1", zero), "absolute_path": frame("l", "slot", "/tmp/x", "420", "1", zero),
        "folder_outside": frame("l", "../x"), "no_hash": frame("f", "slot", "x", "420", "1", "../../etc/passwd"),
        "content_nobody_sent": frame("l", "slot", "x", "420", "1", zero), "cut_off": frame("l", "slot", "x", "420", raw=b"1"),
        "content_without_hash": frame("b", "../x", raw=b"text"), "empty_run": frame("r"), "run_of_garbage": frame("r", "slot", "true", *["x"] * 20),
    }
    for name, message in wrong.items():
        run = subprocess.run([agent], cwd=folder, input=message + frame("i"), capture_output=True, timeout=20)
        kinds = [run.stdout[i + 2:i + 3] for i in range(len(run.stdout)) if run.stdout[i:i + 2] == b"hn" and run.stdout[i + 3:i + 15].isdigit()]
        check(run.returncode == 0 and kinds == [b"e", b"i"], f"agent_refuses {name}", f"{run.returncode} {kinds} {run.stdout[:300]}")
    run = subprocess.run([agent], cwd=folder, input=b"GET / HTTP/1.1 and more\n", capture_output=True, timeout=20)
    check(run.returncode == 0 and run.stdout == b"\nhone-far 1\n" and os.listdir(os.path.join(folder, "w")) == [], "agent_ends_at_garbage", run)
    check(sorted(os.listdir(top)) == ["agent", "fake", "sshd", "work"], "agent_wrote_nothing_outside", os.listdir(top))


def refuses(top, env):
    bad = {"gpu1": "does not begin with ssh://", "ssh://": "names no host", "ssh://-oProxyCommand=x": "names no host",
           "ssh://a b": "names no host", "ssh://h:x/": "port is no number", "ssh://h:123456": "port is no number",
           "ssh://u;x@h": "user's name is odd", "ssh://h/a'b": "cannot be there"}
    for url, why in bad.items():
        run = hone(top, env, "doctor", "--on", url)
        if not check(run.returncode == 3 and why in run.stderr, f"bad_url {url}", f"{run.returncode} {run.stderr}"):
            break
    path = folder(top, "bad", "ftp://x")
    run = hone(path, env, "tune")
    check(run.returncode == 3 and run.stderr.startswith("hone: hone.yaml:6:"), "bad_url_has_its_place", run.stderr)


def main():
    with tempfile.TemporaryDirectory(prefix="far-") as top:
        for name in ("fake", "sshd", "work"):
            os.makedirs(os.path.join(top, name))
        fake = Fake(os.path.join(top, "fake"))
        works(top, fake, "fake")
        lost_and_regained(top, fake, "fake_lost")
        stays_away(top, fake, "fake_away")
        kills_its_machine(top, fake, "fake_killed")
        confined(top, fake, "fake_confined")
        proves(top, fake, "fake_proves")
        agent_stands(top, fake)
        refuses(top, fake.env)
        if not shutil.which("sshd", path=os.environ["PATH"] + ":/usr/sbin") or not shutil.which("ssh-keygen"):
            skip("sshd", "needs openssh-server")
        else:
            sshd = Sshd(os.path.join(top, "sshd"))
            sshd.come_back()
            try:
                works(top, sshd, "sshd")
                lost_and_regained(top, sshd, "sshd_lost")
            finally:
                sshd.die()
    print(f"1..{count}")
    return failed != 0


sys.exit(main())
