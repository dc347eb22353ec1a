"""The laboratory uses public names of pellucid only, and pellucid uses nothing of the laboratory."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]
LABORATORY = REPOSITORY / "lab" / "src" / "pellucid_lab"
PELLUCID = REPOSITORY / "src" / "pellucid"
LONGEST_FILE, LONGEST_TEST_FILE = 400, 500


def is_private(name: str) -> bool:
    return any(part.startswith("_") and not part.startswith("__") for part in name.split("."))


def imported(tree: ast.AST) -> Iterator[tuple[int, str, str]]:
    """Line, full name and local name of everything that is imported, anywhere in a file."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name, alias.asname or alias.name.split(".")[0]
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            for alias in node.names:
                yield node.lineno, f"{node.module}.{alias.name}", alias.asname or alias.name


def belongs_to(name: str, package: str) -> bool:
    return name == package or name.startswith(f"{package}.")


def private_uses(source: str) -> list[str]:
    """Underscored names of pellucid that a file imports, or reads from something that it imports of pellucid."""
    tree = ast.parse(source)
    of_pellucid = [(line, name, local) for line, name, local in imported(tree) if belongs_to(name, "pellucid")]
    offenders = [f"line {line}: {name}" for line, name, _ in of_pellucid if is_private(name)]
    local_names = {local for _, _, local in of_pellucid}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and is_private(node.attr):
            root = node.value
            while isinstance(root, ast.Attribute):
                root = root.value
            if isinstance(root, ast.Name) and root.id in local_names:
                offenders.append(f"line {node.lineno}: {ast.unparse(node)}")
    return offenders


def test_the_laboratory_uses_no_private_name_of_pellucid() -> None:
    offenders = {
        str(path.relative_to(REPOSITORY)): uses
        for path in LABORATORY.rglob("*.py")
        if (uses := private_uses(path.read_text(encoding="utf-8")))
    }
    assert offenders == {}


def test_pellucid_uses_nothing_of_the_laboratory() -> None:
    offenders = [
        f"{path.relative_to(REPOSITORY)}, line {line}: {name}"
        for path in PELLUCID.rglob("*.py")
        for line, name, _ in imported(ast.parse(path.read_text(encoding="utf-8")))
        if belongs_to(name, "pellucid_lab")
    ]
    assert offenders == []


@pytest.mark.parametrize(
    "source",
    [
        "from pellucid.answers.drawing.base import _style",
        "from pellucid._optuna import trials",
        "import pellucid._optuna",
        "def f():\n    from pellucid.answers import drawing\n    drawing._DRAWN",
        "import pellucid\npellucid.answers.drawing.base._style",
        "from pellucid.surrogates import gp as process\nprocess._fit()",
    ],
)
def test_a_private_use_is_reported(source: str) -> None:
    assert private_uses(source)


@pytest.mark.parametrize(
    "source",
    [
        "from pellucid.answers import drawing\ndrawing.say",
        "from pellucid_lab.base import _REQUIREMENTS",
        "x._y",
        "import pellucid\npellucid.__version__",
    ],
)
def test_other_names_are_not_reported(source: str) -> None:
    assert private_uses(source) == []


def test_files_stay_short() -> None:
    files = [*((path, LONGEST_FILE) for path in LABORATORY.rglob("*.py")),
             *((path, LONGEST_TEST_FILE) for path in Path(__file__).parent.rglob("*.py"))]  # fmt: skip
    lengths = {path: (len(path.read_text(encoding="utf-8").splitlines()), limit) for path, limit in files}
    assert {str(path): length for path, (length, limit) in lengths.items() if length > limit} == {}
