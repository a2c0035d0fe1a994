"""hone: searches around any function, and compiled models on NumPy arrays.

Getting started: docs/python-search.md. `import hone` loads the extension and nothing else: every other name is loaded
when it is first used. A failure of hone is a subclass of `hone.Error`, named after its row in the table of errors.
"""
from importlib import import_module as _import
from typing import Any as _Any

from . import _hone
from ._hone import __version__

# Name -> module of this package that has it; a module's own name stands for the module.
_LAZY = {
    "space": "space",
    "workers": "workers",
    "trackers": "trackers",
    "triton": "triton",
    **dict.fromkeys(("Callback", "Search"), "search"),
    **dict.fromkeys(("Results", "Trial"), "results"),
    **dict.fromkeys(("INVALID_SCORE", "Outcome"), "outcome"),
    "SearchConfiguration": "config",
    **dict.fromkeys(("Model", "compile", "compile_to_c", "generate", "inspect", "load"), "model"),
    **dict.fromkeys(("Controls", "check", "keygen", "minimize", "report", "tune", "validate"), "compilers"),
    **dict.fromkeys(("Winners", "tune_model"), "winners"),
    **dict.fromkeys(("Precision", "choose_precision"), "precision"),
    "Server": "server",
    **dict.fromkeys(("RayService", "serve_ray"), "ray_service"),
    **dict.fromkeys(("Answer", "Beam", "Conversation", "LanguageModel", "Session", "Stream", "TopToken"), "language"),
}

_ERRORS = [name for name, value in vars(_hone).items() if isinstance(value, type) and issubclass(value, _hone.Error)]
globals().update({name: getattr(_hone, name) for name in _ERRORS})
__all__ = ["__version__", *_ERRORS, *_LAZY]


def __getattr__(name: str) -> _Any:
    module = _LAZY.get(name)
    if module is None:
        raise AttributeError(f"module 'hone' has no attribute '{name}'")
    loaded = _import("." + module, __name__)
    value = loaded if module.rpartition(".")[2] == name else getattr(loaded, name)
    globals()[name] = value
    return value


def __dir__() -> list:  # type: ignore[type-arg]
    return sorted(__all__)
