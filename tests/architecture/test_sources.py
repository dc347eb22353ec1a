"""Rules that every source file keeps."""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "pellucid"
SOURCES = sorted(PACKAGE.rglob("*.py"))
MAX_LINES = 450

# The one file that may touch a private name of Optuna.
PRIVATE_USE = PACKAGE / "study" / "storage.py"

# Packages that may be imported inside functions only, and where each may be at the top of a file.
LAZY = {
    "pandas": (),
    "plotly": ("plots.py", "plots"),
    "torch": ("surrogates/ranking",),
}
UNSAFE_MODULES = {"cloudpickle", "dill", "marshal", "pickle", "shelve"}
UNSAFE_CALLS = {"eval", "exec"}

WRITTEN = {".cfg", ".ini", ".json", ".jsonl", ".md", ".py", ".sh", ".toml", ".txt", ".yaml", ".yml", ""}
SKIPPED = {"__pycache__", "build", "dist"}
MACHINE_PATH = re.compile(r"(?<![\w.~}/-])/(?:home|root|work|Users|opt|mnt|srv)/\w|\b[A-Z]:\\\\?Users\b")
REGISTRY = re.compile(r"(?:extra-)?index-url|find-links|https?://[\w.:-]*/simple\b")


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


def is_private(name: str) -> bool:
    return name.startswith("_") and not (name.startswith("__") and name.endswith("__"))


def imports(tree: ast.AST) -> Iterator[tuple[str, list[str]]]:
    """Each imported module with the names taken from it."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name, []
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module, [alias.name for alias in node.names]


def outside_functions(tree: ast.Module) -> ast.Module:
    """The tree without function bodies and without ``if TYPE_CHECKING`` blocks: what runs on import."""

    class Strip(ast.NodeTransformer):
        def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
            return None

        def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> None:
            return None

        def visit_If(self, node: ast.If) -> ast.AST | list[ast.stmt]:
            if "TYPE_CHECKING" in ast.unparse(node.test):
                return node.orelse
            return self.generic_visit(node)

    return Strip().visit(tree)  # type: ignore[no-any-return]


@functools.cache
def own_private_names() -> set[str]:
    """Private names that pellucid itself defines: methods, attributes, fields, functions, modules."""
    names = {path.stem for path in SOURCES}
    for path in SOURCES:
        for node in ast.walk(tree_of(path)):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                names.add(node.name)
            elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
                if isinstance(node.value, ast.Name) and node.value.id in {"self", "cls"}:
                    names.add(node.attr)
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                names.add(node.id)
    return {name for name in names if is_private(name)}


def test_there_are_sources() -> None:
    assert PACKAGE / "__init__.py" in SOURCES


@pytest.mark.parametrize("path", SOURCES, ids=name_of)
def test_files_stay_short(path: Path) -> None:
    lines = len(path.read_text(encoding="utf-8").splitlines())
    assert lines <= MAX_LINES, f"{name_of(path)} has {lines} lines; the limit is {MAX_LINES}: split it"


@pytest.mark.parametrize("path", SOURCES, ids=name_of)
def test_optional_packages_are_imported_lazily(path: Path) -> None:
    inside = path.relative_to(PACKAGE).as_posix()
    for module, _ in imports(outside_functions(tree_of(path))):
        allowed = LAZY.get(module.partition(".")[0])
        if allowed is not None:
            assert inside.startswith(allowed or ("\0",)), f"{name_of(path)} imports {module} at the top"


@pytest.mark.parametrize("path", [path for path in SOURCES if path != PRIVATE_USE], ids=name_of)
def test_only_the_storage_module_touches_private_names_of_others(path: Path) -> None:
    tree = tree_of(path)
    found = []
    for module, names in imports(tree):
        if not module.startswith("pellucid") and any(map(is_private, [*module.split("."), *names])):
            found.append(f"import of {module} {names}")
    own = own_private_names()
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and is_private(node.attr) and node.attr not in own:
            found.append(f"line {node.lineno}: {ast.unparse(node)}")
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id in {"getattr", "setattr", "hasattr", "delattr"}
            and len(node.args) > 1
            and isinstance(node.args[1], ast.Constant)
            and is_private(str(node.args[1].value))
            and str(node.args[1].value) not in own
        ):
            found.append(f"line {node.lineno}: {ast.unparse(node)}")
    assert not found, f"{name_of(path)} uses private names of other packages: {found}"


@pytest.mark.parametrize("path", SOURCES, ids=name_of)
def test_nothing_is_unpickled_or_evaluated(path: Path) -> None:
    tree = tree_of(path)
    unsafe = {module.partition(".")[0] for module, _ in imports(tree)} & UNSAFE_MODULES
    assert unsafe == set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            if isinstance(node.func, ast.Name):
                assert node.func.id not in UNSAFE_CALLS, f"{name_of(path)} line {node.lineno}"
            for keyword in node.keywords:
                assert keyword.arg != "allow_pickle" or ast.unparse(keyword.value) == "False"


def written_files() -> Iterator[Path]:
    """The text files of the repository, without environments, caches and version control."""
    pending = [ROOT]
    while pending:
        for path in pending.pop().iterdir():
            hidden = path.name.startswith(".") and path.name not in {".ci", ".gitignore"}
            if hidden or path.name in SKIPPED or path.name.endswith(".egg-info"):
                continue
            if path.is_dir():
                pending.append(path)
            elif path.suffix in WRITTEN:
                yield path


def test_no_file_names_a_place_on_one_machine_or_a_package_registry() -> None:
    found = []
    for path in sorted(written_files()):
        if path == Path(__file__).resolve():
            continue
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
            if MACHINE_PATH.search(line) or REGISTRY.search(line):
                found.append(f"{name_of(path)}:{number}: {line.strip()[:120]}")
    assert not found, "\n".join(found)
