"""What can go wrong, as one tree.

    ConsilienceError
    ├── SettingsError       also a ValueError: an argument has a value that is not allowed
    ├── MissingExtraError   also an ImportError: an optional dependency is not installed
    └── AbstainError        a result that abstained was asked for its value (not a ValueError)

Bad *replies* never raise: they become failed samples with a code. Bad *arguments* always raise, before the first call;
an argument of the wrong type is a plain TypeError, as everywhere in Python.
"""

from __future__ import annotations

from typing import Any

__all__ = ["AbstainError", "ConsilienceError", "MissingExtraError", "SettingsError", "received"]


class ConsilienceError(Exception):
    """Root of every error that consilience raises on purpose.

    Example:
        >>> issubclass(SettingsError, ConsilienceError)
        True
    """


class SettingsError(ConsilienceError, ValueError):
    """An argument has a value that is not allowed; the message names the argument, the value and what is allowed.

    Example:
        >>> raise SettingsError("n must be an int of at least 1, got 0")
        Traceback (most recent call last):
        ...
        consilience._errors.SettingsError: n must be an int of at least 1, got 0
    """


class MissingExtraError(ConsilienceError, ImportError):
    """An optional dependency is needed and not installed; the message holds the install command.

    Example:
        >>> str(MissingExtraError("repair", "json-repair", "repair=True"))
        'repair=True needs json-repair: pip install "consilience[repair]"'
    """

    def __init__(self, extra: str, distribution: str, what: str) -> None:
        super().__init__(f'{what} needs {distribution}: pip install "consilience[{extra}]"')
        self.extra = extra
        self.distribution = distribution
        self.what = what

    def __reduce__(self) -> tuple[type[MissingExtraError], tuple[str, str, str]]:
        return type(self), (self.extra, self.distribution, self.what)


class AbstainError(ConsilienceError):
    """``unwrap()`` was called on a result that abstained.

    Not a ValueError, so that code which treats bad values as "try again" does not swallow it.

    Args:
        result: the result that abstained; kept as ``error.result``.
        message: one sentence with the reason.

    Example:
        >>> AbstainError(result=None, message="abstained: tie").result is None
        True
    """

    def __init__(self, result: Any, message: str) -> None:
        super().__init__(message)
        self.result = result

    def __reduce__(self) -> tuple[type[AbstainError], tuple[Any, str]]:
        return type(self), (self.result, str(self))


def received(value: object, limit: int = 80) -> str:
    """How a message shows a value that it complains about: its repr, cut short, or its type if it has none.

    Example:
        >>> received(0), received(10**9999), received("x" * 99, limit=9)
        ('0', '<int>', "'xxxxx...")
    """
    try:
        text = repr(value)
    except Exception:  # a value of any type may come as an argument; and an int may be too long to be printed
        return f"<{type(value).__name__}>"
    return text if len(text) <= limit else f"{text[: limit - 3]}..."
