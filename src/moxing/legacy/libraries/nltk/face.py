"""nltk's BLEU scores with the argument that rounds as Moses' multi-bleu does."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from moxing.legacy.face.faces import Spec

_SCORES = ("corpus_bleu", "sentence_bleu")


def spec() -> Spec:
    """nltk; everything else is its own."""
    scores = {name: _rounded(name) for name in _SCORES}
    bleu = Spec(roots=("nltk.translate.bleu_score",), names=scores, library=True)
    names = {"bleu": scores["sentence_bleu"], "bleu_score": bleu}
    translate = Spec(roots=("nltk.translate",), names=names, library=True)
    return Spec(roots=("nltk",), names={"bleu_score": bleu, "translate": translate}, library=True)


def _rounded(name: str) -> Callable[[], Any]:
    return lambda: rounded(name)


def rounded(name: str) -> Callable[..., Any]:
    """The score of this name, with `emulate_multibleu` of nltk 3.2: four digits are kept."""
    from nltk.translate import bleu_score

    score = getattr(bleu_score, name)

    @functools.wraps(score)
    def function(*args: Any, emulate_multibleu: bool = False, **kwargs: Any) -> Any:
        found = score(*args, **kwargs)
        return round(found, 4) if emulate_multibleu else found

    return function
