"""How the ranking sampler is made: wrong arguments, files that are not models, packages that are missing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import optuna
import pytest
from optuna.study import Study
from tests.helpers import ROOT

import pellucid

pytest.importorskip("torch")


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"acquisition": "pi"}, ValueError, "`acquisition` is 'mean', 'ucb' or 'ei', but got 'pi'"),
        ({"reference": "first"}, ValueError, "`reference` is 'incumbent' or 'last', but got 'first'"),
        ({"hand_over": 0}, ValueError, "`hand_over` must be None or a whole number of at least 1, but got 0"),
        ({"fallback": optuna.samplers.RandomSampler()}, TypeError, "`fallback` must be a pellucid.BayesianSampler"),
        ({"fallback": "gp"}, TypeError, "`fallback` must be a pellucid.BayesianSampler.*but got 'gp'"),
        ({"model": 3}, TypeError, "`model` must be the path of a file that `pellucid meta-train` wrote.*but got 3"),
        ({"model": "no such file"}, ValueError, "meta-train` .* wrote, but there is no no such file: create it, or"),
        ({"model": "."}, ValueError, "meta-train` .* wrote, but . is a folder: name a file in it"),
    ],
)
def test_wrong_arguments(options: dict[str, Any], error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        pellucid.RankingSampler(**options)


def test_a_file_that_is_not_a_model_is_refused(tmp_path: Path, model_file: Path) -> None:
    (tmp_path / "text").write_text("lr,depth\n0.1,3\n")
    with pytest.raises(ValueError, match="is not a ranking model of pellucid"):
        pellucid.RankingSampler(model=tmp_path / "text")
    (tmp_path / "cut").write_bytes(model_file.read_bytes()[:-100])
    with pytest.raises(ValueError, match="damaged or cut off"):
        pellucid.RankingSampler(model=tmp_path / "cut")


def test_there_is_nothing_to_save_without_a_model(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no meta-trained model"):
        pellucid.RankingSampler().save(tmp_path / "nothing")
    assert list(tmp_path.iterdir()) == []


def test_too_few_or_too_different_studies_are_reported(earlier: Study) -> None:
    with pytest.raises(ValueError, match="at least 3"):
        pellucid.RankingSampler.from_studies(earlier._storage, ["earlier 0", "earlier 1"], progress=False)
    unknown: tuple[tuple[Any, str], ...] = (("earlier 10", "'earlier 1', "), (3, "'earlier 0', 'earlier 1', "))
    for wrong, words in unknown:
        with pytest.raises(ValueError, match=f"names of studies in the storage, but got {wrong!r}; it has {words}"):
            pellucid.RankingSampler.from_studies(earlier._storage, ["earlier 0", wrong], progress=False)
    with pytest.raises(ValueError, match="but got 'x'; it has none"):
        pellucid.RankingSampler.from_studies("sqlite:///:memory:", ["x"], progress=False)


def test_names_of_studies_are_a_list_and_count_once(earlier: Study) -> None:
    learn = pellucid.RankingSampler.from_studies
    name = earlier.study_name
    with pytest.raises(ValueError, match="at least 3 of them, but there is 1 to learn from"):
        learn(earlier._storage, [name] * 5)
    with pytest.raises(ValueError, match=f"`names` must be a list of names of studies, but got the text {name!r}"):
        learn(earlier._storage, name)


def python(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code], cwd=ROOT, text=True, capture_output=True, check=False)


def test_without_its_packages_it_says_what_to_install() -> None:
    code = """
import sys
sys.modules["torch"] = None
import pellucid
for make in (pellucid.RankingSampler, lambda: pellucid.RankingSampler.from_studies("sqlite:///:memory:", [])):
    try:
        make()
    except ImportError as error:
        print(error)
"""
    done = python(code)
    assert done.returncode == 0, done.stderr
    line = "RankingSampler needs torch and safetensors: `pip install 'pellucid[ranking]'`."
    assert done.stdout.splitlines() == [line, line]


def test_importing_pellucid_imports_no_torch() -> None:
    done = python("import sys, pellucid; pellucid.RankingSampler; print('torch' in sys.modules)")
    assert done.stdout.strip() == "False", done.stderr
