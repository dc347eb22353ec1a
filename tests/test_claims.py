"""What answers claim, and where each claim is measured."""

from __future__ import annotations

from pathlib import Path

from pellucid import claims
from pellucid.answers.catalogue import CATALOGUE
from pellucid.claims import CLAIMS, Claim


def test_every_claim_is_listed_once_and_nothing_else() -> None:
    defined = [value for value in vars(claims).values() if isinstance(value, Claim)]
    assert sorted(map(id, CLAIMS)) == sorted(map(id, defined))


def test_every_answer_that_can_be_asked_has_its_claims() -> None:
    """What stopping early saved is a count, which claims nothing; no other answer does."""
    asked = {answer.key for answer in CATALOGUE if answer.asked}
    assert asked - {claim.answer for claim in CLAIMS} == {"pruning"}
    assert {claim.answer for claim in CLAIMS} <= {answer.key for answer in CATALOGUE}


def test_the_error_rate_of_a_claim_has_a_section_on_the_page_about_trust(repository: Path) -> None:
    page = (repository / "docs" / "trust.md").read_text(encoding="utf-8")
    headings = {line.removeprefix("## ") for line in page.splitlines() if line.startswith("## ")}
    assert {claim.measured for claim in CLAIMS if claim.measured} <= headings
    assert sum(bool(claim.measured) for claim in CLAIMS) > len(CLAIMS) / 2


def test_thresholds_and_confidences_are_numbers_that_a_rule_can_use() -> None:
    for claim in CLAIMS:
        assert claim.threshold > 0.0, claim
        assert 0.0 <= claim.confidence < 1.0, claim
        assert "threshold" in claim.rule, claim
        assert ("confidence" in claim.rule) == (claim.confidence > 0.0), claim
