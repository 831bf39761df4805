"""Values by Topic Filter."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..helpers import topic_filter_check, topic_matches


class MQTTMatcher:
    """Values by Topic Filter, to be found by the topics that these match."""

    def __init__(self) -> None:
        self._values: dict[str, Any] = {}

    def __setitem__(self, key: str, value: Any) -> None:
        topic_filter_check(key)
        self._values[key] = value

    def __getitem__(self, key: str) -> Any:
        return self._values[key]

    def __delitem__(self, key: str) -> None:
        del self._values[key]

    def __bool__(self) -> bool:
        return bool(self._values)

    def iter_match(self, topic: str) -> Iterator[Any]:
        """The values of all filters that match the topic; at each level a name comes before '+', and that before
        '#'."""
        if not self._values:
            return iter(())
        found = [filter for filter in self._values if topic_matches(filter, topic)]
        return iter([self._values[filter] for filter in sorted(found, key=_order)])


def _order(filter: str) -> list[int]:
    return [{"+": 1, "#": 2}.get(level, 0) for level in filter.split("/")]
