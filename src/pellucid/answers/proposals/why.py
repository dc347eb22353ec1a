"""Explanations of proposals in sentences, from the numbers in their records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from pellucid.answers.proposals.records import PREDICTED, Contribution, ExpectedValue, ProposalExplanation
from pellucid.answers.proposals.relevance import Relevance
from pellucid.claims import NO_REASON, PREDICTED_REASON, REASON
from pellucid.provenance import Term
from pellucid.words import OBJECTIVE, Note, called, spoken, value_text, with_error

# Shares of a proposal's appeal: from half on it is "mainly" that, from a quarter on a parameter is always named, and
# below a twentieth never.
_HALF, _QUARTER, _SMALL = 0.5, 0.25, 0.05
# Parameters in one list: a sentence with more is not read.
_MOST_NAMED = 3
# The share of all contributions to a prediction from which on a parameter is named.
_WORTH_SAYING = 0.1
Terms = Mapping[str, Term]


@dataclass(frozen=True)
class Said:
    """A sentence about a trial, and the parameters that it names for what it explains and against it."""

    sentence: str
    reasons: tuple[str, ...] = ()
    against: tuple[str, ...] = ()

    @staticmethod
    def of(sentence: str, reasons: Sequence[Contribution] = (), against: Sequence[Contribution] = ()) -> Said:
        return Said(_capitalised(sentence), tuple(c.name for c in reasons), tuple(c.name for c in against))


def proposal_sentence(
    trial: int,
    contributions: Sequence[Contribution],
    total: float,
    proposed: bool,
    terms: Terms,
    compared_with: str,
    whole_space: bool,
    rounding: float,
    relevance: Mapping[str, Relevance],
) -> Said:
    """One sentence: what made the proposal attractive, what was exploration, and what counted against it.

    Shares are of everything that counts in favour. Only contributions whose sign is certain are named, none that is
    smaller than `rounding`, and none that is no reason in the light of `relevance` (see `_no_reason`).
    """
    certain = sorted((c for c in contributions if c.sure and c.total > rounding), key=lambda c: -c.total)
    appeal = sum(c.total for c in certain)
    for_it = [c for c in certain if c.total >= _SMALL * appeal and not _no_reason(c, terms, relevance)]
    against = sorted(
        (c for c in contributions if c.sure and c.total < -rounding and not _no_reason(c, terms, relevance)),
        key=lambda c: c.total,
    )
    compared = "" if whole_space else f"compared with {compared_with}, "
    start = (
        f"{compared}trial {trial} was proposed" if proposed else f"pellucid did not propose trial {trial}; {compared}"
    )
    if total <= rounding or not for_it:
        if total > rounding and certain and all(_strongest(c, terms).role == "uncertainty" for c in certain):
            return Said.of(start + _pure_exploration(proposed))
        better = total > rounding
        rest_of_it = _no_appeal(against, better, proposed, compared_with)
        return Said.of(start + rest_of_it, against=() if better else against[:_MOST_NAMED])
    main = [c for i, c in enumerate(for_it) if sum(o.total for o in for_it[:i]) < _HALF * appeal or _large(c, appeal)]
    main = main[:_MOST_NAMED]
    named = sum(c.total for c in main) / appeal
    how = "mainly for" if named >= _HALF else "partly for"
    reasons = [_reason(c, terms, relevance) for c in main]
    shares = spoken([_share(c, i, reasons, appeal) for i, c in enumerate(main)])
    parts = [f"{start} {how} {shares}" if proposed else f"{start}its model would have liked it {how} {shares}"]
    rest = [c for c in for_it if c not in main]
    exploring = [c for c in rest if _strongest(c, terms).role == "uncertainty"]
    if exploring:
        parts.append(f"{_names(exploring)} {'was' if len(exploring) == 1 else 'were'} exploration")
    serious = [c for c in against if -c.total >= _SMALL * appeal]
    if serious:
        parts.append(f"{_names(serious)} counted against it{_known(serious, terms)}")
    return Said.of("; ".join(parts) + ".", [*main, *exploring[:_MOST_NAMED]], serious[:_MOST_NAMED])


def _known(against: Sequence[Contribution], terms: Terms) -> str:
    """What is to be said of contributions that count against a proposal only because they are well known."""
    roles = {terms[min(c.terms, key=lambda name: c.terms[name])].role for c in against}
    return ", because little is left to learn there" if roles == {"uncertainty"} else ""


def _no_appeal(against: Sequence[Contribution], better: bool, proposed: bool, compared_with: str) -> str:
    """The rest of the sentence if no parameter can be named that counts in favour."""
    if better:
        return (": " if proposed else "its model would have liked it: ") + "no single parameter stands out as a reason."
    blame = f"{_names(against)} counted against it" if against else "no single parameter made the difference"
    if proposed:
        return f" although {blame}: to the model it was no better than {compared_with}."
    return f"its model would have rated it no better than {compared_with}: {blame}."


def _pure_exploration(proposed: bool) -> str:
    """The rest of the sentence if all that counts in favour is uncertainty about parameters without an effect."""
    return (" " if proposed else "its model would have liked it ") + (
        "to explore: little is known there, and no parameter that matters made the difference."
    )


def _no_reason(c: Contribution, terms: Terms, relevance: Mapping[str, Relevance]) -> bool:
    """Whether a contribution is no reason for or against a proposal, although it is part of its score.

    Either it comes mostly from uncertainty about a parameter that the prediction hardly depends on; or it comes from
    the prediction, and no model was sure that the value is better (or worse) than others for its objective.
    """
    known = relevance.get(c.name)
    if known is None or not any(terms[name].role == "prediction" for name in c.terms):
        return False
    sign = 1.0 if c.total > 0.0 else -1.0
    match terms[max(c.terms, key=lambda name: sign * c.terms[name])].role:
        case "uncertainty":
            return known.total < NO_REASON.threshold
        case "prediction":
            return max(sign * evidence for evidence in known.evidence.values()) < PREDICTED_REASON.threshold
    return False


def doubted(contributions: Sequence[Contribution], terms: Terms, relevance: Mapping[str, Relevance]) -> tuple[str, ...]:
    """A note if the model was not sure of large contributions of the prediction."""
    appeal = sum(max(c.total, 0.0) for c in contributions)
    unsure = [
        c
        for c in contributions
        if c.sure
        and c.total >= max(_QUARTER * appeal, 1e-300)
        and _strongest(c, terms).role == "prediction"
        and _no_reason(c, terms, relevance)
    ]
    if not unsure:
        return ()
    intervals = "the 95% interval includes" if len(unsure) == 1 else "their 95% intervals include"
    text = f"The model expected {_names(unsure)} to help, but was not sure: {intervals} no effect."
    return (Note(text, "reason"),)


def contradictions(
    contributions: Sequence[Contribution],
    terms: Terms,
    relevance: Mapping[str, Relevance],
    *,
    everywhere: bool,
    rounding: float,
) -> tuple[str, ...]:
    """A note for every parameter that matters overall and contributes almost nothing here: why that is no mistake.

    `everywhere`: the proposal is compared with the average over the space. There are no notes if the contributions are
    no larger than `rounding`: nothing distinguishes the proposal then.
    """
    size = sum(abs(c.total) for c in contributions)
    notes = []
    for c in contributions:
        matters = c.name in relevance and relevance[c.name].total >= REASON.threshold
        if not matters or (c.sure and abs(c.total) >= _SMALL * size) or size <= rounding:
            continue
        predicted = sum(value for name, value in c.terms.items() if terms[name].role == "prediction")
        opposed = [
            [what for what, e in relevance[c.name].evidence.items() if s * e >= PREDICTED_REASON.threshold]
            for s in (1.0, -1.0)
        ]
        if all(opposed):
            why = f"its value speaks for {spoken(opposed[0])} and against {spoken(opposed[1])}, and the two cancel"
        elif predicted >= _SMALL * size and predicted > 0.0:
            why = "its value is predicted to be good, but little is left to learn there, and the two cancel"
        elif everywhere:
            why = "the effect of this value is small beside that of others"
        else:
            why = "near this proposal its value is already right"
        text = f"The model's predictions depend on `{c.name}`, but it was no reason here: {why}."
        notes.append(Note(text, "reason"))
    return tuple(notes)


def _large(c: Contribution, appeal: float) -> bool:
    return c.total >= _QUARTER * appeal


def _strongest(c: Contribution, terms: Terms) -> Term:
    """The term that contributed most."""
    return terms[max(c.terms, key=lambda name: c.terms[name])]


def _reason(c: Contribution, terms: Terms, relevance: Mapping[str, Relevance]) -> str:
    """The reason of the term that contributed most; of several objectives, those that the value surely helps."""
    term = _strongest(c, terms)
    known = relevance.get(c.name)
    if term.role != "prediction" or known is None or len(known.evidence) < 2:
        return term.reason
    helped = [objective for objective, evidence in known.evidence.items() if evidence >= PREDICTED_REASON.threshold]
    return f"{term.reason}, by {spoken(helped)}" if helped else term.reason


def _share(c: Contribution, i: int, reasons: Sequence[str], appeal: float) -> str:
    """A parameter with its share, and the reason unless it is the one just given."""
    share = f"{100 * c.total / appeal:.0f}%{'' if i else ' of its appeal'}"
    repeated = i > 0 and reasons[i] == reasons[i - 1]
    return f"{_setting(c)} ({share})" if repeated else f"{_setting(c)} ({share}: {reasons[i]})"


def _setting(c: Contribution) -> str:
    # Text that could be read as something else, or not at all, is quoted.
    plain = not isinstance(c.value, str) or c.value.replace("-", "_").isidentifier()
    return f"`{c.name}` = {value_text(c.value) if plain else repr(c.value)}"


def _names(contributions: Sequence[Contribution]) -> str:
    shown = [_setting(c) for c in contributions[:_MOST_NAMED]]
    return spoken([*shown, "others"] if len(contributions) > _MOST_NAMED else shown)


def _capitalised(sentence: str) -> str:
    return sentence[0].upper() + sentence[1:]


def unsettled(contributions: Sequence[Contribution]) -> tuple[str, ...]:
    """Two large contributions whose order sampling could not settle; empty if it settled all."""
    order = sorted(contributions, key=lambda c: -c.total)
    largest = max((abs(c.total) for c in contributions), default=0.0)
    for above, below in pairwise(order):
        large = max(abs(above.total), abs(below.total)) > _QUARTER * largest
        if large and above.low < above.high and above.low < below.high:
            text = f"Whether `{above.name}` or `{below.name}` contributed more is too close to call."
            return (Note(text, "reason"),)
    return ()


# ---------------------------------------------------------------------- of a prediction


def prediction_sentence(
    trial: int,
    contributions: Sequence[Contribution],
    total: float,
    expected: ExpectedValue,
    proposed: bool,
    compared_with: str,
    rounding: float,
) -> Said:
    """One sentence: what was expected of a trial, how much better or worse that is, and which parameters made it so."""
    direction = expected.direction
    what = f"{expected.objective} {with_error(expected.mean, expected.sd)}"
    start = (
        f"The model expected {what} of trial {trial}"
        if proposed
        else f"Pellucid did not propose trial {trial}; its model would have expected {what} of it"
    )
    if abs(total) <= rounding:
        return Said(f"{start}, the same as of {compared_with}.")
    by_size = sorted(contributions, key=lambda c: -abs(c.total))
    size = sum(abs(c.total) for c in contributions)
    worth = [c for c in by_size if abs(c.total) >= _WORTH_SAYING * size]
    causes = [c for c in worth if c.total * total > 0.0][:_MOST_NAMED]
    others = [c for c in worth if c.total * total < 0.0][:_MOST_NAMED]
    text = f"{start}, {_difference(total, direction)} than of {compared_with}"
    named, against = (
        spoken([f"{_setting(c)} ({_difference(c.total, direction)})" for c in part]) for part in (causes, others)
    )
    text = f"{text}, mainly because of {named}" if causes else text
    return Said.of(f"{text}; {against} pulled the other way." if others else f"{text}.", causes, others)


def _difference(better_by: float, direction: str) -> str:
    """ "0.02 more", by how much better a value is."""
    more = (better_by > 0.0) == (direction == "maximize")
    return f"{abs(better_by):.2g} {'more' if more else 'less'}"


# ---------------------------------------------------------------------- in pairs


def interaction_sentence(
    trial: int, main: Mapping[str, float], pairs: Mapping[tuple[str, str], float], unit: str, objective: str
) -> str:
    """One sentence: which two parameters interacted most, and whether the interaction is small."""
    (first, second), value = max(pairs.items(), key=lambda item: abs(item[1]))
    size = sum(map(abs, main.values())) + sum(map(abs, pairs.values()))
    if size == 0.0:
        return f"No parameter of trial {trial} contributed anything."
    amount = f"{abs(value):.2g}{f' in the unit of {called(objective)}' if unit == OBJECTIVE else f' ({unit})'}"
    if abs(value) < _SMALL * size:
        return (
            f"The parameters of trial {trial} contributed almost independently of each other: the largest interaction, "
            f"of `{first}` and `{second}`, is {amount}."
        )
    together = f"together they contributed {amount} {'more' if value > 0.0 else 'less'} than alone"
    return f"In trial {trial}, `{first}` and `{second}` interacted most: {together}."


# ---------------------------------------------------------------------- over a run


def path_sentence(explanations: Sequence[ProposalExplanation]) -> str:
    """One sentence about a run: which parameters drove it, and how much of it was exploration."""
    appeal: dict[str, float] = {}
    for explanation in explanations:
        sign = -1.0 if explanation.predicted and explanation.direction == "minimize" else 1.0
        whole = sum(max(sign * c.total, 0.0) for c in explanation.contributions)
        for c in explanation.contributions:
            share = max(sign * c.total, 0.0) / whole if whole > 0.0 else 0.0
            appeal[c.name] = appeal.get(c.name, 0.0) + share
    total = sum(appeal.values())
    first, last = explanations[0].trial, explanations[-1].trial
    many = len(explanations) > 1
    span = f"Over {len(explanations)} proposals (trials {first} to {last})" if many else f"In trial {first}"
    if total <= 0.0:
        parts = [f"{span}, no parameter was better than average"]
    else:
        top = sorted(appeal, key=lambda name: -appeal[name])[:2]
        listed = spoken([f"`{name}` ({100 * appeal[name] / total:.0f}%)" for name in top])
        parts = [f"{span}, {listed} contributed most to {_aim(explanations[0])}"]
    return "; ".join([*parts, *_balance(explanations)]) + "."


def _aim(explanation: ProposalExplanation) -> str:
    """What is attractive about a proposal; of a prediction, what is good about it."""
    return explanation.terms[PREDICTED].reason if explanation.predicted else "the appeal"


def _balance(explanations: Sequence[ProposalExplanation]) -> list[str]:
    """How many proposals explored, how many were for learning, and how many were not made by pellucid."""
    out = []
    payouts = [_by_role(explanation) for explanation in explanations]
    uncertain = [roles for roles in payouts if "uncertainty" in roles]
    if uncertain:
        count = sum(roles["uncertainty"] > roles.get("prediction", 0.0) for roles in uncertain)
        out.append(f"{_count(count, len(explanations))} mainly exploration")
    improvements = [roles for roles in payouts if "room" in roles]
    if improvements:
        count = sum(roles["room"] > roles.get("prediction", 0.0) for roles in improvements)
        out.append(f"in {count} the explore part of the acquisition outweighed the exploit part")
    learning = sum(set(roles) == {"information"} for roles in payouts)
    if learning:
        out.append(f"{_count(learning, len(explanations))} for learning about effects")
    others = sum(not explanation.proposed for explanation in explanations)
    if others:
        who = "none of them was" if others == len(explanations) else f"{others} of them were not"
        out.append(f"{who} proposed by pellucid: this is what its model would have said")
    return out


def _by_role(explanation: ProposalExplanation) -> dict[str, float]:
    """Payouts of the terms, added up by their role."""
    roles: dict[str, float] = {}
    for name, payout in explanation.payouts.items():
        role = explanation.terms[name].role
        roles[role] = roles.get(role, 0.0) + payout
    return roles


def _count(count: int, of: int) -> str:
    if of == 1:
        return "it was" if count else "it was not"
    return {0: "none of them was", 1: "one of them was", of: "all of them were"}.get(count, f"{count} of them were")
