"""Write `examples/tour.ipynb` and run it, so that it has outputs: `python tools/make_tour.py`.

Needs `pip install -e '.[notebook,plots]' scikit-learn`. Figures are stored for Plotly and, if Chromium is installed, as
pictures too, which pages that do not run scripts show.
"""

from __future__ import annotations

import base64
import sys
import tempfile
from pathlib import Path

import nbformat
import plotly.graph_objects as go
from nbclient import NotebookClient

from pellucid.answers import drawing as plots

TOUR = Path(__file__).parents[1] / "examples" / "tour.ipynb"
# Pixels of the pictures: a cell of a notebook.
WIDTH = 860
PLOTLY = "application/vnd.plotly.v1+json"

CELLS = (
    """# A tour of pellucid

This notebook tunes a scikit-learn model with Optuna and then asks the study what it learned. It runs in about a minute:

```console
$ pip install -e '.[notebook,plots]' scikit-learn jupyterlab
$ jupyter lab examples/tour.ipynb
```""",
    """import warnings

import optuna
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.model_selection import StratifiedKFold, cross_val_score

import pellucid

optuna.logging.set_verbosity(optuna.logging.WARNING)
warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)  # Of `set_metric_names`.
features, labels = load_breast_cancer(return_X_y=True)
folds = StratifiedKFold(n_splits=3, shuffle=True, random_state=0)""",
    """## Tune

The objective is ordinary Optuna code. Only `sampler=` is pellucid's.""",
    """def objective(trial):
    model = GradientBoostingClassifier(
        n_estimators=30,
        learning_rate=trial.suggest_float("learning_rate", 1e-3, 1.0, log=True),
        max_depth=trial.suggest_int("max_depth", 1, 6),
        subsample=trial.suggest_float("subsample", 0.3, 1.0),
        max_features=trial.suggest_categorical("max_features", ["sqrt", "log2"]),
        random_state=0,
    )
    return cross_val_score(model, features, labels, cv=folds).mean()


study = optuna.create_study(direction="maximize", sampler=pellucid.BayesianSampler(seed=0))
study.set_metric_names(["accuracy"])
study.optimize(objective, n_trials=40)""",
    """## What should I use?

Not the luckiest trial, but the configuration that the model expects to be best, with an interval for its true
value.""",
    "pellucid.recommend(study)",
    "## Can I stop?",
    "pellucid.stopping_verdict(study)",
    """## What matters?

The share of the variance that each parameter is responsible for, with intervals. The list below the table says what to
distrust.""",
    "pellucid.importance(study)",
    """## What does a parameter do?

The best accuracy that can be reached at each value, over all other parameters.""",
    'pellucid.profile_effect(study, "learning_rate")',
    "## Which ranges should I change?",
    "pellucid.parameter_ranges(study)",
    """## Why this trial?

Every proposal stores a receipt: what the model knew, expected and chose.""",
    "pellucid.receipt(study, 39)",
    "pellucid.explain_proposal(study, 39)",
    """## Were the predictions true?

They were made before the trials ran, so they can be checked.""",
    "pellucid.calibration(study)",
    """## Everything on one page

`pellucid.report(study, "report.html")` writes all answers to one file that needs no network. Every answer above has
`.to_dict()`, `.to_frame()` and `.plot()` too.""",
    "pellucid.recommend(study).to_frame()",
)


def notebook() -> nbformat.NotebookNode:
    """The cells without outputs; one that begins with `#` is text."""
    cells = [
        nbformat.v4.new_markdown_cell(text, id=f"cell-{i}")
        if text.startswith("#")
        else nbformat.v4.new_code_cell(text, id=f"cell-{i}")
        for i, text in enumerate(CELLS)
    ]
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    return nbformat.v4.new_notebook(cells=cells, metadata={"kernelspec": kernel})


def tidy(made: nbformat.NotebookNode) -> None:
    """Remove what depends on the machine, and what readers do not see."""
    made.metadata.pop("language_info", None)
    for cell in made.cells:
        cell.metadata.pop("execution", None)
        if cell.cell_type == "code":
            cell.outputs = [output for output in cell.outputs if output.output_type != "stream"]  # Warnings with paths.


def shrink(made: nbformat.NotebookNode) -> None:
    """Store six digits of every number, and of the template only the layout; add a picture if there is a browser."""
    with tempfile.TemporaryDirectory() as folder:
        picture = Path(folder) / "figure.png"
        for output in (output for cell in made.cells for output in cell.get("outputs", ())):
            stored = output.get("data", {}).get(PLOTLY)
            if stored is None:
                continue
            figure = go.Figure(data=stored["data"], layout=stored["layout"])
            figure.layout.template.data = None
            output["data"][PLOTLY] = plots.stored(figure)
            if plots.browser() is not None:
                figure.layout.width = WIDTH
                plots.save(figure, picture)
                output["data"]["image/png"] = base64.b64encode(picture.read_bytes()).decode()


def main() -> int:
    made = notebook()
    NotebookClient(made, timeout=600, record_timing=False).execute()
    tidy(made)
    shrink(made)
    nbformat.write(made, TOUR)
    print(f"{TOUR.name}: {TOUR.stat().st_size / 1000:.0f} kB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
