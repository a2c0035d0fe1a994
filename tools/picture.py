#!/usr/bin/env python3
"""Draws docs/latency.svg, the picture of the README, from the tables of docs/figures.md.

usage: tools/picture.py [--check]      --check: is the file what the tables say?
"""
import os, re, sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
MACHINES = [("### Beside ONNX Runtime", "Intel Xeon (AVX-512)", "#2563a8"), ("### On Zen 4", "AMD EPYC (Zen 4)", "#d9822b")]
RATIO = re.compile(r"^([0-9.]+) \(([0-9.]+) \.\. ([0-9.]+)\)$")
LEFT, WIDTH, ROW, BAR, TOP = 120, 520, 44, 15, 56


def table(text, heading):
    """Model -> (ratio, low, high) of the rows for one thread under a heading."""
    lines = text.split(heading + "\n", 1)[1].splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("| model |"))
    names = [cell.strip() for cell in lines[start].strip("|").split("|")]
    column = next(i for i, name in enumerate(names) if name.lower().replace(" ", "") == "hone/onnxruntime")
    rows = {}
    for line in lines[start + 2 :]:
        if not line.startswith("|"):
            break
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if cells[names.index("threads")] == "1":
            rows[cells[0]] = tuple(float(x) for x in RATIO.match(cells[column]).groups())
    return rows


def text_at(x, y, words, more=""):
    return f'<text x="{x:g}" y="{y:g}" {more}>{words}</text>'


def picture(tables):
    models = list(tables[0])
    height = TOP + ROW * len(models) + 44
    scale = WIDTH / 1.1
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{LEFT + WIDTH + 40}" height="{height}" '
        'font-family="sans-serif" font-size="13" fill="#222">',
        '<rect width="100%" height="100%" fill="#fff"/>',
        text_at(12, 22, "Time of one inference, hone / ONNX Runtime 1.31.1; one thread, shorter is faster", 'font-weight="bold"'),
    ]
    for k, (_, name, colour) in enumerate(MACHINES):
        out.append(f'<rect x="{LEFT + 170 * k}" y="33" width="11" height="11" fill="{colour}"/>')
        out.append(text_at(LEFT + 170 * k + 16, 43, name))
    for mark in (0, 0.25, 0.5, 0.75, 1):
        x, bold = LEFT + scale * mark, mark == 1
        out.append(f'<line x1="{x:g}" x2="{x:g}" y1="{TOP}" y2="{height - 40}" stroke="{"#222" if bold else "#ddd"}"/>')
        words = "1 = ONNX Runtime" if bold else f"{mark:g}"
        out.append(text_at(x, height - 24, words, 'text-anchor="middle"'))
    for i, model in enumerate(models):
        y = TOP + ROW * i + 6
        out.append(text_at(LEFT - 8, y + BAR + 4, model, 'text-anchor="end"'))
        for k, rows in enumerate(tables):
            ratio, low, high = rows[model]
            top, mid = y + (BAR + 2) * k, y + (BAR + 2) * k + BAR / 2
            out.append(f'<rect x="{LEFT}" y="{top:g}" width="{scale * ratio:g}" height="{BAR}" fill="{MACHINES[k][2]}"/>')
            out.append(f'<line x1="{LEFT + scale * low:g}" x2="{LEFT + scale * high:g}" y1="{mid:g}" y2="{mid:g}" stroke="#000"/>')
            out.append(text_at(LEFT + 6, top + 12, f"{ratio:.2f}", 'fill="#fff"'))
    out.append(text_at(12, height - 6, "Black lines: 95 % intervals. From docs/figures.md by tools/picture.py.", 'font-size="11"'))
    return "\n".join(out) + "\n</svg>\n"


def main():
    with open(os.path.join(ROOT, "docs", "figures.md"), encoding="utf-8") as f:
        figures = f.read()
    drawn = picture([table(figures, heading) for heading, _, _ in MACHINES])
    path = os.path.join(ROOT, "docs", "latency.svg")
    if sys.argv[1:] == ["--check"]:
        with open(path, encoding="utf-8") as f:
            if f.read() == drawn:
                return 0
        print("docs/latency.svg is not what docs/figures.md says: run tools/picture.py")
        return 1
    with open(path, "w", encoding="utf-8") as f:
        f.write(drawn)
    return 0


if __name__ == "__main__":
    sys.exit(main())
