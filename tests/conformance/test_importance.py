"""Optuna's own suite for importance evaluators."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from optuna.importance import BaseImportanceEvaluator
from optuna.testing.pytest_importance import BasicImportanceEvaluatorTestCase, ConditionalImportanceEvaluatorTestCase

import pellucid


class TestHsicImportanceEvaluator(BasicImportanceEvaluatorTestCase, ConditionalImportanceEvaluatorTestCase):
    @pytest.fixture
    def evaluator(self) -> Callable[..., BaseImportanceEvaluator]:
        return pellucid.HsicImportanceEvaluator


class TestImportanceEvaluator(BasicImportanceEvaluatorTestCase, ConditionalImportanceEvaluatorTestCase):
    @pytest.fixture
    def evaluator(self) -> Callable[..., BaseImportanceEvaluator]:
        return pellucid.ImportanceEvaluator
