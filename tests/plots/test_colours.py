"""Parameters have colours that differ for every reader, on a light and on a dark page, and in greyscale."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from pellucid.answers.drawing.colours import COLOURS, ON_DARK, PARAMETERS, parameter_colour
from pellucid.numerics import Array

LIGHT, DARK = zip(*PARAMETERS, strict=True)
# Linear RGB without one kind of cone (Machado, Oliveira and Fernandes 2009, severity 1).
SIGHT = {
    "all cones": np.eye(3),
    "no red": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "no green": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "no blue": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
}
XYZ = np.array(
    [[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.1191920, 0.9503041]]
)


def linear(colour: str) -> Array:
    c = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    return np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4)


def lab(rgb: Array) -> Array:
    """CIE L*a*b* of linear RGB."""
    t = XYZ @ np.clip(rgb, 0.0, 1.0) / XYZ.sum(axis=1)
    f = np.where(t > 216 / 24389, np.cbrt(t), (24389 / 27 * t + 16) / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def contrast(first: str, second: str) -> float:
    a, b = sorted((float(XYZ[1] @ linear(colour)) for colour in (first, second)), reverse=True)
    return (a + 0.05) / (b + 0.05)


@pytest.mark.parametrize("colours", [LIGHT, DARK], ids=["light", "dark"])
@pytest.mark.parametrize("sight", SIGHT)
def test_any_two_of_twelve_differ_for_every_reader(colours: tuple[str, ...], sight: str) -> None:
    seen = [lab(np.array(SIGHT[sight]) @ linear(colour)) for colour in colours]
    assert min(float(np.linalg.norm(a - b)) for a, b in combinations(seen, 2)) > 17.0


@pytest.mark.parametrize("colours", [LIGHT, DARK], ids=["light", "dark"])
def test_any_two_of_twelve_differ_in_greyscale(colours: tuple[str, ...]) -> None:
    lightness = sorted(float(lab(linear(colour))[0]) for colour in colours)
    assert min(np.diff(lightness)) > 3.5


@pytest.mark.parametrize(("colours", "page"), [(LIGHT, "#ffffff"), (DARK, "#14181f")], ids=["light", "dark"])
def test_lines_stand_out_from_the_page(colours: tuple[str, ...], page: str) -> None:
    assert min(contrast(colour, page) for colour in colours) >= 3.0


def test_colours_follow_the_order_of_the_study_and_have_a_partner_on_a_dark_page() -> None:
    assert len({parameter_colour(i) for i in range(12)}) == 12
    assert parameter_colour(12) == parameter_colour(0)
    assert {*LIGHT, *COLOURS} <= set(ON_DARK)
