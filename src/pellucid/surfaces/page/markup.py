"""HTML that escapes by default: everything that is not markup already is text."""

from __future__ import annotations

from pellucid.words import escape, parts_of


class Markup(str):
    """Text that is HTML; created by `tag` and `joined`, never from what a user wrote."""

    __slots__ = ()


def tag(name: str, *children: str | Markup, **attributes: str | bool) -> Markup:
    """An element. `class_` and `for_` lose their underscore, others become hyphens; True is an attribute alone."""
    parts = [name]
    for key, value in attributes.items():
        label = key.rstrip("_").replace("_", "-")
        if value is True:
            parts.append(label)
        elif value is not False:
            parts.append(f'{label}="{escape(value)}"')
    opened = Markup(f"<{' '.join(parts)}>")
    return opened if name == "input" else Markup(f"{opened}{joined(*children)}</{name}>")


def joined(*children: str | Markup) -> Markup:
    return Markup("".join(child if isinstance(child, Markup) else escape(child) for child in children))


def prose(text: str) -> Markup:
    """A sentence in which `names` are set as code."""
    return joined(*(tag("code", part) if name else part for part, name in parts_of(text)))
