"""`tf.contrib.learn.preprocessing`: converts texts to rows of word ids."""

from __future__ import annotations

import pickle
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
import tensorflow.compat.v1 as tf

from moxing.errors import MoxValueError

# Words, words in capitals, and the parts of CamelCase words.
TOKENIZER_RE = re.compile(r"[A-Z]{2,}(?![a-z])|[A-Z][a-z]+(?=[A-Z])|[\'\w\-]+", re.UNICODE)
_UNKNOWN = "<UNK>"


def tokenizer(iterator: Iterable[str]) -> Iterator[list[str]]:
    """Yields the list of words of each text."""
    for text in iterator:
        yield TOKENIZER_RE.findall(text)


class CategoricalVocabulary:
    """Ids for categories, in the order of their first use; 0 is the id of unknown categories."""

    def __init__(self, unknown_token: str = _UNKNOWN, support_reverse: bool = True) -> None:
        self._unknown_token = unknown_token
        self._mapping: dict[Any, int] = {unknown_token: 0}
        self._reverse_mapping: list[Any] | None = [unknown_token] if support_reverse else None
        self._freq: dict[Any, int] = {}
        self._freeze = False

    def __len__(self) -> int:
        return len(self._mapping)

    def freeze(self, freeze: bool = True) -> None:
        """Makes later new categories unknown; `freeze=False` accepts new ones again."""
        self._freeze = freeze

    def get(self, category: Any) -> int:
        """Returns the id of a category; a new category gets the next id unless frozen."""
        if category not in self._mapping:
            if self._freeze:
                return 0
            self._mapping[category] = len(self._mapping)
            if self._reverse_mapping is not None:
                self._reverse_mapping.append(category)
        return self._mapping[category]

    def add(self, category: Any, count: int = 1) -> None:
        """Adds to the count of a category, unless the category is unknown."""
        number = self.get(category)
        if number > 0:
            self._freq[category] = self._freq.get(category, 0) + count

    def trim(self, min_frequency: int, max_frequency: int = -1) -> None:
        """Renumbers the categories, the most frequent first.

        Removes categories with counts up to `min_frequency` and, if it is positive, from
        `max_frequency` on.
        """
        by_name = sorted(self._freq.items(), key=lambda item: (isinstance(item[0], str), item[0]))
        ranked = sorted(by_name, key=lambda item: item[1], reverse=True)
        self._mapping = {self._unknown_token: 0}
        if self._reverse_mapping is not None:
            self._reverse_mapping = [self._unknown_token]
        kept = {}
        for category, count in ranked:
            if count <= min_frequency or 0 < max_frequency <= count:
                continue
            kept[category] = count
            self._mapping[category] = len(self._mapping)
            if self._reverse_mapping is not None:
                self._reverse_mapping.append(category)
        self._freq = kept

    def reverse(self, class_id: int) -> Any:
        """Returns the category of an id.

        Raises:
            MoxValueError: the vocabulary was made with `support_reverse=False`.
        """
        if self._reverse_mapping is None:
            raise MoxValueError("This vocabulary wasn't initialized with support_reverse.")
        return self._reverse_mapping[class_id]


class VocabularyProcessor:
    """Converts texts to rows of `max_document_length` word ids, int64."""

    def __init__(
        self,
        max_document_length: int,
        min_frequency: int = 0,
        vocabulary: CategoricalVocabulary | None = None,
        tokenizer_fn: Callable[[Iterable[str]], Iterable[Any]] | None = None,
    ) -> None:
        """Args: min_frequency: if above 0, words with counts up to it are unknown."""
        self.max_document_length, self.min_frequency = max_document_length, min_frequency
        self.vocabulary_ = vocabulary if vocabulary else CategoricalVocabulary()
        self._tokenizer = tokenizer_fn if tokenizer_fn else tokenizer

    def fit(self, raw_documents: Iterable[str], unused_y: Any = None) -> VocabularyProcessor:
        """Adds the words of texts to the vocabulary, and freezes it."""
        for words in self._tokenizer(raw_documents):
            for word in words:
                self.vocabulary_.add(word)
        if self.min_frequency > 0:
            self.vocabulary_.trim(self.min_frequency)
        self.vocabulary_.freeze()
        return self

    def fit_transform(
        self, raw_documents: Iterable[str], unused_y: Any = None
    ) -> Iterator[np.ndarray]:
        """`fit`, then `transform`."""
        self.fit(raw_documents)
        return self.transform(raw_documents)

    def transform(self, raw_documents: Iterable[str]) -> Iterator[np.ndarray]:
        """Yields a row of word ids for each text, padded with 0."""
        for words in self._tokenizer(raw_documents):
            numbers = np.zeros(self.max_document_length, np.int64)
            for place, word in enumerate(words):
                if place >= self.max_document_length:
                    break
                numbers[place] = self.vocabulary_.get(word)
            yield numbers

    def reverse(self, documents: Iterable[Iterable[int]]) -> Iterator[str]:
        """The text of each row."""
        for numbers in documents:
            yield " ".join(str(self.vocabulary_.reverse(number)) for number in numbers)

    def save(self, filename: str) -> None:
        """Writes the processor to a file with pickle."""
        with tf.io.gfile.GFile(filename, "wb") as file:
            file.write(pickle.dumps(self))

    @classmethod
    def restore(cls, filename: str) -> VocabularyProcessor:
        """Reads a processor that `save` wrote; like all pickles, it may run code."""
        with tf.io.gfile.GFile(filename, "rb") as file:
            return pickle.loads(file.read())


class ByteProcessor:
    """Converts texts to rows of `max_document_length` bytes, uint8."""

    def __init__(self, max_document_length: int) -> None:
        self.max_document_length = max_document_length

    def fit(self, x: Any) -> ByteProcessor:
        """Does nothing: bytes need no vocabulary."""
        return self

    def fit_transform(self, x: Iterable[Any]) -> Iterator[np.ndarray]:
        """`transform`."""
        return self.transform(x)

    def transform(self, x: Iterable[Any]) -> Iterator[np.ndarray]:
        """Yields a row of bytes for each text, padded with 0."""
        for document in x:
            raw = document.encode() if isinstance(document, str) else bytes(document)
            row = np.frombuffer(raw, np.uint8)[: self.max_document_length]
            yield np.pad(row, (0, self.max_document_length - len(row)))

    def reverse(self, x: Iterable[Any]) -> Iterator[str]:
        """The text of each row."""
        for row in x:
            yield bytes(bytearray(int(v) for v in row)).decode(errors="replace").rstrip("\0")
