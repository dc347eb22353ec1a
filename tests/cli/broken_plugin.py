"""A plugin whose import fails with an unusual error."""

raise RuntimeError("two\nlines")
