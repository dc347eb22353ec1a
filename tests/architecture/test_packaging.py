"""The installed package is typed, has one version and few dependencies."""

from __future__ import annotations

import importlib.metadata
import re
import sys
from pathlib import Path
from typing import Any

import pytest

import pellucid

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


@pytest.fixture(scope="module")
def project(repository: Path) -> dict[str, Any]:
    with (repository / "pyproject.toml").open("rb") as file:
        return dict(tomllib.load(file)["project"])


def names(requirements: list[str]) -> set[str]:
    return {re.split(r"[\s\[<>=!~;]", requirement, maxsplit=1)[0].lower() for requirement in requirements}


def test_the_package_is_marked_as_typed() -> None:
    assert pellucid.__file__ is not None
    assert (Path(pellucid.__file__).parent / "py.typed").is_file()


def test_there_is_one_version(project: dict[str, Any], repository: Path) -> None:
    version = project["version"]
    assert pellucid.__version__ == version == importlib.metadata.version("pellucid")
    laboratory = tomllib.loads((repository / "lab" / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert laboratory["version"] == version
    assert laboratory["dependencies"] == [f"pellucid=={version}"]


def test_the_top_of_the_changelog_and_the_citation_are_about_this_version(
    project: dict[str, Any], repository: Path
) -> None:
    changelog = (repository / "CHANGELOG.md").read_text(encoding="utf-8")
    citation = (repository / "CITATION.cff").read_text(encoding="utf-8")
    [version, date] = re.findall(r"^## \[(.+)\] - (\S+)$", changelog, flags=re.MULTILINE)[0]
    assert version == project["version"]
    assert f"\nversion: {version}\ndate-released: {date}\n" in citation


def test_the_base_install_is_light(project: dict[str, Any]) -> None:
    assert names(project["dependencies"]) == {"numpy", "scipy", "optuna", "rich", "threadpoolctl", "typer"}


def test_the_oldest_torch_has_an_adam_that_is_fused_on_a_processor(project: dict[str, Any]) -> None:
    for extra in ("ranking",):
        [floor] = [
            requirement for requirement in project["optional-dependencies"][extra] if requirement.startswith("torch>=")
        ]
        assert tuple(map(int, re.findall(r"\d+", floor)[:2])) >= (2, 4)


def test_requirements_are_ranges_and_constraints_are_pins(project: dict[str, Any], repository: Path) -> None:
    groups = [project["dependencies"], *project["optional-dependencies"].values()]
    assert not [requirement for group in groups for requirement in group if "==" in requirement]
    pins = [
        line
        for line in (repository / "constraints.txt").read_text(encoding="utf-8").splitlines()
        if line and not line.startswith("#")
    ]
    assert all(re.fullmatch(r"[\w.-]+==[\w.]+(; python_version >= \"3\.\d+\")?", pin) for pin in pins)
    assert "torch==2.13.0" in pins
    assert names(project["dependencies"]) <= names(pins)


def test_the_lowest_versions_that_are_tested_are_those_declared(project: dict[str, Any], repository: Path) -> None:
    """Of all extras that users have, except for torch: only one version of it is installed for tests."""
    extras = [group for name, group in project["optional-dependencies"].items() if name not in {"all", "dev", "docs"}]
    requirements = [requirement for group in (project["dependencies"], *extras) for requirement in group]
    declared = {}
    for requirement in requirements:
        if not requirement.startswith(("pellucid[", "torch>=")):
            name, bounds = requirement.split(">=")
            declared[name.partition("[")[0]] = padded(bounds.partition(",")[0])
    lines = (repository / "lowest.txt").read_text(encoding="utf-8").splitlines()
    tested = dict(line.split("==") for line in lines if not line.startswith("#"))
    assert {name: padded(number) for name, number in tested.items()} == declared


def test_every_extra_is_tried_with_its_lowest_versions(project: dict[str, Any], repository: Path) -> None:
    makefile = (repository / "Makefile").read_text(encoding="utf-8")
    [tried] = re.findall(r"^LOWEST_EXTRAS := (\S+)$", makefile, flags=re.MULTILINE)
    assert set(tried.split(",")) == set(project["optional-dependencies"]) - {"all", "dev", "docs", "ranking"}


def padded(number: str) -> tuple[int, ...]:
    """A version as three numbers: 1.26 and 1.26.0 are the same."""
    parts = tuple(map(int, number.split(".")))
    return parts + (0,) * (3 - len(parts))


def test_the_console_script_is_installed() -> None:
    scripts = importlib.metadata.entry_points(group="console_scripts", name="pellucid")
    assert [script.value for script in scripts] == ["pellucid.surfaces.cli.app:run"]
