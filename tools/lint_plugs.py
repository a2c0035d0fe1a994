#!/usr/bin/env python3
"""Counts what adding one of each plug point touches. usage: lint_plugs.py [ROOT] | lint_plugs.py --overlay NAME DIR [ROOT]

Each folder tests/plugs/NAME describes one addition in plug.txt (tests/plugs/README.md has the form). Printed are the files it
touches besides its own and its page in docs/; more than four is a fault, and so is an edit whose place is no longer found.
--overlay writes the tree with the addition made into DIR, as links to ROOT's files; tests/plugs/run.t builds and runs it.
"""
import fnmatch, os, re, sys

from lint_lengths import TOKEN, blank

MOST = 4
OVERLAY = ("src", "include", "cli", "docs", "examples", "tests/unit", "tests/plugs", "tests/cli", "tools", "Makefile")
SEARCHED = ("src", "include", "cli", "python", "tools", "Makefile")  # for the word of an addition that the tree has


class Fault(Exception):
    pass


class Plug:
    def __init__(self, root, name):
        self.root, self.name, self.folder = root, name, os.path.join(root, "tests", "plugs", name)
        self.head = {"plug": [], "page": [], "own": [], "add": [], "word": [], "test": []}
        self.edits = []  # [path, "after" or "before", text sought, lines]
        with open(os.path.join(self.folder, "plug.txt"), encoding="utf-8") as f:
            for n, line in enumerate(f, 1):
                self.read(n, line.rstrip("\n"))
        for key in ("plug", "page", "own"):
            if not self.head[key]:
                raise Fault(f"tests/plugs/{name}/plug.txt: no '{key}:'")

    def read(self, n, line):
        if line.startswith("+"):
            return self.edits[-1][3].append(line[1:])
        key, _, value = line.partition(":")
        key, value = key.strip(), value.strip()
        if not line.strip() or line.startswith("#"):
            return None
        if key == "edit":
            self.edits.append([value, None, None, []])
        elif key in ("after", "before", "replace") and self.edits:
            last = self.edits[-1]
            if last[1]:  # another place in the same file
                self.edits.append([last[0], key, value, []])
            else:
                last[1:3] = [key, value]
        elif key in self.head:
            self.head[key].append(value)
        else:
            raise Fault(f"tests/plugs/{self.name}/plug.txt:{n}: '{key}' is not a word of this form")
        return None

    def one(self, key):
        return self.head[key][0]

    def mine(self, path):
        return any(fnmatch.fnmatch(path, own) or path.startswith(own.rstrip("/") + "/")
                   for value in self.head["own"] for own in value.split())

    def added(self):
        """{path: source}: files that the addition brings."""
        out = {}
        for value in self.head["add"]:
            path, _, source = value.partition(" ")
            out[path] = os.path.join(self.root, source.strip() or os.path.join("tests/plugs", self.name, path))
        return out

    def edited(self):
        """{path: text}: files of the tree as the addition changes them."""
        out = {}
        for path, how, sought, lines in self.edits:
            if path not in out:
                with open(os.path.join(self.root, path), encoding="utf-8") as f:
                    out[path] = f.read().split("\n")
            at = [i for i, line in enumerate(out[path]) if line == sought]  # a whole line before a part of one
            at = at or [i for i, line in enumerate(out[path]) if sought in line]
            if not at:
                raise Fault(f"tests/plugs/{self.name}/plug.txt: no line with '{sought}' in {path}")
            first = at[0] + (how == "after")
            out[path][first:at[0] + 1 if how == "replace" else first] = lines
        return {path: "\n".join(lines) for path, lines in out.items()}

    def named(self):
        """Files that hold the word of an addition which the tree has already; comments do not count."""
        word = re.compile(self.one("word"))
        for path in walk(self.root, SEARCHED):
            if path.endswith((".c", ".h", ".def", ".py", "Makefile")):
                with open(os.path.join(self.root, path), encoding="utf-8", errors="replace") as f:
                    text = f.read()
                texts = r'//[^\n]*|/\*.*?\*/|#[^\n]*' if path.endswith(".py") else r'//[^\n]*|/\*.*?\*/'
                if word.search(TOKEN.sub(lambda m: blank(m) if re.match(texts, m.group(0), re.S) else m.group(0), text)):
                    yield path

    def touched(self):
        paths = set(self.added()) | set(self.edited())
        if self.head["word"]:
            paths |= set(self.named())
        return sorted(p for p in paths if not self.mine(p) and p not in self.one("page").split())


def walk(root, tops):
    for top in tops:
        if os.path.isfile(os.path.join(root, top)):
            yield top
        for path, _, names in os.walk(os.path.join(root, top)):
            for name in sorted(names):
                yield os.path.relpath(os.path.join(path, name), root)


def plugs(root):
    base = os.path.join(root, "tests", "plugs")
    for name in sorted(os.listdir(base)) if os.path.isdir(base) else []:
        if os.path.isfile(os.path.join(base, name, "plug.txt")):
            yield Plug(root, name)


def overlay(plug, top):
    """The tree with the addition made; what is not changed is a link."""
    changed = {path: open(source, encoding="utf-8").read() for path, source in plug.added().items()}
    changed.update(plug.edited())
    for path in {*walk(plug.root, OVERLAY), *changed}:
        to = os.path.join(top, path)
        os.makedirs(os.path.dirname(to), exist_ok=True)
        if path in changed:
            with open(to, "w", encoding="utf-8") as f:
                f.write(changed[path])
        else:
            os.symlink(os.path.join(os.path.abspath(plug.root), path), to)
    return changed


def main():
    if sys.argv[1:2] == ["--overlay"]:
        overlay(Plug((sys.argv[4:] or ["."])[0], sys.argv[2]), sys.argv[3])
        return 0
    faults = 0
    try:
        for plug in plugs((sys.argv[1:] or ["."])[0]):
            files = plug.touched()
            many = len(files) > MOST
            faults += many
            print(f"{plug.one('plug')} ({plug.name}): touches {len(files)} file{'s' * (len(files) != 1)} besides "
                  f"{' '.join(plug.head['own'])} and {plug.one('page')}: {' '.join(files) or 'none'}"
                  + f"; more than {MOST}" * many)
    except (Fault, OSError) as fault:
        print(fault)
        faults += 1
    return faults != 0


if __name__ == "__main__":
    sys.exit(main())
