"""Colours: of meanings, of parameters, and their partners on a dark page."""

from __future__ import annotations

# Colours that also differ in lightness, so that figures work in greyscale and for the colour-blind.
COLOURS = ("#0b3c6f", "#d1495b", "#e8a33d", "#3f8f6b", "#8d6fb0", "#5aa9c7", "#7a4b2a", "#c97fa7", "#4d4d4d")
EXPLOIT, EXPLORE, CHOSEN, GREY, PALE = COLOURS[0], COLOURS[2], COLOURS[1], "#8a929c", "#b8bec6"
# Parameters on a light and on a dark page. An annealing search chose both sets of twelve: lightness rises in equal
# steps (4.4 and 3.9 units of L*), which keeps them apart in greyscale, and hues keep any two at least 17 units (CIE76)
# apart for readers without one kind of cone. Neighbours in the list differ much in both.
PARAMETERS = (
    ("#3181d7", "#78acf4"), ("#95090b", "#eec62e"), ("#1b5c5d", "#24d8a4"), ("#b35c12", "#db7e1c"),
    ("#531e92", "#8f6be4"), ("#fd5d72", "#c78eb2"), ("#73593d", "#c1b673"), ("#984a9c", "#af55a7"),
    ("#272f68", "#d4d2f4"), ("#a67da3", "#a5fce1"), ("#590a14", "#b4f279"), ("#450234", "#679671"),
)  # fmt: skip
# Dark colours are hard to see on a dark page: what takes the place of each one there.
ON_DARK = {
    **dict(PARAMETERS),
    "#0b3c6f": "#6aa9e9", "#d1495b": "#f08c98", "#e8a33d": "#e8a33d", "#3f8f6b": "#6fc79d", "#8d6fb0": "#b79ad8",
    "#5aa9c7": "#7cc3de", "#7a4b2a": "#c99a72", "#c97fa7": "#dda3c2", "#4d4d4d": "#c4c9d0", "#3a3a3a": "#d5dae0",
    "#b8bec6": "#566270", "#8a929c": "#8a95a3", "#888888": "#7b8693", "#a03030": "#f08c98", "#e9ecef": "#262d37",
    "#c6d4e3": "#2c4258",
}  # fmt: skip


def parameter_colour(position: int) -> str:
    """The colour of the parameter at this place in the study's order: the first twelve share none."""
    return PARAMETERS[position % len(PARAMETERS)][0]


def faint(colour: str) -> str:
    """The colour of a band around a line."""
    red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return f"rgba({red},{green},{blue},0.15)"
