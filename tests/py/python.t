#!/usr/bin/env python3
"""tests/py/python.t: the Python package: pytest over tests/py/test_*.py, reported as TAP.

Runs on the interpreter of build/venv with the package of build/python (make python) and with PYTHONMALLOC=debug, so that an
overrun or a use after free of the extension ends the run. HONE_PACKAGE names another folder with the package; where that is
one built with AddressSanitizer (tests/py/sanitized.t), what leaked is looked for at the end.
usage: python.t [K/N | pytest's arguments]   K/N: one of N processes that share the files: each takes the next that none has
taken ($HONE_TEST_SAID names a folder that one run of tests/run.sh has to itself)
"""
import faulthandler
import os
import re
import signal
import sys
import tempfile

ROOT = os.environ.get("HONE_ROOT", os.path.realpath(os.path.join(os.path.dirname(os.path.realpath(__file__)), "../..")))
BUILD = os.environ.get("HONE_BUILD", os.path.join(ROOT, "build"))
PACKAGE = os.environ.get("HONE_PACKAGE", os.path.join(BUILD, "python"))


def skip_all(why):
    print(f"1..0 # SKIP {why}")
    sys.exit(0)


def settle():
    """The right interpreter and environment, by executing ourselves once more."""
    if os.environ.get("HONE_IN_PYTEST"):
        return
    own = os.path.join(BUILD, "venv/bin/python")
    python = own if os.path.exists(own) else sys.executable
    path = os.pathsep.join([PACKAGE, *filter(None, [os.environ.get("PYTHONPATH")])])
    malloc = os.environ.get("PYTHONMALLOC", "debug")
    extra = {"HONE_IN_PYTEST": "1", "PYTHONPATH": path, "PYTHONMALLOC": malloc, "PYTHONFAULTHANDLER": "1", "HONE_ROOT": ROOT,
             "HONE_BUILD": BUILD, "PYTHONDONTWRITEBYTECODE": "1", "MPLBACKEND": "Agg"}
    os.execve(python, [python, os.path.realpath(__file__), *sys.argv[1:]], dict(os.environ, **extra))


settle()
try:
    import pytest
except ImportError:
    skip_all("pytest is not installed: tools/venv.sh tests puts it into build/venv")
try:
    import hone
except ImportError as error:
    skip_all(f"the package cannot be imported from {PACKAGE} ({error}): run make python")


def keep_to_ourselves(folder):
    """What is preloaded is for this interpreter and those that tests start, not for compilers."""
    libraries = os.environ.pop("LD_PRELOAD", "")
    if not libraries:
        return
    os.environ["HONE_PRELOADED"] = libraries
    wrapper = os.path.join(folder, "python")
    with open(wrapper, "w") as f:
        f.write(f'#!/bin/sh\nLD_PRELOAD="{libraries}" exec "{sys.executable}" "$@"\n')
    os.chmod(wrapper, 0o755)
    sys.executable = wrapper


class Tap:
    """One line per test; what failed follows as comments."""

    def __init__(self):
        self.n = 0

    def line(self, good, name, note=""):
        self.n += 1
        print(f"{'' if good else 'not '}ok {self.n} - {name}{note}", flush=True)
        if not good:
            print(f"python.t: failed: {name}", file=sys.stderr, flush=True)  # prove shows this, and no comment

    def pytest_runtest_logreport(self, report):
        name = report.nodeid.removeprefix("tests/py/").replace("#", "")
        if report.skipped:
            why = report.longrepr[2] if isinstance(report.longrepr, tuple) else ""
            self.line(True, name, " # SKIP " + why.removeprefix("Skipped: "))
        elif report.when == "call" or report.failed:
            self.line(report.passed, name + (f" ({report.duration:.0f} s)" if report.duration >= 5 else ""))
            if report.failed:
                print("\n".join(str(report.longrepr).splitlines()[-12:]), file=sys.stderr, flush=True)
            for text in [] if report.passed else str(report.longrepr).splitlines():
                print("# " + text)

    def pytest_collectreport(self, report):
        if report.failed:
            self.line(False, f"collect {report.nodeid}")
            print("\n".join("# " + text for text in str(report.longrepr).splitlines()))


class Limit:
    """A test that takes longer than LIMIT_S fails by name; one that does not even notice ends the process, and says where."""

    LIMIT_S = 7200 if os.environ.get("HONE_LONG") else 420

    def over(self, _number, _frame):
        raise TimeoutError(f"no end within {self.LIMIT_S} s")

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self):
        signal.signal(signal.SIGALRM, self.over)
        signal.alarm(self.LIMIT_S)
        faulthandler.dump_traceback_later(self.LIMIT_S + 60, exit=True)
        try:
            return (yield)
        finally:
            signal.alarm(0)
            faulthandler.cancel_dump_traceback_later()


class Level:
    """Models are compiled without optimisation, but for tests that are marked `optimised`, and in the long run (tests/helper/quick/cc)."""

    QUICK = os.path.dirname(os.environ.get("HONE_QUICK_CC", "")) + os.pathsep

    def pytest_configure(self, config):
        config.addinivalue_line("markers", "optimised: models are compiled at the levels that users get")

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item):
        plain = os.environ["PATH"].removeprefix(self.QUICK)
        quick = "HONE_QUICK_CC" in os.environ and not item.get_closest_marker("optimised")
        os.environ["PATH"] = self.QUICK + plain if quick else plain
        return (yield)


class Cost:
    """Seconds of each file of tests, for $HONE_TEST_SAID.cpu: of processor time, with that of processes that have ended, and of wall time."""

    def __init__(self):
        self.spent = {}

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item):
        before = os.times()
        try:
            return (yield)
        finally:
            user, system, user_below, system_below, wall = (b - a for a, b in zip(before, os.times()))
            spent = self.spent.setdefault(os.path.basename(item.location[0]), [0, 0, 0])
            for i, s in enumerate((user + user_below, system + system_below, wall)):
                spent[i] += s

    def pytest_sessionfinish(self):
        if "HONE_TEST_SAID" not in os.environ:
            return
        with open(os.environ["HONE_TEST_SAID"] + ".cpu", "a") as f:
            f.writelines("%.1f %.1f %.1f python.t:%s\n" % (*spent, name) for name, spent in self.spent.items() if spent[2] >= 1)


class Share:
    """Of the processes of one run of tests/run.sh, each file of tests is run by the first that comes to it."""

    def __init__(self):
        self.folder = os.environ.get("HONE_TEST_SAID", f"{tempfile.gettempdir()}/{os.getppid()}") + "-python.t"
        self.mine = {}
        os.makedirs(self.folder, exist_ok=True)

    def take(self, name):
        try:
            os.close(os.open(os.path.join(self.folder, name), os.O_CREAT | os.O_EXCL))
            return True
        except FileExistsError:
            return False

    def pytest_runtest_protocol(self, item):
        name = os.path.basename(item.location[0])
        if name not in self.mine:
            self.mine[name] = self.take(name)
        return None if self.mine[name] else True  # True: it has been seen to


def leaks():
    """Blocks that nothing points to and that the extension, or hone below it, asked for; None without AddressSanitizer.

    Looked for while the interpreter is whole: what it leaves at its end is its own. A block counts when the code next to the
    allocator, past Python's own functions, is ours.
    """
    import ctypes
    import gc

    check = getattr(ctypes.CDLL(None), "__lsan_do_recoverable_leak_check", None)
    if check is None or "detect_leaks=0" in os.environ.get("ASAN_OPTIONS", ""):
        return None
    gc.collect()
    with tempfile.TemporaryFile() as told:
        kept = os.dup(2)
        os.dup2(told.fileno(), 2)
        try:
            check()
        finally:
            os.dup2(kept, 2)
            os.close(kept)
        told.seek(0)
        text = told.read().decode(errors="replace")
    if "has encountered a fatal error" in text:
        return None
    ours = re.compile(r"_hone\.|(?:^|[ /])(?:python/)?src/\w+(?:/\w+)?\.c:", re.M)  # with and without lines of the source
    return [block for block in re.split(r"\n\s*\n", text) if "leak of" in block and ours.search(block)]


def main():
    print(f"# hone {hone.__version__} on Python {sys.version.split()[0]}", flush=True)
    tap = Tap()
    arguments = ["-p", "no:terminal", "-p", "no:cacheprovider", "-W", "error::ResourceWarning", "--rootdir", ROOT]
    share = [Share()] if re.fullmatch(r"\d+/\d+", " ".join(sys.argv[1:])) else []
    with tempfile.TemporaryDirectory() as folder:
        keep_to_ourselves(folder)
        tests = not share and sys.argv[1:] or [os.path.join(ROOT, "tests/py")]
        code = pytest.main([*arguments, *tests], plugins=[tap, Limit(), Level(), Cost(), *share])
    lost = leaks()
    if lost is not None:
        tap.line(not lost, "nothing leaks")
        for text in "\n\n".join(lost).splitlines():
            print("# " + text)
        code = code or bool(lost)
    print(f"1..{tap.n}")
    return int(code)


if __name__ == "__main__":
    sys.exit(main())
