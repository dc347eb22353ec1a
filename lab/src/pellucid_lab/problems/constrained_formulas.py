"""Constrained problems with a formula: test functions, thin bands, and parts of machines and buildings.

Notation
    a formula takes the parameters by name, as numbers or as arrays of equal length, and returns the value to minimise
    and the constraints by name, each kept if it is at most 0
    units and signs are those of the sources, so some constraints are shares of a limit and others have large numbers
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

Measured = tuple[Any, dict[str, Any]]
Formula = Callable[[Mapping[str, Any]], Measured]
_PI = math.pi

# -------------------------------------------------------------------------------------- test functions


def townsend(p: Mapping[str, Any]) -> Measured:
    """Townsend's function inside a curve that looks like a heart."""
    x, y = p["x"], p["y"]
    t = np.arctan2(x, y)
    radius = 2 * np.cos(t) - np.cos(2 * t) / 2 - np.cos(3 * t) / 4 - np.cos(4 * t) / 8
    value = -(np.cos((x - 0.1) * y) ** 2) - x * np.sin(3 * x + y)
    return value, {"heart": x**2 + y**2 - radius**2 - (2 * np.sin(t)) ** 2}


def gardner_wide(p: Mapping[str, Any]) -> Measured:
    """First simulation of Gardner et al. (2014): broad stripes."""
    x, y = p["x"], p["y"]
    return np.cos(2 * x) * np.cos(y) + np.sin(x), {"stripes": np.cos(x) * np.cos(y) - np.sin(x) * np.sin(y) - 0.5}


def gardner_small(p: Mapping[str, Any]) -> Measured:
    """Second simulation of Gardner et al. (2014): two small islands."""
    x, y = p["x"], p["y"]
    return np.sin(x) + y, {"islands": np.sin(x) * np.sin(y) + 0.95}


def disk(p: Mapping[str, Any]) -> Measured:
    """Branin's function in the disk of Gelbart, Snoek and Adams (2014)."""
    x, y = p["x"], p["y"]
    valley = y - 5.1 * x**2 / (4 * _PI**2) + 5 * x / _PI - 6
    value = valley**2 + 10 * (1 - 1 / (8 * _PI)) * np.cos(x) + 10
    return value, {"disk": (x - 2.5) ** 2 + (y - 7.5) ** 2 - 50}


_HARTMANN_A = (
    (10, 3, 17, 3.5, 1.7, 8),
    (0.05, 10, 17, 0.1, 8, 14),
    (3, 3.5, 1.7, 10, 17, 8),
    (17, 8, 0.05, 10, 0.1, 14),
)
_HARTMANN_P = (
    (0.1312, 0.1696, 0.5569, 0.0124, 0.8283, 0.5886),
    (0.2329, 0.4135, 0.8307, 0.3736, 0.1004, 0.9991),
    (0.2348, 0.1451, 0.3522, 0.2883, 0.3047, 0.6650),
    (0.4047, 0.8828, 0.8732, 0.5743, 0.1091, 0.0381),
)


def ball(p: Mapping[str, Any]) -> Measured:
    """Hartmann's function in six dimensions, in the unit ball (Letham et al. 2019)."""
    x = [p[f"x{j}"] for j in range(6)]
    value = 0.0
    for weight, a, centre in zip((1.0, 1.2, 3.0, 3.2), _HARTMANN_A, _HARTMANN_P, strict=True):
        value = value - weight * np.exp(-sum(a[j] * (x[j] - centre[j]) ** 2 for j in range(6)))
    return value, {"radius": np.sqrt(sum(v**2 for v in x)) - 1}


# ---------------------------------------------------------------------------------------- thin bands


def arc(p: Mapping[str, Any]) -> Measured:
    """A band around a wave, 2% of the square: the resonance must be met."""
    x, y = p["x"], p["y"]
    return (x - 0.65) ** 2 + 0.3 * y, {"resonance": np.abs(y - 0.5 - 0.3 * np.sin(2 * _PI * x)) - 0.01}


def shell(p: Mapping[str, Any]) -> Measured:
    """A part of a hollow ellipsoid, about 2% of the cube, with a constraint for each of its sides."""
    x, y, z = p["x"], p["y"], p["z"]
    radius = np.sqrt(((x - 0.1) / 0.7) ** 2 + ((y - 0.9) / 0.9) ** 2 + (z / 0.6) ** 2)
    value = (x - 0.3) ** 2 + (y - 0.2) ** 2 + 0.5 * (z - 0.5) ** 2 - 0.05 * np.cos(6 * _PI * y)
    return value, {"inside": 0.9866 - radius, "outside": radius - 1.0134}


# ------------------------------------------------------------------------------------------- designs


def truss(p: Mapping[str, Any]) -> Measured:
    """Three bars: the volume of the outer and inner ones (Nowacki 1973)."""
    a, b = p["outer"], p["inner"]
    shared = math.sqrt(2) * a**2 + 2 * a * b
    return 100 * (2 * math.sqrt(2) * a + b), {
        "stress_left": 2 * (math.sqrt(2) * a + b) / shared - 2,
        "stress_middle": 2 * b / shared - 2,
        "stress_right": 2 / (a + math.sqrt(2) * b) - 2,
    }


def vessel(p: Mapping[str, Any]) -> Measured:
    """Cost of a pressure vessel of rolled plates, whose thickness comes in sixteenths of an inch (Sandgren 1990)."""
    wall, head, r, length = p["shell"], p["head"], p["radius"], p["length"]
    value = 0.6224 * wall * r * length + 1.7781 * head * r**2 + 3.1661 * wall**2 * length + 19.84 * wall**2 * r
    return value, {
        "shell_thickness": 0.0193 * r - wall,
        "head_thickness": 0.00954 * r - head,
        "volume": 1296000 - _PI * r**2 * length - 4 / 3 * _PI * r**3,
        "length": length - 240,
    }


def spring(p: Mapping[str, Any]) -> Measured:
    """Weight of a coil spring (Arora 1989)."""
    d, coil, n = p["wire"], p["coil"], p["turns"]
    shear = (4 * coil**2 - d * coil) / (12566 * (coil * d**3 - d**4)) + 1 / (5108 * d**2) - 1
    return (n + 2) * coil * d**2, {
        "deflection": 1 - coil**3 * n / (71785 * d**4),
        "stress": shear,
        "frequency": 1 - 140.45 * d / (coil**2 * n),
        "diameter": (coil + d) / 1.5 - 1,
    }


def beam(p: Mapping[str, Any]) -> Measured:
    """Cost of a welded beam (Rao 1996, with the constants of Coello 2000)."""
    weld, length, height, width = p["weld"], p["length"], p["height"], p["width"]
    load, span, young, shear_modulus = 6000.0, 14.0, 30e6, 12e6
    moment = load * (span + length / 2)
    squared_arm = length**2 / 4 + ((weld + height) / 2) ** 2
    polar = 2 * math.sqrt(2) * weld * length * (length**2 / 12 + ((weld + height) / 2) ** 2)
    direct = load / (math.sqrt(2) * weld * length)
    torsion = moment * np.sqrt(squared_arm) / polar
    shear = np.sqrt(direct**2 + direct * torsion * length / np.sqrt(squared_arm) + torsion**2)
    slenderness = height / (2 * span) * math.sqrt(young / (4 * shear_modulus))
    buckling = 4.013 * young * np.sqrt(height**2 * width**6 / 36) / span**2 * (1 - slenderness)
    return 1.10471 * weld**2 * length + 0.04811 * height * width * (span + length), {
        "shear": shear - 13600,
        "bending": 6 * load * span / (width * height**2) - 30000,
        "weld_width": weld - width,
        "material": 0.10471 * weld**2 + 0.04811 * height * width * (span + length) - 5,
        "weld_minimum": 0.125 - weld,
        "deflection": 4 * load * span**3 / (young * height**3 * width) - 0.25,
        "buckling": load - buckling,
    }


def reducer(p: Mapping[str, Any]) -> Measured:
    """Weight of a speed reducer (Golinski 1970): a pair of gears on two shafts."""
    x1, x2, x3 = p["face"], p["module"], p["teeth"]
    x4, x5, x6, x7 = p["length_1"], p["length_2"], p["shaft_1"], p["shaft_2"]
    value = (
        0.7854 * x1 * x2**2 * (3.3333 * x3**2 + 14.9334 * x3 - 43.0934)
        - 1.508 * x1 * (x6**2 + x7**2)
        + 7.4777 * (x6**3 + x7**3)
        + 0.7854 * (x4 * x6**2 + x5 * x7**2)
    )
    return value, {
        "tooth_bending": 27 / (x1 * x2**2 * x3) - 1,
        "tooth_contact": 397.5 / (x1 * x2**2 * x3**2) - 1,
        "deflection_1": 1.93 * x4**3 / (x2 * x3 * x6**4) - 1,
        "deflection_2": 1.93 * x5**3 / (x2 * x3 * x7**4) - 1,
        "stress_1": np.sqrt((745 * x4 / (x2 * x3)) ** 2 + 16.9e6) / (110 * x6**3) - 1,
        "stress_2": np.sqrt((745 * x5 / (x2 * x3)) ** 2 + 157.5e6) / (85 * x7**3) - 1,
        "space": x2 * x3 / 40 - 1,
        "face_minimum": 5 * x2 / x1 - 1,
        "face_maximum": x1 / (12 * x2) - 1,
        "room_1": (1.5 * x6 + 1.9) / x4 - 1,
        "room_2": (1.1 * x7 + 1.9) / x5 - 1,
    }


# What the ends of the five blocks of a cantilever contribute to its deflection.
_CANTILEVER = (61.0, 37.0, 19.0, 7.0, 1.0)


def cantilever(p: Mapping[str, Any]) -> Measured:
    """Weight of a stepped cantilever of five hollow blocks (Fleury and Braibant 1986)."""
    x = [p[f"block_{j}"] for j in range(1, 6)]
    return 0.0624 * sum(x), {"deflection": sum(a / v**3 for a, v in zip(_CANTILEVER, x, strict=True)) - 1}


# Young's modulus and strength (MPa), density (kg/m^3), price (per kg).
MATERIALS = {
    "steel": (210e3, 250.0, 7850.0, 1.0),
    "aluminium": (70e3, 200.0, 2700.0, 2.2),
    "oak": (11e3, 45.0, 700.0, 1.6),
    "titanium": (110e3, 800.0, 4430.0, 20.0),
}


def bracket(p: Mapping[str, Any]) -> Measured:
    """Cost of some equal bars of one metre, side by side, that carry 2 kN at their end; each bar costs 3 to mount."""
    young, strength, density, price = MATERIALS[p["material"]]
    n, b, h = p["bars"], p["width"], p["height"]  # mm
    load, span = 2000.0 / n, 1000.0
    return n * (3 + price * density * b * h * span * 1e-9), {
        "stress": 6 * load * span / (b * h**2) / strength - 1,
        "deflection": 4 * load * span**3 / (young * b * h**3) - 8,
        "buckling": h / (6 * b) - 1,
    }
