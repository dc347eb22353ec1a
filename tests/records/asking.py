"""Every public function that answers a question, as the catalogue names it, and how it is asked about a study."""

from __future__ import annotations

import inspect
from typing import Any

from optuna.study import Study

import pellucid
from pellucid.answers.base import WHOLE, Answer, Overview, Subject, Takes
from pellucid.answers.catalogue import CATALOGUE
from pellucid.answers.finding import Finding
from pellucid.answers.subjects import as_named
from pellucid.beliefs import Beliefs
from pellucid.study.view import StudyView

# Each with the first entry that it answers. A method belongs to a sampler and is asked with it.
FUNCTIONS: dict[str, Answer[Any]] = {}
for _answer in CATALOGUE:
    for _reference in _answer.function:
        _, _, _name = _reference.partition(":")
        if "." not in _name:
            FUNCTIONS.setdefault(_name, _answer)


def of_first(name: str, study: Study) -> bool:
    """Whether a function is asked about the first of several objectives, because it answers about one at a time."""
    parts = FUNCTIONS[name].parts
    return len(study.directions) > 1 and parts.named and parts is not as_named


def subject_of(name: str, study: Study) -> Subject | None:
    """What a function is asked about: the last trial that it applies to, or `x`. None if the catalogue says that the
    study has no such answer."""
    answer = FUNCTIONS[name]
    only = Subject(objective=0) if of_first(name, study) else WHOLE
    overview = Overview(Beliefs(StudyView.whole(study)), only)
    subjects = [WHOLE]
    if answer.takes is Takes.TRIAL:
        subjects = [Subject(trial=trial.number) for trial in reversed(study.trials)]
    elif answer.takes is Takes.PARAMS:
        subjects = [Subject(params=("x",))]
    return next((subject for subject in subjects if overview.reason(answer, subject) is None), None)


def ask(name: str, study: Study, **options: Any) -> Finding:
    """The answer of a function. Options that it does not have are left out."""
    function, subject = getattr(pellucid, name), subject_of(name, study)
    assert subject is not None
    if of_first(name, study):
        options["objective"] = 0
    named = subject.params if subject.trial is None else (subject.trial,)
    has = inspect.signature(function).parameters
    found = function(study, *named, **{option: value for option, value in options.items() if option in has})
    assert isinstance(found, Finding)
    return found
