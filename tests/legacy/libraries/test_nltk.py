"""nltk's scores take the argument of nltk 3.2."""

from __future__ import annotations

import sys
import types
from typing import Any

import pytest


@pytest.fixture
def nltk(monkeypatch: pytest.MonkeyPatch) -> None:
    """Modules with the scores of today's signatures stand for nltk, which is not installed here."""
    for name in ("nltk", "nltk.translate", "nltk.translate.bleu_score"):
        monkeypatch.setitem(sys.modules, name, types.ModuleType(name))
        sys.modules[name].__path__ = []

    def score(references: Any, hypothesis: Any, weights: Any = (0.25,) * 4) -> float:
        return len(references) / 3 + len(hypothesis) / 7 + sum(weights)

    found = sys.modules["nltk.translate.bleu_score"]
    found.__dict__.update(corpus_bleu=score, sentence_bleu=score)
    monkeypatch.setattr(sys.modules["nltk.translate"], "bleu_score", found, raising=False)
    monkeypatch.setattr(sys.modules["nltk"], "translate", sys.modules["nltk.translate"], False)


def test_scores_are_rounded_as_by_multi_bleu(program: Any, nltk: None) -> None:
    values = program(
        """
        import nltk
        from nltk.translate.bleu_score import sentence_bleu
        corpus = nltk.translate.bleu_score.corpus_bleu
        rounded = corpus([1], [2, 2], emulate_multibleu=True)
        exact = corpus([1], [2, 2], emulate_multibleu=False)
        sentence = sentence_bleu([1], [2], (0.5, 0.5), emulate_multibleu=True)
        """
    )
    assert values["rounded"] == 1.619
    assert values["exact"] == pytest.approx(1 / 3 + 2 / 7 + 1)
    assert values["sentence"] == 1.4762
