"""Signatures: the options of a verb, shown where tools look for them though they are written down only once."""

from __future__ import annotations

from collections.abc import Iterable
from inspect import Parameter, Signature
from typing import Any

__all__ = ["spell_out_options"]


def spell_out_options(verb: Any, names: Iterable[str], settings: Any, returned: type) -> None:
    """Show every option of a verb in ``help`` and in editors that ask for its signature.

    Args:
        verb: a function whose last parameter is ``**options``.
        names: the options that it takes.
        settings: the dataclass that has the default of each.
        returned: what the verb gives back.
    """
    named = [
        each for each in Signature.from_callable(verb).parameters.values() if each.kind is not Parameter.VAR_KEYWORD
    ]
    shown = [
        Parameter(name, Parameter.KEYWORD_ONLY, default=settings.__dataclass_fields__[name].default) for name in names
    ]
    verb.__signature__ = Signature([*named, *shown], return_annotation=returned)
