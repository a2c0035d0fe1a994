#!/usr/bin/env python3
"""tests/skills/run.t: the skills of skills/, run as they stand. usage: run.t [FOLDER OF SKILLS [NAME...]]

Of each SKILL.md: the head (name, description), and the commands. Those in ```bash fences run in order, in one `bash -eu` in a
folder of its own, with what tests/skills/before.sh writes there; only numbers of budgets are made smaller (SMALLER). What must not
run stands in a fence of another kind; its words and those of `hone ...` in the text must still be commands and options of hone.
Prints TAP. At the end a planted bad skill of each kind must be found.
"""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.realpath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
HONE = os.path.realpath(os.path.join(os.environ.get("HONE_BUILD", os.path.join(ROOT, "build")), "hone"))  # without ASan: others run with it
CACHE = os.environ.get("XDG_CACHE_HOME", os.path.expanduser("~/.cache"))
SMALLER = [(r"--evals \d+", "--evals 3"), (r"--time \d+m", "--time 20s"), (r"--budget \S+", "--budget 2s"), (r"--seconds \S+", "--seconds 0.1")]
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.M | re.S)
LONGEST = 90, 1024  # lines of a skill, characters of a description


def hone(*words, **options):
    return subprocess.run([HONE, *words], capture_output=True, text=True, **options)


COMMANDS = {c["name"]: {o["name"] for o in c["options"]} for c in json.loads(hone("help", "--json").stdout)}


def head_faults(text, name):
    parts = text.split("---\n", 2)
    if len(parts) != 3 or parts[0]:
        return ["no head between two lines ---"]
    fields = dict(line.split(": ", 1) for line in parts[1].splitlines() if ": " in line)
    faults = [] if fields.get("name") == name else [f"its name is {fields.get('name')!r}, its folder's {name!r}"]
    if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name) or len(name) > 64:
        faults.append(f"{name!r} is no name of a skill")
    if not 1 <= len(fields.get("description", "")) <= LONGEST[1] or re.search(r": |[<>]", fields.get("description", "")):
        faults.append("its description is missing, too long, or no plain YAML")
    if set(fields) - {"name", "description"}:
        faults.append("its head has other fields than name and description")
    if len(text.splitlines()) > LONGEST[0]:
        faults.append(f"it has more than {LONGEST[0]} lines")
    return faults


def word_faults(text):
    """`hone COMMAND --option` wherever it stands."""
    faults = []
    fenced = "\n".join(body for _, body in FENCE.findall(text))
    for line in re.findall(r"`(hone [^`]*)`", FENCE.sub("", text)) + re.findall(r"^\s*(hone .*)$", fenced, re.M):
        words = line.split(" -- ")[0].split(" #")[0].split()
        if words[1].isupper() or words[1].startswith("-"):
            continue
        if words[1] not in COMMANDS:
            faults.append(f"'{line}': hone has no command '{words[1]}'")
            continue
        for word in words[2:]:
            if word.startswith("--") and word.split("=")[0][2:] not in COMMANDS[words[1]]:
                faults.append(f"'{line}': hone {words[1]} has no option {word}")
    return faults


def run_faults(text, name):
    script = "".join(body for kind, body in FENCE.findall(text) if kind == "bash")
    for pattern, smaller in SMALLER:
        script = re.sub(pattern, smaller, script)
    with tempfile.TemporaryDirectory(prefix="hone-skill-") as folder:
        os.mkdir(os.path.join(folder, "bin"))
        os.symlink(HONE, os.path.join(folder, "bin/hone"))
        work = os.path.join(folder, "work")
        os.mkdir(work)
        env = dict(os.environ, PATH=os.path.join(folder, "bin") + os.pathsep + os.environ["PATH"], HOME=folder, SKILL=name,
                   XDG_CACHE_HOME=CACHE)
        with open(os.path.join(folder, "script"), "w") as f:
            f.write(f". {os.path.join(HERE, 'before.sh')}\nset -x\n{script}")
        try:
            done = subprocess.run(["bash", "-eu", "-o", "pipefail", "../script"], cwd=work, env=env, capture_output=True, text=True,
                                  timeout=300, stdin=subprocess.DEVNULL)
        except subprocess.TimeoutExpired:
            return ["its commands ran longer than 300 s"]
    if done.returncode == 0:
        return []
    tail = (done.stdout[-1500:] + "\n" + done.stderr[-2500:]).strip()
    return [f"its commands ended with exit code {done.returncode}:\n{tail}"]


def faults_of(folder, name, run=True):
    path = os.path.join(folder, name, "SKILL.md")
    if not os.path.isfile(path):
        return ["it has no SKILL.md"]
    with open(path) as f:
        text = f.read()
    found = head_faults(text, name) + word_faults(text)
    return found if found or not run else run_faults(text, name)


PLANTED = {
    "broken-command": ("broken-command", "```bash\nhone status --all\n```\n"),  # there is no record: exit 6
    "unknown-option": ("unknown-option", "```text\nhone tune --evalz 3\n```\n"),
    "unknown-command": ("unknown-command", "Say `hone tuna` here.\n"),
    "other-name": ("another-name", ""),
}


class Tap:
    n, bad = 0, 0

    def ok(self, good, name, note=""):
        self.n += 1
        self.bad += not good
        print(f"{'' if good else 'not '}ok {self.n} - {name}", flush=True)
        if not good:
            print("\n".join("# " + line for line in note.splitlines()), flush=True)


def main():
    folder = sys.argv[1] if sys.argv[1:] else os.path.join(ROOT, "skills")
    names = sys.argv[2:] or sorted(os.listdir(folder))
    tap = Tap()
    for name in names:
        found = faults_of(folder, name)
        tap.ok(not found, f"skill/{name}", "\n".join(found))
    carried = {s["name"]: s["description"] for s in json.loads(hone("skills", "--json").stdout)}
    if not sys.argv[1:]:
        tap.ok(sorted(carried) == names, "skills/all_are_carried", f"{sorted(carried)} and {names}")
        same = all(hone("skills", "show", n).stdout == open(os.path.join(folder, n, "SKILL.md")).read() for n in names)
        tap.ok(same and all(carried.values()), "skills/carried_as_they_stand")
    with tempfile.TemporaryDirectory() as planted:
        for name, (told, body) in PLANTED.items():
            os.mkdir(os.path.join(planted, name))
            with open(os.path.join(planted, name, "SKILL.md"), "w") as f:
                f.write(f"---\nname: {told}\ndescription: A planted fault\n---\n{body}")
            tap.ok(bool(faults_of(planted, name)), f"planted/{name}_is_found")
    print(f"1..{tap.n}")
    return int(tap.bad > 0)


if __name__ == "__main__":
    shutil.which("bash") or sys.exit("bash is missing")
    sys.exit(main())
