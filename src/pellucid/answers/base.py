"""What an answer is before it is computed: an entry of the catalogue, what it can be about, and all answers of a study.

Functions and records are named by references, so that the catalogue costs nothing to import. A test resolves them all.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from importlib import import_module
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from pellucid.answers.places import Place

if TYPE_CHECKING:
    from pellucid.answers.finding import Finding, NotKnown
    from pellucid.beliefs import Beliefs
    from pellucid.study.targets import Target
    from pellucid.study.view import StudyView

Record = TypeVar("Record", bound="Finding")


def resolve(reference: str) -> Any:
    """What "package.module:name" or "package.module:Class.method" names."""
    module, _, name = reference.partition(":")
    return attrgetter(name)(import_module(module))


# ---------------------------------------------------------------------- what a question is about


class GoalName(str, Enum):
    """Trials that a user asks about as a group."""

    BEST = "best"
    WORST = "worst"
    FRONT = "front"
    FAILED = "failed"


class Takes(Enum):
    """What the asker of a question names, besides an objective or a constraint."""

    NOTHING = "nothing"
    TRIAL = "trial"
    PARAMS = "params"
    GOAL = "goal"


@dataclass(frozen=True)
class Subject:
    """What a question is about: the whole study, unless a field says more.

    objective   one of several, by its position;  constraint  by its name
    pair        two objectives, by their positions
    params      one parameter or two, by name;  goal  a group of trials;  trial  by its number
    """

    objective: int | None = None
    constraint: str | None = None
    pair: tuple[int, int] | None = None
    params: tuple[str, ...] = ()
    goal: GoalName | None = None
    trial: int | None = None

    @property
    def part(self) -> bool:
        """Whether it is one of several objectives, or a constraint."""
        return self.objective is not None or self.constraint is not None

    @property
    def prefix(self) -> str:
        """What names of figures about one of several objectives begin with."""
        return "" if self.objective is None else f"objective-{self.objective}-"


WHOLE = Subject()


# ---------------------------------------------------------------------- entries of the catalogue


@dataclass(frozen=True)
class Parts:
    """The parts of a study that a question is asked about, given what was named besides.

    several  whether it may be asked about each of several, so that a name tells the answers apart
    named    whether the asker may name one of them
    """

    choose: Callable[[Overview, Subject], Sequence[Subject]]
    several: bool = False
    named: bool = False

    def __call__(self, overview: Overview, named: Subject) -> Sequence[Subject]:
        return self.choose(overview, named)


Choice = Callable[["Overview", Subject], Sequence[Subject]]


Reason = Callable[["Overview", Subject], "str | None"]
Wording = Callable[["Overview", Subject], str]
# Key figures by the parts of their names; None if one is not known.
Metrics = Mapping[tuple[str, ...], "float | None"]


def always(_: Overview, __: Subject) -> None:
    """No study is without this answer."""


def as_it_is(_: Overview, part: Subject) -> Sequence[Subject]:
    """The part of the study itself: nothing has to be chosen."""
    return (part,)


@dataclass(frozen=True)
class ChosenBy:
    """Subjects that a function chooses, by its reference: one that asks other answers, or that is heavy to import."""

    reference: str

    def __call__(self, overview: Overview, part: Subject) -> Sequence[Subject]:
        return cast("Sequence[Subject]", resolve(self.reference)(overview, part))


@dataclass(frozen=True)
class ChosenWords:
    """Words that a function finds, by its reference."""

    reference: str

    def __call__(self, overview: Overview) -> str:
        return cast(str, resolve(self.reference)(overview))


@dataclass(frozen=True)
class TextTable:
    """Cells of a table. The first column holds names, the others hold numbers."""

    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Description:
    """How a question reads where answers are listed.

    question   as a person asks it
    guide      the page of the guides that is about it, and its section
    agent      what the answer says, for an agent that has never heard of pellucid
    old_tools  names under which agents asked it in 1.0.0rc1;  old_file  the name of its file in a tracker
    """

    question: str = ""
    guide: str = ""
    agent: str = ""
    old_tools: tuple[str, ...] = ()
    old_file: str = ""


@dataclass(frozen=True)
class Answer(Generic[Record]):
    """One entry of the catalogue: a question about a study, and how it is answered.

    key        its name on every surface. Two entries have the same if they answer one question about different subjects
    title      the question, as it stands before the answer;  wording  the same about a subject that was named, where
               that differs;  listing  in a list of answers, where that differs
    compute    reference to a function of an overview and a subject, which returns a record or raises a reason. If
               subjects are answered `together`, it takes those of one part of the study and returns a record for each.
               Empty if only the `function` asks it, which takes more than a subject
    records    references to the records that it can return, each with its figures by name; the first one is drawn
               unless another is named
    parts      of the study that it is asked about, given what was named besides: all of it, each objective, every two
    takes      what the asker names besides
    applies    why there is no such answer about a subject, in a sentence; None if there may be one
    listed     what it is about in a list of answers if nobody names it; None: it is in no list
    shown      the same on a page;  shown_where  why it is on no page, where that differs from `applies`
    at_once    whether it needs no model and next to no time
    steps      what it is about, as far as that is known before anything is computed: each is a step of a progress bar.
               None: it takes next to no time
    called     its name where progress or a failure is reported: `{constraint}` and `{trial}` stand for what it is about
    card       how it appears among the first answers of a page, and  chapter  in a note
    section    the section of a page that shows it; empty if that of another answer does
    content    reference to a function of an overview and a part of the study, which returns the pieces of the section;
               without one these are the figure with its finding, or why there is none
    needed     whether it is an error if a user asks for it by name and there is no answer; if not, another may do
    with_goal  the goal that asks this question, too
    concludes  whether a run ends with it
    table      reference to a function of the record: details, printed if the question was asked by name
    function   references to the public functions that ask it
    metrics    reference to a function of the record: its key figures for trackers, each by the parts of its name
    described  how it reads in the guides and to an agent
    """

    key: str
    title: str
    records: Mapping[str, Mapping[str, str]]
    parts: Parts
    function: tuple[str, ...]
    compute: str = ""
    takes: Takes = Takes.NOTHING
    applies: Reason = always
    listed: Choice | None = None
    shown: Choice | None = None
    shown_where: Reason | None = None
    at_once: bool = False
    steps: Choice | None = None
    called: str = ""
    card: Place | None = None
    chapter: Place | None = None
    section: str = ""
    content: str = ""
    together: bool = False
    wording: Wording | None = None
    listing: Wording | None = None
    needed: Callable[[Overview, Subject], bool] = lambda _, __: True
    with_goal: GoalName | None = None
    concludes: bool = False
    table: str = ""
    metrics: str = ""
    described: Description = Description()

    @property
    def asked(self) -> bool:
        """Whether a user can ask it on every surface: without naming anything, or by naming what it takes."""
        return bool(self.compute) and (self.listed is not None or self.takes is not Takes.NOTHING)


@dataclass(frozen=True)
class Question(Generic[Record]):
    """An entry of the catalogue with one of its subjects.

    title  as it stands before the answer
    label  tells answers to one question about several subjects apart; empty if there is only one
    """

    overview: Overview = field(repr=False)
    answer: Answer[Record]
    subject: Subject
    title: str
    label: str = ""

    @property
    def key(self) -> str:
        return self.answer.key

    @property
    def needed(self) -> bool:
        return self.answer.needed(self.overview, self.subject)

    def answered(self) -> Record | NotKnown:
        """The answer, or why there is none."""
        return self.overview.ask(self.answer, self.subject)


# ---------------------------------------------------------------------- all answers of a study


def _nothing(_: str) -> None:
    """No progress is reported."""


@dataclass(eq=False)
class Overview:
    """All answers that rest on the same beliefs about a study: each is computed when it is first asked for, and kept.

    only     the objective or the constraint that the user has named, if the answers are about that alone
    whole    whether answers that take long are computed; they are pending if not
    began    called with the name of every answer that takes a step of a progress bar, before it is computed
    broken   the answers that failed, by name, each with the cause
    lasting  what stays true about the study while trials are added, by what it rests on: a later overview may have it
    """

    beliefs: Beliefs
    only: Subject = WHOLE
    whole: bool = True
    began: Callable[[str], None] = field(default=_nothing, repr=False)
    broken: dict[str, NotKnown] = field(default_factory=dict, repr=False)
    lasting: dict[Any, Any] = field(default_factory=dict, repr=False)
    _known: dict[tuple[str, Subject], Any] = field(default_factory=dict, repr=False)
    _subjects: dict[tuple[str, Choice, Subject], Sequence[Subject]] = field(default_factory=dict, repr=False)

    @property
    def view(self) -> StudyView:
        return self.beliefs.view

    @property
    def part(self) -> Subject:
        """`only`, unless it is all that the study has."""
        return self.only if self.view.several or self.only.constraint is not None else WHOLE

    def target(self, subject: Subject) -> Target:
        """The objective or the constraint of a subject; the first objective, if it is about the study as a whole."""
        if subject.constraint is not None:
            return next(target for target in self.view.constraints if target.name == subject.constraint)
        return self.view.objectives[subject.objective or 0]

    def ask(self, answer: Answer[Record], subject: Subject = WHOLE) -> Record | NotKnown:
        """An answer, or why there is none."""
        key = (answer.compute, subject)
        if key not in self._known:
            self._compute(answer, subject)
        return cast("Record | NotKnown", self._known[key])

    def known(self, answer: Answer[Record], subject: Subject = WHOLE) -> Record | None:
        """An answer that has been asked for already; None if it has not, or if there is none."""
        from pellucid.answers.finding import NotKnown

        record = self._known.get((answer.compute, subject))
        return None if isinstance(record, NotKnown) else cast("Record | None", record)

    def found(self, answer: Answer[Record], subject: Subject = WHOLE) -> Record | None:
        """An answer; None if there is none."""
        self.ask(answer, subject)
        return self.known(answer, subject)

    def _compute(self, answer: Answer[Any], subject: Subject) -> None:
        from pellucid.answers.finding import PENDING, NotKnown, attempt

        if not (self.whole or answer.at_once):
            self._known[answer.compute, subject] = PENDING
            return
        compute = resolve(answer.compute)
        if answer.steps is not None:
            self.began(self.name(answer, subject))
        if not answer.together:
            self._keep(answer, subject, attempt(lambda: compute(self, subject)))
            return
        part = Subject(objective=subject.objective, constraint=subject.constraint)
        others = [] if answer.shown is None else self._choose(answer, answer.shown, part)
        subjects = others if subject in others else [subject]
        records = attempt(lambda: compute(self, subjects))
        for i, each in enumerate(subjects):
            self._keep(answer, each, records if isinstance(records, NotKnown) else records[i])

    def _keep(self, answer: Answer[Any], subject: Subject, record: Any) -> None:
        """An answer that failed only because another one did is not named besides."""
        from pellucid.answers.finding import NotKnown

        self._known[answer.compute, subject] = record
        if isinstance(record, NotKnown) and record.failed and not any(why is record for why in self.broken.values()):
            self.broken[self.name(answer, subject)] = record

    def name(self, answer: Answer[Any], subject: Subject) -> str:
        """What an answer is called where progress or a failure is reported."""
        name = (answer.called or answer.title).format(constraint=subject.constraint, trial=subject.trial)
        return f"{name} of {self.label(subject)}" if subject.objective is not None else name

    def n_steps(self, answers: Iterable[Answer[Any]]) -> int:
        """How often `began` will be called if all that a page shows of these answers is asked for."""
        asked = (answer for answer in answers if answer.steps is not None)
        return sum(len(self._chosen(answer, answer.steps, answer.shown_where)) for answer in asked if answer.steps)

    def listed(self, answer: Answer[Any]) -> list[Question[Any]]:
        """The questions of an entry that stand in a list of answers."""
        if answer.listed is None:
            return []
        return self._questions(answer, answer.listing or answer.wording, self._chosen(answer, answer.listed))

    def shown(self, answer: Answer[Any]) -> list[Question[Any]]:
        """The questions of an entry that a page answers."""
        if answer.shown is None:
            return []
        return self._questions(answer, answer.wording, self._chosen(answer, answer.shown, answer.shown_where))

    def applies(self, answer: Answer[Any]) -> bool:
        """Whether a page has something to say about an entry, be it why there is no answer."""
        why_not = answer.shown_where or answer.applies
        return answer.shown is not None and any(why_not(self, part) is None for part in answer.parts(self, WHOLE))

    def shown_of(self, answer: Answer[Any], part: Subject) -> list[Question[Any]]:
        """Those about one part of the study."""
        target = (part.objective, part.constraint)
        asked = self.shown(answer)
        return [each for each in asked if (each.subject.objective, each.subject.constraint) == target]

    def named(self, answer: Answer[Any], named: Subject) -> list[Question[Any]]:
        """The questions of an entry about the trial, the parameters or the goal that a user has named."""
        if not answer.asked:
            return []
        parts = answer.parts(self, named)
        asked = [replace(named, objective=part.objective, constraint=part.constraint) for part in parts]
        asked = [subject for subject in asked if answer.applies(self, subject) is None]
        return self._questions(answer, answer.wording, asked)

    def reason(self, answer: Answer[Any], named: Subject = WHOLE) -> str | None:
        """Why there is no question of an entry about what a user has named; None if there is one."""
        parts = answer.parts(self, named) or (WHOLE,)
        reasons = [
            answer.applies(self, replace(part, params=named.params, goal=named.goal, trial=named.trial))
            for part in parts
        ]
        return reasons[0] if all(reasons) else None

    def _chosen(self, answer: Answer[Any], choice: Choice, applies: Reason | None = None) -> list[Subject]:
        applies = applies or answer.applies
        parts = [part for part in answer.parts(self, WHOLE) if applies(self, part) is None]
        if not (self.whole or answer.at_once):
            return parts
        return [subject for part in parts for subject in self._choose(answer, choice, part)]

    def _choose(self, answer: Answer[Any], choice: Choice, part: Subject) -> Sequence[Subject]:
        """The subjects that belong to a part. If none can be chosen, the part itself, and the answer to it is why."""
        from pellucid.answers.finding import NotKnown, attempt

        key = (answer.compute, choice, part)
        if key not in self._subjects:
            chosen = attempt(lambda: choice(self, part))
            if isinstance(chosen, NotKnown):
                self._keep(answer, part, chosen)
                chosen = (part,)
            self._subjects[key] = chosen
        return self._subjects[key]

    def _questions(
        self, answer: Answer[Any], wording: Wording | None, subjects: Sequence[Subject]
    ) -> list[Question[Any]]:
        several = len(subjects) > 1
        return [
            Question(
                self,
                answer,
                subject,
                answer.title if wording is None else wording(self, subject),
                self.label(subject) if several else "",
            )
            for subject in subjects
        ]

    def label(self, subject: Subject) -> str:
        """The names of the objectives or of the constraint of a subject."""
        if subject.pair is not None:
            return " and ".join(self.view.objectives[i].name for i in subject.pair)
        return self.target(subject).name if subject.part else ""
