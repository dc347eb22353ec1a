"""Every text that is printed, logged, warned of or raised, and is not constant, is printable."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from tests.words.places import places, safe


@pytest.mark.parametrize("folder", ["src/pellucid", "lab/src"])
def test_every_place_passes_the_mouth(folder: str, repository: Path) -> None:
    found = [place for place in places(repository, "src/pellucid", "lab/src") if place.file.startswith(folder)]
    assert len(found) > 50
    assert {place.kind for place in found} >= {"raise", "print", "repr"}
    assert [str(place) for place in found if not place.passes] == []


@pytest.mark.parametrize(
    "statement",
    [
        'raise ValueError(f"no {name}")',
        'raise ValueError(f"no {name:.20}")',
        'raise TypeError("no " + name)',
        "raise KeyError(name)",
        "raise ValueError(sentence_about(name))",
        'raise OSError(errno.EIO, f"no {name}")',
        'raise typer.BadParameter(f"no {name}")',
        'problem = ValueError(f"no {name}")',
        'raise ValueError(", ".join(f"`{name}`" for name in names))',
        '_logger.warning("no %s", name)',
        '_logger.warning("no %d, %s", number, name)',
        '_logger.warning(f"no {name}")',
        '_logger.warning("no", exc_info=True)',
        '_logger.warning("no", exc_info=error)',
        '_logger.exception("no %d", number)',
        'warnings.warn(f"no {name}")',
        "print(name)",
        'typer.echo(f"no {name}", err=True)',
        "sys.stderr.write(name)",
        "console.print(name)",
        "table.add_row(name)",
        "Text(name)",
        'def __str__(self): return f"no {self.name}"',
    ],
)
def test_the_lint_sees_what_does_not_pass(statement: str, tmp_path: Path) -> None:
    (tmp_path / "module.py").write_text(statement)
    (place,) = places(tmp_path, ".")
    assert not place.passes


@pytest.mark.parametrize(
    "statement",
    [
        'raise ValueError(printable(f"no {name}"))',
        'raise ValueError(f"no {name!r}, but {len(names)} of {share:.3g} and {count:,}")',
        'raise OSError(errno.EIO, "no", name)',
        'class Own(PrintableError): pass\nraise Own(f"no {name}")',
        '_logger.warning("no %d, %s", number, printable(name))',
        '_logger.warning("no %d", number, exc_info=printable_error(error))',
        'from pellucid.surfaces.cli.terminal import say\nsay(f"no {name}")',
        "from pellucid.surfaces.cli.terminal import print_lines\nprint_lines(*lines)",
        "table.add_row(*(Text(printable(cell)) for cell in row))",
        'def __repr__(self): return printable(f"no {self.name}")',
    ],
)
def test_the_lint_sees_what_passes(statement: str, tmp_path: Path) -> None:
    (tmp_path / "module.py").write_text(statement)
    found = places(tmp_path, ".")
    assert found
    assert all(place.passes for place in found)


def test_a_constant_says_nothing_of_a_study(tmp_path: Path) -> None:
    (tmp_path / "module.py").write_text('raise ValueError("no")\nprint("a" "b")\nraise ValueError(_NEEDS)')
    assert places(tmp_path, ".") == []


def test_a_format_of_a_text_is_no_number() -> None:
    def passes(text: str) -> bool:
        return safe(ast.parse(text, mode="eval").body)

    assert passes('f"{x:.3g}"')
    assert passes('f"{x:,}"')
    assert not passes('f"{x:.300}"')
    assert not passes('f"{x!s:.300}"')
    assert not passes('f"{x:>{width}}"')
