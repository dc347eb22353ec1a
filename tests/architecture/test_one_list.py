"""The catalogue is the one list of answers: nothing else in the package lists them, and no surface names a record."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest
from tests.architecture.test_sources import Source, package

from pellucid.answers import catalogue, in_python
from pellucid.answers.base import Answer
from pellucid.answers.catalogue import CATALOGUE

RECORDS = {reference.partition(":")[2] for answer in CATALOGUE for reference in answer.records}
FUNCTIONS = {reference.partition(":")[2] for answer in CATALOGUE for reference in answer.function}
KEYS = {answer.key for answer in CATALOGUE}
ENTRIES = {
    name for module in (catalogue, in_python) for name, value in vars(module).items() if isinstance(value, Answer)
}
# Sections of a page have an order of their own: one may hold several answers.
LISTS = {"src/pellucid/answers/catalogue.py", "src/pellucid/answers/places.py"}
# Fewer answers are a pair that one figure compares, or a family.
FEWEST = 4


def imported(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            yield from (alias.name for alias in node.names)


def listed(tree: ast.Module) -> Iterator[set[str]]:
    """The answers that each tuple, list, set or dictionary has among its entries, by any of their names."""
    for node in ast.walk(tree):
        entries: list[ast.expr | None] = []
        if isinstance(node, ast.Tuple | ast.List | ast.Set):
            entries = [*node.elts]
        elif isinstance(node, ast.Dict):
            entries = [*node.keys]
        inside = [part for entry in entries if entry is not None for part in ast.walk(entry)]
        texts = {part.value for part in inside if isinstance(part, ast.Constant) and isinstance(part.value, str)}
        names = {part.id for part in inside if isinstance(part, ast.Name)}
        yield (texts & (KEYS | FUNCTIONS)) | (names & (RECORDS | FUNCTIONS | ENTRIES))


def test_nothing_else_lists_answers() -> None:
    found = {source.path for source in package() for names in listed(source.tree) if len(names) >= FEWEST}
    assert found == LISTS


def test_no_surface_names_a_record() -> None:
    surfaces = [source for source in package() if source.path.startswith("src/pellucid/surfaces/")]
    assert len(surfaces) > 50
    assert {(source.path, name) for source in surfaces for name in imported(source.tree) if name in RECORDS} == set()


@pytest.mark.parametrize(
    "text",
    [
        'ORDER = ("recommendation", "verdict", "importance", "ranges")',
        "ASK = [recommend, stopping_verdict, importance, parameter_ranges]",
        "CARDS = {Recommendation: 1, Importance: 2, ParameterRanges: 3, Tradeoff: 4}",
    ],
)
def test_a_list_is_found(text: str) -> None:
    source = Source("src/pellucid/a.py", text)
    assert any(len(names) >= FEWEST for names in listed(source.tree))
