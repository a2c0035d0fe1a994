"""Docstrings from the tables that the extension holds: options, results with their units, errors."""
from __future__ import annotations

import os
from typing import Any, Dict, Mapping, Tuple

from . import _hone

Rows = Tuple[Tuple[str, str, str, str], ...]
Fields = Tuple[Tuple[str, str, str], ...]


def describe(rows: Rows, indent: str) -> str:
    """One line per option: its name, what it says, its type and default."""
    return f"\n{indent}".join(f"{name}: {doc} ({kind}, {standard})" for name, kind, standard, doc in rows)


def describe_fields(rows: Fields, indent: str) -> str:
    """One line per item of a result: its key, what it says, its unit."""
    return f"\n{indent}".join(f"{key}: {doc}{f' ({unit})' if unit else ''}" for key, unit, doc in rows)


def describe_raises(call: str, indent: str) -> str:
    """One line per error of a call: its class, what that means, when."""
    rows = [row for row in _hone.raises if row[0] == call]
    return f"\n{indent}".join(f"{kind.__module__}.{kind.__name__}: {text} ({when})" for _, kind, text, when in rows)


def documented(what: Any, options: Rows = (), *, raises: str = "", fields: Fields = ()) -> None:
    """Puts the tables into the docstring of a function or class, where it has lines {options}, {fields} and {raises}."""
    text = what.__doc__ or ""  # None under python -OO
    for mark, lines in (("{options}", describe(options, "      ")), ("{fields}", describe_fields(fields, "      ")),
                        ("{raises}", describe_raises(raises, "      "))):  # fmt: skip
        text = text.replace(mark, lines)
    what.__doc__ = text


def plain(options: Mapping[str, Any]) -> Dict[str, Any]:
    """Paths among the options as texts."""
    return {name: os.fspath(v) if isinstance(v, os.PathLike) else v for name, v in options.items()}
