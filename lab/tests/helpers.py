"""Shared by several test files: the command line, data that tests may need, and files in the layout of HPO-B."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner, Result

from pellucid.surfaces.cli.app import application
from pellucid_lab.problems.data import data_folder


def call(*arguments: str) -> Result:
    """Run the command line in this process."""
    return CliRunner().invoke(application(), list(arguments))


def has_data(*files: str) -> bool:
    folder = data_folder(None)
    return folder is not None and all((folder / file).is_file() for file in files)


needs_yahpo = pytest.mark.skipif(
    not has_data("yahpo/lcbench/model.onnx", "yahpo/rbv2_xgboost/model.onnx"),
    reason="no YAHPO data: set PELLUCID_DATA to a folder whose yahpo/ is https://github.com/slds-lmu/yahpo_data",
)
needs_splits = pytest.mark.skipif(
    not has_data("yahpo/lcbench/model.onnx", "meta/splits.json"),
    reason="no transfer data: set PELLUCID_DATA to a folder with meta/splits.json and yahpo/",
)


# ---------------------------------------------------------------------- HPO-B

Content = dict[str, Any]
SPLITS = {
    "train": {"4796": ["3", "31", "37"], "5527": ["3", "31"]},
    "validation": {"4796": ["44"], "5527": ["50"]},
    "test": {"4796": ["23", "29", "54"], "5527": ["23", "29"]},
}
COLUMNS = {"4796": 3, "5527": 2}


def hpob_content() -> Content:
    """By file name: about 30 configurations per data set, y as a column in some and flat in others."""
    rng = np.random.default_rng(0)
    files: Content = {}
    starts: Content = {}
    for split, spaces in SPLITS.items():
        tables: Content = {}
        for space, names in spaces.items():
            tables[space] = {}
            for k, name in enumerate(names):
                X = rng.random((28 + k, COLUMNS[space]))
                y = 0.9 - ((X - 0.3) ** 2).sum(axis=1)
                tables[space][name] = {"X": X.tolist(), "y": (y[:, None] if k % 2 == 0 else y).tolist()}
                if split == "test":
                    picked = {f"test{s}": rng.choice(len(X), 5, replace=False).tolist() for s in range(5)}
                    starts.setdefault(space, {})[name] = picked
        files[f"meta-{split}-dataset.json"] = tables
    return files | {"bo-initializations.json": starts}


def write_hpob(files: Content, folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, tables in files.items():
        (folder / name).write_text(json.dumps(tables))
    return folder
