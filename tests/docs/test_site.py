"""The site: every block of a guide runs and prints what the page says, links exist, and every page is in the menu."""

from __future__ import annotations

import itertools
import re
import runpy
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from tests.helpers import ROOT
from tests.pages import DOCS, PAGES, blocks, run_guide

# Pages whose Python blocks share their names; tests/engines runs those of docs/machines.
GUIDES = [
    page for page in sorted(DOCS.rglob("*.md")) if PAGES not in page.parents and "```python" in page.read_text("utf-8")
]
MARKDOWN = [
    *sorted(DOCS.rglob("*.md")),
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "examples/README.md")),
]
_FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
# "<0.1%" is a number too.
_NUMBER = re.compile(r"<?[-−]?\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?%?")


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def without_numbers(text: str) -> str:
    """The words of a text: other processors round differently, and lines are wrapped on the page."""
    return _NUMBER.sub("#", " ".join(text.split()))


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as the site and code hosts make them."""
    headings = re.findall(r"^#+ (.+)$", _FENCED.sub("", page.read_text(encoding="utf-8")), re.MULTILINE)
    return {
        re.sub(r"[^\w\- ]", "", re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", h)).strip().lower().replace(" ", "-")
        for h in headings
    }


def pages_of(menu: object) -> Iterator[str]:
    """The files that a menu of mkdocs names."""
    if isinstance(menu, str):
        yield menu
    else:
        for item in menu.values() if isinstance(menu, dict) else menu:  # type: ignore[attr-defined]
            yield from pages_of(item)


@pytest.mark.engine  # Minutes in all, on a busy machine.
@pytest.mark.guide
@pytest.mark.parametrize("page", GUIDES, ids=name_of)
def test_a_guide_runs_and_prints_what_it_says(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)  # The page may import the file that it has the reader write.
    ran = run_guide(page)
    for (_, printed), (block, _) in itertools.pairwise(ran):
        if block.language == "text":
            assert without_numbers(printed) == without_numbers(block.text)


@pytest.mark.parametrize("page", GUIDES, ids=name_of)
def test_what_is_printed_follows_a_python_block(page: Path) -> None:
    found = blocks(page)
    for before, block in itertools.pairwise(found):
        if block.language == "text":
            assert before.language == "python"
            assert block.text.strip(), "run `python -m tests.pages` on the page"


@pytest.mark.parametrize("page", MARKDOWN, ids=name_of)
def test_links_and_images_exist(page: Path) -> None:
    dead = []
    for link in _LINK.findall(_FENCED.sub("", page.read_text(encoding="utf-8"))):
        if link.startswith(("http://", "https://")):
            continue
        file, _, anchor = link.partition("#")
        target = (page.parent / file).resolve() if file else page
        if not target.exists() or (anchor and target.suffix == ".md" and anchor not in anchors(target)):
            dead.append(link)
    assert dead == []


def test_every_picture_is_shown() -> None:
    """That those that are shown exist is tested with the links."""
    shown = {
        (page.parent / link).resolve() for page in MARKDOWN for link in _LINK.findall(page.read_text(encoding="utf-8"))
    }
    assert [picture.name for picture in (DOCS / "images").iterdir() if picture not in shown] == []


def test_every_picture_is_taken_by_one_command() -> None:
    command = (ROOT / "tools" / "pictures.py").read_text(encoding="utf-8")
    pictures = [picture for picture in (DOCS / "images").iterdir() if f'"{picture.stem}' not in command]
    assert [picture.name for picture in pictures] == []


@pytest.mark.parametrize("page", sorted(DOCS.rglob("*.md")), ids=name_of)
def test_pages_link_only_to_the_site(page: Path) -> None:
    """A file outside docs is not on the site, so a page names it without a link."""
    links = [link.partition("#")[0] for link in _LINK.findall(_FENCED.sub("", page.read_text(encoding="utf-8")))]
    local = [(page.parent / link).resolve() for link in links if link and not link.startswith("http")]
    assert [target for target in local if DOCS not in target.parents] == []


def test_the_menu_has_every_page_once() -> None:
    settings = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))
    assert sorted(pages_of(settings["nav"])) == sorted(page.relative_to(DOCS).as_posix() for page in DOCS.rglob("*.md"))


def test_the_site_asks_no_other_host_for_fonts() -> None:
    settings = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))
    assert settings["strict"] is True
    assert settings["theme"]["font"] is False


def test_error_rates_are_those_of_the_tables() -> None:
    written = runpy.run_path(str(ROOT / "tools" / "trust_page.py"))
    assert (DOCS / "trust.md").read_text(encoding="utf-8") == written["page"](), "run `python tools/trust_page.py`"


def test_the_reference_has_every_public_name() -> None:
    import pellucid

    documented = set(re.findall(r"^::: pellucid\.(\w+)$", (DOCS / "api.md").read_text(encoding="utf-8"), re.MULTILINE))
    packages = {"acquisition", "goals", "surrogates"}
    goals = {"best", "failed", "on_the_front"}  # Documented beside the other goals.
    assert documented == set(pellucid.__all__) - packages - goals


def test_the_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 150
