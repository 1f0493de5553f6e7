"""gensim's names, arguments and attributes before 4.0, for the user's modules only."""

from __future__ import annotations

import functools
import importlib
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from moxing.legacy.face.faces import Spec
from moxing.legacy.libraries import users_only

_MODELS = ("word2vec:Word2Vec", "fasttext:FastText", "doc2vec:Doc2Vec")
_RENAMED = {"size": "vector_size", "iter": "epochs"}
# Methods that models themselves had before 1.0, and their word vectors have since.
_OF_VECTORS = (
    *("__contains__", "__getitem__", "doesnt_match", "most_similar", "most_similar_cosmul"),
    *("n_similarity", "similar_by_vector", "similar_by_word", "similarity", "wmdistance"),
)
_SUMMARIES = "Use a summarizer of its own package, such as sumy."
_MALLET = "Use gensim.models.LdaModel or LdaMulticore."


def spec() -> Spec:
    """gensim; everything else is its own."""
    doc2vec = Spec(
        roots=("gensim.models.doc2vec",),
        names={"LabeledSentence": "gensim.models.doc2vec:TaggedDocument"},
        library=True,
    )
    models = Spec(
        roots=("gensim.models",),
        names={"doc2vec": doc2vec},
        gone={"wrappers": _MALLET},
        library=True,
    )
    return Spec(
        roots=("gensim",),
        names={"models": models},
        gone={"summarization": _SUMMARIES},
        arrive=_arrive,
        library=True,
    )


class Word(NamedTuple):
    """A word in a vocabulary: its place among the vectors, and how often the word occurs."""

    index: int
    count: int


class Vocabulary(Mapping):
    """The words of word vectors, each with its `Word`."""

    def __init__(self, vectors: Any) -> None:
        self._vectors = vectors

    def __getitem__(self, word: str) -> Word:
        index = self._vectors.key_to_index[word]
        count = self._vectors.expandos.get("count")
        # As before 4.0, where counts are unknown, the first word has the greatest number.
        return Word(index, len(self) - index if count is None else int(count[index]))

    def __contains__(self, word: object) -> bool:
        return word in self._vectors.key_to_index

    def __iter__(self) -> Iterator[str]:
        return iter(self._vectors.key_to_index)

    def __len__(self) -> int:
        return len(self._vectors.key_to_index)


_ATTRIBUTES: dict[str, Callable[[Any], Any]] = {
    "index2entity": lambda vectors: vectors.index_to_key,
    "index2word": lambda vectors: vectors.index_to_key,
    "syn0": lambda vectors: vectors.vectors,
    "syn0norm": lambda vectors: vectors.get_normed_vectors(),
    "vectors_norm": lambda vectors: vectors.get_normed_vectors(),
    "vocab": Vocabulary,
}


def _arrive() -> None:
    from gensim.models import KeyedVectors, Word2Vec

    if hasattr(Word2Vec.__init__, "mox_tolerant"):
        return
    for path in _MODELS:
        module, _, name = path.partition(":")
        kind = getattr(importlib.import_module(f"gensim.models.{module}"), name)
        kind.__init__ = _renaming(kind.__init__, _RENAMED)
    from gensim.models import Doc2Vec

    Doc2Vec.infer_vector = _renaming(Doc2Vec.infer_vector, {"steps": "epochs"})
    KeyedVectors.word_vec = _renaming(KeyedVectors.get_vector, {"use_norm": "norm"})
    Word2Vec.train = _train(Word2Vec.train)
    for name, read in _ATTRIBUTES.items():
        _restore(KeyedVectors, name, read)
        users_only.add(Word2Vec, name, lambda model, read=read: read(model.wv), "property")
    for name in _OF_VECTORS:
        users_only.add(Word2Vec, name, _of_vectors(name))
    users_only.add(Word2Vec, "save_word2vec_format", _of_vectors("save_word2vec_format"))
    users_only.add(
        Word2Vec,
        "load_word2vec_format",
        lambda kind, *given, **named: KeyedVectors.load_word2vec_format(*given, **named),
        "class",
    )
    users_only.add(KeyedVectors, "wv", lambda vectors: vectors, "property")


def _renaming(function: Callable[..., Any], renamed: Mapping[str, str]) -> Callable[..., Any]:
    """A function that takes arguments by their old names too, from the user's code."""

    @functools.wraps(function)
    def call(*given: Any, **named: Any) -> Any:
        if users_only.is_users(sys._getframe(1)):
            named = {renamed.get(name, name): value for name, value in named.items()}
        return function(*given, **named)

    call.mox_tolerant = True  # type: ignore[attr-defined]
    return call


def _train(train: Callable[..., Any]) -> Callable[..., Any]:
    """Training that counts the sentences and the epochs itself, as before 2.0."""

    @functools.wraps(train)
    def call(self: Any, *given: Any, **named: Any) -> Any:
        if users_only.is_users(sys._getframe(1)):
            if "sentences" in named:
                named["corpus_iterable"] = named.pop("sentences")
            if not named.keys() & {"total_examples", "total_words"} and len(given) < 3:
                named["total_examples"] = self.corpus_count
            named.setdefault("epochs", self.epochs)
        return train(self, *given, **named)

    return call


def _of_vectors(name: str) -> Callable[..., Any]:
    return lambda model, *given, **named: getattr(model.wv, name)(*given, **named)


def _restore(owner: type, name: str, read: Callable[[Any], Any]) -> None:
    """Lets the user's modules read an attribute that today only raises an error.

    gensim still sets some of the attributes as it loads old files.
    """
    today = owner.__dict__.get(name)

    def get(vectors: Any) -> Any:
        if users_only.is_users(sys._getframe(1)):
            return read(vectors)
        if today is None:
            raise AttributeError(f"'{owner.__name__}' object has no attribute '{name}'")
        return today.fget(vectors)

    setattr(owner, name, property(get, None if today is None else today.fset))
