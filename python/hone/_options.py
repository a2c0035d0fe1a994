"""Docstrings from the tables of options that the extension holds."""
from __future__ import annotations

import os
from typing import Any, Callable, Dict, Mapping, Tuple

Rows = Tuple[Tuple[str, str, str, str], ...]


def describe(rows: Rows, indent: str) -> str:
    """One line per option: its name, what it says, its type and default."""
    return f"\n{indent}".join(f"{name}: {doc} ({kind}, {standard})" for name, kind, standard, doc in rows)


def documented(function: Callable[..., Any], rows: Rows) -> None:
    """Puts the options into a docstring, where it has a line {options}."""
    text = function.__doc__ or ""  # None under python -OO
    function.__doc__ = text.replace("{options}", describe(rows, "      "))


def plain(options: Mapping[str, Any]) -> Dict[str, Any]:
    """Paths among the options as texts."""
    return {name: os.fspath(v) if isinstance(v, os.PathLike) else v for name, v in options.items()}
