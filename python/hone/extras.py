"""Packages that only some calls need."""
from __future__ import annotations

from importlib import import_module
from typing import Any

from . import _hone

_EXTRA = {"pandas": "pandas", "matplotlib": "plots", "matplotlib.pyplot": "plots", "ray": "ray", "ray.serve": "serve", "mlflow": "mlflow"}


def needs(module: str, what: str) -> Any:
    """The module; UnsupportedError names it, what needs it, and how to install it."""
    try:
        return import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        extra = _EXTRA.get(module)
        how = f"pip install 'hone[{extra}]'" if extra else f"pip install {package}"
        raise _hone.UnsupportedError(f"{what} needs the package '{package}', which cannot be imported ({error}); {how}") from error
