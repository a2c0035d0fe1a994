"""Numbers and tables for people: text and HTML."""
from __future__ import annotations

import html
import math
from typing import Iterable, List, Sequence


def seconds(x: float) -> str:
    """A duration with a unit: 1.23 ms."""
    if not math.isfinite(x):
        return "-"
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if abs(x) >= size:
            return f"{x / size:.3g} {unit}"
    return f"{x * 1e9:.3g} ns"


def count_b(x: float) -> str:
    """Bytes with a unit: 4.5 MiB."""
    for unit, size in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if x >= size:
            return f"{x / size:.3g} {unit}"
    return f"{x:.0f} B"


def number(x: float, decimals: int = 2) -> str:
    return f"{x:.{decimals}f}" if math.isfinite(x) else "-"


def text_table(heads: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Columns apart by two spaces, no trailing ones."""
    cells: List[List[str]] = [list(heads)] + [[str(c) for c in row] for row in rows]
    width = [max(len(row[i]) for row in cells) for i in range(len(heads))]
    return "\n".join("  ".join(c.ljust(w) for c, w in zip(row, width)).rstrip() for row in cells)


def html_table(heads: Sequence[str], rows: Iterable[Sequence[object]], caption: str = "") -> str:
    """A table whose texts are escaped."""
    head = "".join(f"<th>{html.escape(h)}</th>" for h in heads)
    body = "".join("<tr>" + "".join(f"<td>{html.escape(str(c))}</td>" for c in row) + "</tr>" for row in rows)
    top = f"<caption>{html.escape(caption)}</caption>" if caption else ""
    return f"<table>{top}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
