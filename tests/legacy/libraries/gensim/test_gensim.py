"""gensim as programs before 4.0 know it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

gensim = pytest.importorskip("gensim")

SENTENCES = [["the", "cat", "sat"], ["the", "dog", "sat"], ["a", "cat", "ran"]] * 5


def test_word_vectors_by_their_old_names(program: Any, tmp_path: Any) -> None:
    values = program(
        """
        from gensim.models import Word2Vec, KeyedVectors
        import gensim
        model = Word2Vec(sentences, size=6, iter=2, min_count=1, seed=1, workers=1)
        shape, epochs = model.wv.syn0.shape, model.epochs
        vector, known = model['cat'], ('cat' in model, 'bird' in model.wv.vocab)
        words = {word: (item.index, item.count) for word, item in model.wv.vocab.items()}
        order, same = model.wv.index2word, model.vocab['sat'].index
        near = model.most_similar('cat', topn=2)
        model.train(sentences)
        model.train(sentences, total_examples=len(sentences), epochs=1)
        model.wv.save_word2vec_format(path, binary=False)
        loaded = KeyedVectors.load_word2vec_format(path)
        older = gensim.models.Word2Vec.load_word2vec_format(path)
        read = loaded.word_vec('cat', use_norm=True), loaded.wv['dog'], loaded.vocab['dog'].count
        norms = loaded.syn0norm, len(older.vocab)
        """,
        sentences=SENTENCES,
        path=str(tmp_path / "vectors.txt"),
    )

    assert (values["shape"], values["epochs"]) == ((6, 6), 2)
    assert values["known"] == (True, False)
    counts = {word: count for word, (_, count) in values["words"].items()}
    assert counts == {"the": 10, "cat": 10, "sat": 10, "dog": 5, "a": 5, "ran": 5}
    assert [values["words"][word][0] for word in values["order"]] == list(range(6))
    assert values["same"] == values["order"].index("sat")
    assert len(values["near"]) == 2
    unit, dog, rank = values["read"]
    np.testing.assert_allclose(np.linalg.norm(unit), 1, rtol=1e-5)
    np.testing.assert_allclose(dog, values["model"].wv["dog"], atol=1e-4)
    assert rank == 6 - values["order"].index("dog")
    np.testing.assert_allclose(np.linalg.norm(values["norms"][0], axis=1), np.ones(6), rtol=1e-5)
    assert values["norms"][1] == 6

    with pytest.raises(AttributeError):
        _ = values["loaded"].vocab  # Other modules see gensim as it is.
    with pytest.raises(AttributeError):
        values["model"].most_similar("cat")
    with pytest.raises(TypeError):
        gensim.models.Word2Vec(SENTENCES, size=3)


def test_documents_and_what_is_gone(program: Any) -> None:
    values = program(
        """
        from gensim.models.doc2vec import Doc2Vec, LabeledSentence
        documents = [LabeledSentence(words, [place]) for place, words in enumerate(sentences)]
        model = Doc2Vec(documents, size=4, iter=1, min_count=1, workers=1)
        vector = model.infer_vector(['cat'], steps=2)
        """,
        sentences=SENTENCES,
    )
    assert values["vector"].shape == (4,)
    assert len(values["model"].dv) == 15
    with pytest.raises(NotImplementedError, match="sumy"):
        program("from gensim.summarization import summarize\nsummarize('a')")
