"""Every python block of docs/python*.md and of the README's section on Python runs.

The blocks of a page are one program, run in a folder of its own. A block in another language whose first line is `# NAME` is
the file NAME there. `<!-- needs: PACKAGE -->` in front of a block: it is left out, and shown as skipped, without the package.
"""
import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(os.environ.get("HONE_ROOT", Path(__file__).resolve().parents[2]))
PAGES = [*sorted((ROOT / "docs").glob("python*.md")), ROOT / "README.md"]
BLOCK = re.compile(r"(?:^<!-- needs: (?P<needs>[\w. ]+) -->\n)?^```(?P<language>\w+)\n(?P<text>.*?)^```$", re.M | re.S)


def blocks(page):
    """(line, language, needs, text) of each."""
    text = page.read_text(encoding="utf-8")
    for found in BLOCK.finditer(text):
        line = text[: found.start("text")].count("\n") + 1
        yield line, found["language"], (found["needs"] or "").split(), found["text"]


def missing(needs):
    return [name for name in needs if importlib.util.find_spec(name) is None]


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_page(page, tmp_path):
    program = []
    for line, language, needs, text in blocks(page):
        if language == "python" and not missing(needs):
            program += ["\n"] * (line - 1 - len(program)) + text.splitlines(keepends=True)  # its lines keep their numbers
        named = re.match(r"# ([\w.\-]+)\n", text)
        if named and language != "python":
            (tmp_path / named[1]).write_text(text)
    if not program:
        pytest.skip("no python block")
    (tmp_path / "page.py").write_text("".join(program))
    done = subprocess.run([sys.executable, "page.py"], cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]


LEFT_OUT = [(page, line, needs) for page in PAGES for line, language, needs, _ in blocks(page) if language == "python" and needs]


@pytest.mark.parametrize("page, line, needs", LEFT_OUT, ids=lambda x: x.name if isinstance(x, Path) else str(x))
def test_block_that_needs_a_package(page, line, needs):
    if missing(needs):
        pytest.skip(f"needs {', '.join(missing(needs))}, not installed")
