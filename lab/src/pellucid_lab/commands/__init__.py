"""The commands ``pellucid bench`` and ``pellucid reproduce``."""
