"""Docstrings from the tables of options that the extension holds."""
from __future__ import annotations

from typing import Any, Callable, Tuple

Rows = Tuple[Tuple[str, str, str, str], ...]


def describe(rows: Rows, indent: str) -> str:
    """One line per option: its name, what it says, its type and default."""
    return f"\n{indent}".join(f"{name}: {doc} ({kind}, {standard})" for name, kind, standard, doc in rows)


def documented(function: Callable[..., Any], rows: Rows) -> None:
    """Puts the options into a docstring, where it has a line {options}."""
    text = function.__doc__ or ""  # None under python -OO
    function.__doc__ = text.replace("{options}", describe(rows, "      "))
