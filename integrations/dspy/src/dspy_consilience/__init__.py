"""consilience for DSPy. No public names yet: see the README of this distribution."""

__all__: list[str] = []
