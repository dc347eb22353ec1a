"""How the questions of the catalogue read where answers are listed: in the guides, and to agents."""

from __future__ import annotations

from pellucid.answers.base import Description

RECOMMENDATION = Description(
    question="Which configuration should I use, and how good will it be?",
    guide="use.md",
    agent="Which configuration should be used? Returns the trial with the best expected objective, which with noise is "
    "often not the one with the best value, its parameters, and an interval for what it will truly return. With "
    "several objectives it returns the front: the configurations that no other one beats in everything, with what "
    "chance each of them is on it, and what to expect of it.",
    old_tools=("recommend", "front"),
)
VERDICT = Description(
    question="Can I stop?",
    guide="stop.md",
    agent="Is it worth running more trials? Returns `stop` (true or false), the reason, how much improvement is "
    "probably left, and, if it says to go on, roughly how many more trials that takes.",
    old_tools=("can_i_stop",),
    old_file="stopping.json",
)
IMPORTANCE = Description(
    question="Which parameters matter, and which have no effect?",
    guide="matters.md",
    agent="Which hyperparameters matter? Returns the share of the variation that is due to each parameter, with an "
    "interval and a verdict (matters, no effect, cannot tell), and which parameters act together.",
    old_tools=("what_matters",),
)
GOAL = Description(
    question="Which parameters matter for a goal, or for failing?",
    guide="matters.md#what-matters-for-a-goal",
    agent="With `goal` it answers another question: which parameters decide whether a trial is among the best or worst "
    "tenth, on the front, or fails; that needs trials that were chosen at random.",
    old_tools=("what_matters",),
)
RANGES = Description(
    question="Which ranges should I change?",
    guide="ranges.md",
    agent="Which search ranges should be changed before the next study? Returns where the good trials lie, and advice "
    "for each parameter: widen or narrow its range, drop a choice, or leave it, with the chance that the advice is "
    "wrong. If there are several objectives, name one.",
)
TRADEOFF = Description(
    question="What does one objective cost in the other?",
    guide="tradeoffs.md#what-one-objective-costs-in-the-other",
    agent="Only for a study with several objectives: returns what a gain in one objective costs in another along the "
    "Pareto front, where that changes, and which parameters decide it. Use it to discuss a compromise with the user.",
    old_tools=("front",),
)
PRUNING = Description(
    question="What did stopping trials early save?",
    guide="curves.md#why-a-trial-was-stopped",
    agent="Only for a study whose pruner stopped trials early: what did that save and cost? Returns the steps that "
    "were saved, and whether the chances behind the stops came true.",
    old_tools=("can_i_stop",),
)
STOP = Description(
    question="Why was this trial stopped?",
    guide="curves.md#why-a-trial-was-stopped",
    agent="With `trial`, it says why that trial was stopped: what was expected of it then, and what it had to beat.",
    old_tools=("why_this_trial",),
)
FAILURES = Description(
    question="At which settings do trials fail?",
    guide="constraints.md#trials-that-fail",
    agent="At which settings do trials fail? Returns values and ranges of one parameter or two at which all or most "
    "trials failed, with the number of trials that say so. Only for a study with failed trials.",
)
CALIBRATION = Description(
    question="Were the predictions true? Can I trust the intervals?",
    guide="use.md#were-the-predictions-true",
    agent="Can the intervals of the other answers be trusted? Returns how many of the model's predictions came true, "
    "against how many it promised, and whether it was too sure or not sure enough, over the run and at the end.",
)
PROPOSAL = Description(
    question="Why was trial 42 proposed?",
    guide="why.md",
    agent="Why was a trial tried? Returns how much each parameter's value contributed to the decision (Shapley "
    "values), split into what was predicted to be good and what was merely unknown. Without `trial` it is "
    "about the last one. With `objective` it explains the model's prediction of that objective instead. Trials that "
    "another sampler chose are explained as this model would have seen them, and the answer says so.",
    old_tools=("why_this_trial",),
)
PROFILE = Description(
    question="Which `lr` is best, and what do others cost?",
    guide="matters.md#the-best-that-each-value-can-reach",
    agent="Which values of a hyperparameter are good? Returns, for one parameter, the best objective that can be "
    "reached at each of its values once everything else suits it, with a band of uncertainty, and what other "
    "values cost. Use it to find good values, or to see whether a value is worth trying.",
    old_tools=("what_parameters_do",),
)
DEPENDENCE = Description(
    question="What does `lr` do on average, and can I trust that plot?",
    guide="matters.md#the-average-effect",
    agent="What does a hyperparameter do to the objective on average? Returns the average over all other settings at "
    "each value of one parameter, or of two together, with a band of uncertainty.",
    old_tools=("what_parameters_do",),
)
COURSE = Description(question="How much was left to find over the run?", guide="stop.md#how-did-the-search-go")
HISTORY = Description(question="How did the search go?", guide="stop.md#how-did-the-search-go")
PATHS = Description(question="Why were trials proposed over the whole run?", guide="why.md")
INTERVAL = Description(
    question="What is the cheapest value that costs nothing?", guide="ranges.md#the-cheapest-value-that-costs-nothing"
)
