"""What people with weak eyes, a keyboard or a screen reader cannot use on a page: axe-core in a real browser.

The debugger evaluates axe-core, so that the policy of a page does not matter. `make test-pages` downloads it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from tests.browser import Browser
from tests.helpers import ROOT

AXE = ROOT / "build" / "axe-core" / "axe.min.js"
# Without `preload: false`, axe-core requests the style sheets again.
_OPTIONS = "{resultTypes: ['violations'], preload: false}"
# Details that are closed are not looked at.
_UNFOLD = "for (const part of document.querySelectorAll('details')) part.open = true"


@cache
def source() -> str:
    assert AXE.exists(), f"{AXE.relative_to(ROOT)} is missing: run `make test-pages`"
    return AXE.read_text(encoding="utf-8")


def barriers(browser: Browser, load: Callable[[], None]) -> str:
    """The serious and critical findings on a page, a line each: on a desktop in light, and on a phone in dark."""
    lines = []
    for name, width, height in (("light", 1280, 900), ("phone", 390, 844)):
        browser.show(width, height, dark=name == "phone")
        load()  # Pages may look at the colours and the width only once.
        lines += [f"{name}: {finding}" for finding in findings(browser)]
    return "\n".join(lines)


def findings(browser: Browser) -> list[str]:
    """The serious and critical findings on what the browser shows now."""
    browser.run(f"{source()}\n{_UNFOLD}")
    violations = browser.run(f"axe.run({_OPTIONS}).then(found => found.violations)")
    return [line(found) for found in violations if found["impact"] in ("serious", "critical")]


def line(found: dict[str, Any]) -> str:
    """The rule, how many elements break it, and how the first of them does."""
    first = found["nodes"][0]
    element, why = (" ".join(first[name].split()) for name in ("html", "failureSummary"))
    return f"{found['id']} ({found['impact']}), {len(found['nodes'])} times: {element[:160]} {why[:300]}"
