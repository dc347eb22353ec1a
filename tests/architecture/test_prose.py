"""Sentences are for people: nothing searches, splits or replaces them. What they say is a field of their record."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

import pytest
from tests.architecture.test_sources import Source, laboratory, package

# Fields and variables that hold prose, or several pieces of it.
PROSE = {
    *("sentence", "sentences", "note", "notes", "title", "titles", "words", "reply", "reason", "reasons", "headline"),
    *("blocked", "doubt", "doubts", "finding", "phase", "compared_with", "why"),
}
READING = {
    *("split", "rsplit", "splitlines", "partition", "rpartition", "replace", "startswith", "endswith"),
    *("removeprefix", "removesuffix", "strip", "rstrip", "lstrip", "find", "rfind", "index", "count"),
}
PATTERNS = {"search", "match", "fullmatch", "findall", "finditer", "sub", "subn"}
# What is read all the same, and why.
ALLOWED = {
    # The one parser of names between backticks.
    ("src/pellucid/words.py", "sentence.split('`')"),
    # Receipts of version 1 have the step of a search in the words of their phase alone.
    ("src/pellucid/provenance/version1.py", "f'Step {step} tunes' in phase"),
    # A dictionary: the words for every term by its name.
    ("src/pellucid/answers/proposals/cases.py", "name not in words"),
}


def prose_that_is_read(files: Iterable[Source]) -> list[tuple[str, str]]:
    """The file and the expression."""
    return [(source.path, ast.unparse(node)) for source in files for node in ast.walk(source.tree) if _reads(node)]


def _reads(node: ast.AST) -> bool:
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        owner, method = node.func.value, node.func.attr
        return (method in READING and _is_prose(owner)) or (method in PATTERNS and any(map(_is_prose, node.args)))
    if isinstance(node, ast.Compare):
        pairs = zip(node.ops, node.comparators, strict=True)
        return any(isinstance(operator, ast.In | ast.NotIn) and _is_prose(other) for operator, other in pairs)
    return False


def _is_prose(node: ast.AST) -> bool:
    return any(name in PROSE for name in _names(node))


def _names(node: ast.AST) -> Iterator[str]:
    """The name of a variable or of an attribute, also of what a text is made from and of an entry."""
    if isinstance(node, ast.Attribute):
        yield node.attr
    elif isinstance(node, ast.Name):
        yield node.id
    elif isinstance(node, ast.Subscript | ast.Starred):
        yield from _names(node.value)
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in {"str", "printable"}:
        for argument in node.args:
            yield from _names(argument)
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in {"lower", "upper"}:
        yield from _names(node.func.value)


def test_nothing_reads_prose() -> None:
    assert sorted(set(prose_that_is_read([*package(), *laboratory()])) - ALLOWED) == []


def test_what_is_allowed_is_still_there() -> None:
    assert set(prose_that_is_read([*package(), *laboratory()])) >= ALLOWED


@pytest.mark.parametrize(
    "text",
    [
        "answer.sentence.split(':')",
        "str(record.sentence).partition(' ')",
        "receipt.phase.startswith(step)",
        "note.endswith('selection.')",
        "text = text.replace('a', 'b') if 'most' in answer.sentence else text",
        "re.search('matters most', answer.sentence)",
        "_MOST.findall(answer.sentence)",
        "any(words in reason for reason in verdict.blocked)",
        "'luck' not in verdict.reply.lower()",
        "note in answer.notes",
        "answer.notes[0].removeprefix('The ')",
    ],
)
def test_reading_prose_is_noticed(text: str) -> None:
    assert len(prose_that_is_read([Source("src/pellucid/a.py", text)])) == 1


@pytest.mark.parametrize(
    "text",
    [
        "names.index('x')",
        "f'{sentence} {note}'",
        "sentence == other.sentence",
        "[note for note in answer.notes if note not in said]",
        "kind_of(note) == 'selection'",
        "replace(answer, sentence='', notes=())",
        "text.split()",
    ],
)
def test_making_prose_is_not_reading_it(text: str) -> None:
    assert prose_that_is_read([Source("src/pellucid/a.py", text)]) == []
