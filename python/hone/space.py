"""Search spaces: `import hone.space as ss`.

A search space is a dict of names to parameters made here, to other dicts, or to plain values (which stay as they are), or
a list of such dicts and of `ss.compiler(...)`, `ss.from_file(...)`. An objective receives the same shape with values in
place of parameters. A parameter that is absent (knocked out, or its condition does not hold) has no key there.

Names (keys) consist of letters, digits and ``_ - . + =``. Expressions (`when`, constraints) are those of
docs/expressions.md; a parameter of a nested dict is called ``outer.inner`` outside of it and ``inner`` inside, one of
the i-th item of a list ``i.name`` (in backquotes: it starts with a digit).
"""
from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any, Optional, Union


from ._hone import Space
from ._options import documented

__all__ = ["Flags", "Parameter", "SpaceLike", "build", "choice", "compiler", "flag", "from_file", "from_text", "literal",
           "log_sampling", "ordinal", "permutation", "range", "space"]

Number = Union[int, float]


class Parameter:
    """One parameter of a space; made by the functions of this module."""

    __slots__ = ("kind", "fields", "values", "explicit_default")

    def __init__(self, kind: str, fields: dict[str, Any], values: Optional[tuple[Any, ...]] = None,
                 explicit_default: bool = False) -> None:
        self.kind = kind
        self.fields = fields
        self.values = values
        self.explicit_default = explicit_default

    def __repr__(self) -> str:
        shown = ", ".join(f"{k}={v!r}" for k, v in self.fields.items() if v is not None and k not in ("texts", "objects"))
        return f"ss.{self.kind}({'' if self.values is None else list(self.values)!r}{', ' if self.values and shown else ''}{shown})"


class Flags(tuple):  # type: ignore[type-arg]
    """What an objective receives in a compiler's place: the words of the command line, in order.

    `environment` holds ``NAME=value`` texts, `pgo` the two format texts (``%s``: a folder) of profile-guided builds or
    None. str() gives the words quoted for a shell. `genes` is how hone finds its way back from the flags.
    """

    environment: tuple[str, ...]
    pgo: Optional[tuple[str, str]]
    genes: bytes

    def __new__(cls, flags: Sequence[str] = (), environment: Sequence[str] = (), pgo: Optional[tuple[str, str]] = None,
                genes: bytes = b"") -> "Flags":
        self = super().__new__(cls, flags)
        self.environment = tuple(environment)
        self.pgo = pgo
        self.genes = genes
        return self

    def __reduce__(self) -> Any:
        return Flags, (tuple(self), self.environment, self.pgo, self.genes)

    def __str__(self) -> str:
        import shlex

        return shlex.join(self)


class Constrained:
    """ss.space(...): parameters with constraints between them."""

    __slots__ = ("parameters", "constraints", "when", "name")

    def __init__(self, parameters: Any, constraints: Sequence[str], when: Optional[str], name: str) -> None:
        self.parameters = parameters
        self.constraints = tuple(constraints)
        self.when = when
        self.name = name


SpaceLike = Union[Mapping[str, Any], Sequence[Any], Space, Constrained]


# --- parameters ----------------------------------------------------------------------------------------------------


def _common(default: Any, knockout_prob: Optional[float], when: Optional[str], doc: Optional[str]) -> dict[str, Any]:
    if when is not None and not isinstance(when, str):
        raise TypeError(f"'when' is a condition as text, such as \"y == 1\", not {when!r}")
    if knockout_prob is not None and not 0 <= knockout_prob <= 1:
        raise ValueError(f"'knockout_prob' is a probability, 0..1, not {knockout_prob!r}")
    return {"default": default, "optional": knockout_prob is not None, "knockout": knockout_prob or 0.0, "when": when,
            "doc": doc}


def _whole(*numbers: Optional[Number]) -> bool:
    import numbers as kinds

    return all(n is None or (isinstance(n, kinds.Integral) and not isinstance(n, bool)) for n in numbers)


def _number(start: Number, end: Number, step: Optional[Number], log: bool, default: Optional[Number],
            seed_low: Optional[Number], seed_high: Optional[Number], knockout_prob: Optional[float],
            when: Optional[str], doc: Optional[str]) -> Parameter:
    for name, value in (("start", start), ("end", end), ("step", step)):
        if not (hasattr(value, "__float__") or value is None and name == "step"):
            raise TypeError(f"'{name}' is a number, not {value!r}")
    whole = _whole(start, end, step)
    first = None if knockout_prob is not None else start
    fields = _common(first if default is None else default, knockout_prob, when, doc)
    fields.update(lo=float(start), hi=float(end), log=log)
    if step is not None:
        if not step > 0:
            raise ValueError(f"'step' is above 0, not {step!r}")
        fields["step"] = float(step)
    if seed_low is not None or seed_high is not None:
        fields["seed"] = (float(start if seed_low is None else seed_low), float(end if seed_high is None else seed_high))
    return Parameter("int" if whole else "float", fields, explicit_default=default is not None)


def range(start: Number, end: Number, step: Optional[Number] = None, *, default: Optional[Number] = None,
          seed_low: Optional[Number] = None, seed_high: Optional[Number] = None, knockout_prob: Optional[float] = None,
          log: bool = False, when: Optional[str] = None, doc: Optional[str] = None) -> Parameter:
    """A number from `start` to `end`, both included.

    int when all of start, end and step are ints (step 1 unless given), else float: every double of the range, or with
    `step` those at start + k * step. Initial samples come from seed_low..seed_high when given. knockout_prob: how often
    a random sample leaves the parameter out. when: the condition under which there is one at all.
    """
    return _number(start, end, step, log, default, seed_low, seed_high, knockout_prob, when, doc)


def log_sampling(start: Number, end: Number, step: Optional[Number] = None, *, default: Optional[Number] = None,
                 seed_low: Optional[Number] = None, seed_high: Optional[Number] = None,
                 knockout_prob: Optional[float] = None, when: Optional[str] = None,
                 doc: Optional[str] = None) -> Parameter:
    """As range, drawn and scaled by the logarithm; start is above 0."""
    return _number(start, end, step, True, default, seed_low, seed_high, knockout_prob, when, doc)


def _text(value: Any) -> str:
    """The text that identifies a value, also in expressions: numbers, NumPy's too, are numbers."""
    import numbers

    if isinstance(value, str):
        return value if value.isprintable() else ascii(value)
    if isinstance(value, numbers.Integral) and not isinstance(value, bool):
        return str(int(value))
    return repr(float(value)) if isinstance(value, numbers.Real) and not isinstance(value, bool) else repr(value)


def _listed(kind: str, values: Sequence[Any], default: Any, knockout_prob: Optional[float], when: Optional[str],
            doc: Optional[str]) -> Parameter:
    if not hasattr(values, "__iter__"):
        raise TypeError(f"ss.{kind} takes a list of values, not {values!r}")
    objects = tuple(values)
    if not objects:
        raise ValueError(f"ss.{kind} needs at least one value")
    index: Optional[int] = None if knockout_prob is not None else 0
    if default is not _UNSET:
        matches = [i for i, v in enumerate(objects) if v is default or (type(v) is type(default) and _equal(v, default))]
        if not matches:
            raise ValueError(f"the default {default!r} is none of the values {list(objects)!r}")
        index = matches[0]
    fields = _common(index, knockout_prob, when, doc)
    fields.update(texts=tuple(_text(v) for v in objects), objects=objects)
    return Parameter(kind, fields, objects, explicit_default=default is not _UNSET)


def _equal(a: Any, b: Any) -> bool:
    same = a == b
    return bool(same.all() if hasattr(same, "all") else same)  # arrays compare element by element


class _Unset:
    def __repr__(self) -> str:
        return "unset"


_UNSET: Any = _Unset()


def choice(values: Sequence[Any], *, default: Any = _UNSET, knockout_prob: Optional[float] = None,
           when: Optional[str] = None, doc: Optional[str] = None) -> Parameter:
    """One of `values`, in no order. Values are any objects; texts themselves (escaped where they cannot be printed) and
    repr() of others tell them apart, in expressions too."""
    return _listed("choice", values, default, knockout_prob, when, doc)


def ordinal(values: Sequence[Any], *, default: Any = _UNSET, knockout_prob: Optional[float] = None,
            when: Optional[str] = None, doc: Optional[str] = None) -> Parameter:
    """As choice, for values whose order means something: engines try neighbours."""
    return _listed("ordinal", values, default, knockout_prob, when, doc)


def permutation(values: Sequence[Any], *, knockout_prob: Optional[float] = None, when: Optional[str] = None,
                doc: Optional[str] = None) -> Parameter:
    """An order of all `values` (at most 64), as a list."""
    p = _listed("permutation", values, _UNSET, knockout_prob, when, doc)
    return p


def flag(*, default: Optional[bool] = None, knockout_prob: Optional[float] = None, when: Optional[str] = None,
         doc: Optional[str] = None) -> Parameter:
    """True or False."""
    first = None if knockout_prob is not None else False
    return Parameter("flag", _common(first if default is None else default, knockout_prob, when, doc),
                     explicit_default=default is not None)


def literal(value: Any, *, knockout_prob: Optional[float] = None, when: Optional[str] = None,
            doc: Optional[str] = None) -> Parameter:
    """A constant. With knockout_prob it is there or not."""
    return _listed("literal", [value], _UNSET, knockout_prob, when, doc)


# --- spaces --------------------------------------------------------------------------------------------------------


def space(parameters: SpaceLike, constraints: Sequence[str] = (), *, when: Optional[str] = None,
          name: str = "space") -> Constrained:
    """Parameters with constraints between them, at the root or in place of a nested dict; `when` (of a nested one): the
    condition, over names outside, under which its parameters are active."""
    return Constrained(parameters, [constraints] if isinstance(constraints, str) else constraints, when, name)


def compiler(command: str, *, floating_point: str = "strict", all: bool = False,
             cache_dir: Optional[Union[str, os.PathLike[str]]] = None) -> Space:
    """The controls of an installed compiler ("gcc-12", "clang", a path), discovered and probed once per compiler (seconds
    to a minute), then read from the cache. The objective receives `Flags`.

    floating_point: "strict" (results as written), "contract" (fused multiply-add), "fast" (-ffast-math and what belongs
    to it). all: every control of clang, not the curated set.

    Raises:
      {raises}
    """
    cache = None if cache_dir is None else os.fspath(cache_dir)
    return Space.compiler(command, Flags, floating_point=floating_point, all=all, cache_dir=cache)


def from_file(path: Union[str, os.PathLike[str]]) -> Space:
    """The space of a YAML file (docs/space-file.md).

    Raises:
      {raises}
    """
    return Space.load(path)


def from_text(text: str, label: str = "space") -> Space:
    """As from_file, from YAML text."""
    return Space.parse(text, label)


def _add(out: Space, name: str, key: Any, p: Parameter) -> None:
    out.add(name, p.kind, key, **p.fields)


def _include(out: Space, name: str, key: Any, value: Any, facts: "_Facts") -> None:
    when = value.when if isinstance(value, Constrained) else None
    part = value if isinstance(value, Space) else _unsealed(value, name, facts)
    if part is value:
        facts.explicit_default = True  # compilers and files have defaults that mean something
        facts.parts.append((name, part))
    out.include(part, key, name, when)


class _Facts:
    """Facts about a space that a search needs besides its points."""

    def __init__(self) -> None:
        self.explicit_default = False
        self.parts: list[tuple[str, Space]] = []


def _entry(out: Space, name: str, key: Any, value: Any, facts: _Facts) -> None:
    if isinstance(value, (Mapping, Space, Constrained)):
        _include(out, name, key, value, facts)
        return
    if isinstance(value, (list, tuple)) and any(isinstance(v, (Parameter, Space, Constrained)) for v in value):
        raise TypeError(f"'{name}' is a list of parameters: a list stands at the root of a search space; use a dict here")
    if not isinstance(value, Parameter):
        value = literal(value)
    facts.explicit_default |= value.explicit_default
    _add(out, name, key, value)


def _unsealed(given: Any, label: str, facts: _Facts) -> Space:
    constraints: tuple[str, ...] = ()
    if isinstance(given, Constrained):
        constraints, given = given.constraints, given.parameters
    if isinstance(given, Mapping):
        out = Space(label)
        for key, value in given.items():
            if not isinstance(key, str):
                raise TypeError(f"keys of a search space are str, not {key!r}")
            _entry(out, key, key, value, facts)
    elif isinstance(given, Sequence) and not isinstance(given, (str, bytes)):
        out = Space(label, len(given))
        for i, value in enumerate(given):
            _entry(out, str(i), i, value, facts)
    else:
        raise TypeError(f"a search space is a dict, a list or a Space, not {type(given).__name__}")
    for text in constraints:
        out.constrain(text)
    return out


def _built(given: SpaceLike) -> tuple[Space, _Facts]:
    facts = _Facts()
    if isinstance(given, Space):
        given.seal()
        facts.explicit_default = True
        facts.parts.append(("", given))
        return given, facts
    name = given.name if isinstance(given, Constrained) else "space"
    out = _unsealed(given, name, facts)
    out.seal()
    return out, facts


def build(given: SpaceLike) -> Space:
    """The sealed Space of a dict, a list, a Space or ss.space(...). Raises InputError, EmptyError."""
    return _built(given)[0]


documented(compiler, raises="compiler")
documented(from_file, raises="from_file")
