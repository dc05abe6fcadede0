"""Several noisy answers of language models in; one decision or a reasoned abstention out."""

from ._version import __version__

__all__ = ["__version__"]
