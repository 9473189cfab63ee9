"""The places under limits that this worker holds. A limit of five has five places; a worker runs no more jobs of the limit
than it holds places, and places are leased like jobs, so those of a dead worker come back."""

from __future__ import annotations

import secrets
from collections import Counter
from collections.abc import Mapping

from tidemill.db import Database


def declare(database: Database, limits: Mapping[str, int]) -> None:
    """Make limits known with their sizes, and their places."""
    if not limits:
        return
    parameters = {"names": list(limits), "sizes": list(limits.values())}
    lacking = database.execute("limits_declare", parameters)
    if lacking:
        names, sizes = zip(*lacking, strict=True)
        database.execute("places_declare", {"names": list(names), "sizes": list(sizes)})


class Places:
    def __init__(self, database: Database, lease: float) -> None:
        self.holder = secrets.randbits(62)
        self._database = database
        self._lease = lease
        self._held: dict[str, set[int]] = {}
        self._used: Counter[str] = Counter()

    def use(self, limit_name: str) -> None:
        """A job under the limit was claimed."""
        self._used[limit_name] += 1

    def leave(self, limit_name: str) -> None:
        """A job under the limit has ended or was given back."""
        self._used[limit_name] -= 1

    def held(self) -> dict[str, int]:
        return {name: len(places) for name, places in self._held.items()}

    def idle(self) -> dict[str, int]:
        """How many places are held and not used, by limit."""
        return {name: free for name, places in self._held.items() if (free := len(places) - self._used[name]) > 0}

    def take(self, names: set[str], most: int) -> bool:
        """Try to hold up to `most` places of each; False where no place was free for any."""
        wanted = {name: most - len(self._held.get(name, ())) for name in names}
        wanted = {name: count for name, count in wanted.items() if count > 0}
        if not wanted:
            return True
        parameters = {"names": list(wanted), "wanted": list(wanted.values()), "holder": self.holder, "lease": self._lease}
        rows = self._database.execute("places_take", parameters)
        for name, place in rows:
            self._held.setdefault(name, set()).add(place)
        return bool(rows)

    def renew(self) -> set[str]:
        """Renew what is held; returns the limits of which places were lost because their lease had run out."""
        if not any(self._held.values()):
            return set()
        rows = self._database.execute("places_renew", {"holder": self.holder, "lease": self._lease})
        before, self._held = self._held, {}
        for name, place in rows:
            self._held.setdefault(name, set()).add(place)
        return {name for name, places in before.items() if places - self._held.get(name, set())}

    def free(self, keep: set[str]) -> None:
        """Give back the idle places of all limits but those to keep."""
        given = [
            (name, place)
            for name, idle in self.idle().items()
            if name not in keep
            for place in sorted(self._held[name], reverse=True)[:idle]
        ]
        if not given:
            return
        names, places = map(list, zip(*given, strict=True))
        for name, place in given:
            self._held[name].discard(place)
        self._database.execute("places_free", {"names": names, "places": places, "holder": self.holder})
