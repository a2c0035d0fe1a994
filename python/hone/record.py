"""A search's session in a store, and the trials of an earlier session."""
from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any, Optional

from . import _hone

if TYPE_CHECKING:
    from .results import Results, Trial

Fields = tuple[str, str, str, str, str, str, int]


class Record:
    """One session, open for writing. copied: it is new, and the trials of an earlier session are to be copied into it."""

    def __init__(self, store: _hone.Store, session: int, fields: Fields, copied: bool) -> None:
        self.store = store
        self.session = session
        self.copied = copied
        self._fields = fields
        self._held = True
        self._objectives = [f"raw:{row['expr']}" for row in json.loads(fields[4])]
        self._limits = [name for name, _, _ in json.loads(fields[1])[1]]

    @classmethod
    def open(cls, folder: Any, fields: Fields, resume: Any) -> tuple["Record", list[dict[str, Any]]]:
        """The session to write to and the trials known; the same session when space and objectives are the same, else a
        new one."""
        os.makedirs(folder, exist_ok=True)
        store = _hone.Store(folder, True)
        if resume is None or resume is False:
            return cls(store, store.begin(*fields), fields, False), []
        if not isinstance(resume, int):
            return cls(store, store.begin(*fields), fields, True), known_from(resume)
        old = _find(store, fields[0], resume)
        if old is None:
            return cls(store, store.begin(*fields), fields, False), []
        if old["objectives"] != fields[4]:
            raise _hone.MismatchError(f"session {old['id']} has other objectives ({old['objectives']}); start a new one")
        known = store.trials(old["id"])
        if (old["objective"], old["space_hash"]) == fields[1:3]:
            store.resume(old["id"], fields)
            return cls(store, old["id"], fields, False), known
        return cls(store, store.begin(*fields), fields, True), known

    def add(self, trial: "Trial", n_asked: int) -> None:
        """On disk when it returns."""
        if not self._held:
            self.store.resume(self.session, self._fields)
            self._held = True
        samples = [*zip(self._objectives, trial.raw), *zip(self._limits, trial.metrics)]
        space = trial.space
        self.store.add(self.session, trial.phase, space.to_json(trial.point), space.hash_point(trial.point), trial.cls,
                       trial.values, (trial.violation,) if self._limits else (), trial.origin, trial.detail,
                       trial.seconds, trial.at, n_asked, tuple(samples))

    def finish(self, state: str, reason: str) -> None:
        if self._held:
            self.store.end(self.session, state, reason)
            self._held = False

    def close(self) -> None:
        self.finish("interrupted", "")
        self.store.close()


def _find(store: _hone.Store, name: str, resume: int) -> Optional[dict[str, Any]]:
    if resume is not True:
        return store.get(resume)
    mine = [s for s in store.sessions() if s["name"] == name]
    return mine[-1] if mine else None


def known_from(given: Any) -> list[dict[str, Any]]:
    """The trials of Results, or of a CSV file, as a store gives them."""
    from .results import Results

    results: Results = given if isinstance(given, Results) else Results.from_csv(given)
    rows = []
    for t in results.trials:
        samples = [(f"raw:{n}", v) for n, v in zip(results.objectives, t.raw)] + list(zip(results.constraints, t.metrics))
        rows.append({"point": t.space.to_json(t.point), "cls": t.cls, "values": t.values, "detail": t.detail,
                     "run_s": t.seconds, "at_s": t.at, "origin": t.origin, "phase": t.phase, "n_asked": t.id,
                     "samples": tuple(samples)})
    return rows
