"""The baseline of a search: measured first and again and again, so that a machine's drift cancels."""
from __future__ import annotations

from array import array
from typing import Optional

from . import _hone
from .config import SearchConfiguration
from .outcome import Outcome

_LATEST = 3  # measurements whose median is the baseline of now


class Baseline:
    """Scales objectives by first / latest baseline: they keep their unit, and a drift common to all cancels."""

    def __init__(self, point: bytes) -> None:
        self.point = point
        self.reference: Optional[tuple[float, ...]] = None
        self._latest: list[tuple[float, ...]] = []
        self._factors: tuple[float, ...] = ()

    @classmethod
    def of(cls, space: _hone.Space, config: SearchConfiguration) -> Optional["Baseline"]:
        given = config.baseline
        if given is None or given is False:
            return None
        return cls(space.repair(space.default(), config.seed % (1 << 64)) if given is True else space.point(given))

    def seen(self, outcome: Outcome) -> None:
        """One more measurement, unscaled; a failure leaves the baseline as it was."""
        if not outcome.ok:
            return
        if self.reference is None:
            self.reference = outcome.values
        self._latest = [*self._latest, outcome.values][-_LATEST:]
        now = tuple(_hone.median(array("d", column)) for column in zip(*self._latest))
        self._factors = tuple(first / v if v * first > 0 else 1.0 for first, v in zip(self.reference, now))

    def scaled(self, raw: tuple[float, ...]) -> tuple[float, ...]:
        """Objectives corrected for the drift of the machine since the first measurement. Values of another sign than the
        baseline's, or where it is 0, have no ratio and stay."""
        return tuple(v * f for v, f in zip(raw, self._factors)) if self._factors else raw
