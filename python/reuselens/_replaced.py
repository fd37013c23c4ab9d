"""What stands in the place of other packages' functions, and gives them back."""

from __future__ import annotations

from typing import Any, List, Tuple

_MISSING = object()


class Replaced:
    """Attributes of modules and classes that are replaced until ``restore``."""

    def __init__(self) -> None:
        self._before: List[Tuple[Any, str, Any]] = []

    def set(self, owner: Any, name: str, value: Any) -> None:
        """Replaces an attribute, or adds it."""
        self._before.append((owner, name, vars(owner).get(name, _MISSING)))
        setattr(owner, name, value)

    def restore(self) -> None:
        """Gives all attributes back what they were."""
        while self._before:
            owner, name, value = self._before.pop()
            if value is _MISSING:
                delattr(owner, name)
            else:
                setattr(owner, name, value)
