"""Evidence: what many sightings of one thing are worth."""

from ._noisy_or import noisy_or

__all__ = ["noisy_or"]
