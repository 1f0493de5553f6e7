"""`tf.contrib.learn.preprocessing`: texts as rows of word numbers."""

from __future__ import annotations

import pickle
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
import tensorflow.compat.v1 as tf

from moxing.errors import MoxValueError

# Words, words of capitals, and the parts of CamelCase.
TOKENIZER_RE = re.compile(r"[A-Z]{2,}(?![a-z])|[A-Z][a-z]+(?=[A-Z])|[\'\w\-]+", re.UNICODE)
_UNKNOWN = "<UNK>"


def tokenizer(iterator: Iterable[str]) -> Iterator[list[str]]:
    """The words of each text."""
    for text in iterator:
        yield TOKENIZER_RE.findall(text)


class CategoricalVocabulary:
    """Numbers for categories, in the order in which they come; 0 is the unknown one."""

    def __init__(self, unknown_token: str = _UNKNOWN, support_reverse: bool = True) -> None:
        self._unknown_token = unknown_token
        self._mapping: dict[Any, int] = {unknown_token: 0}
        self._reverse_mapping: list[Any] | None = [unknown_token] if support_reverse else None
        self._freq: dict[Any, int] = {}
        self._freeze = False

    def __len__(self) -> int:
        return len(self._mapping)

    def freeze(self, freeze: bool = True) -> None:
        """New categories are unknown from now on."""
        self._freeze = freeze

    def get(self, category: Any) -> int:
        """The number of a category; a new one gets the next number."""
        if category not in self._mapping:
            if self._freeze:
                return 0
            self._mapping[category] = len(self._mapping)
            if self._reverse_mapping is not None:
                self._reverse_mapping.append(category)
        return self._mapping[category]

    def add(self, category: Any, count: int = 1) -> None:
        """Counts a category; one that is unknown is not counted."""
        number = self.get(category)
        if number > 0:
            self._freq[category] = self._freq.get(category, 0) + count

    def trim(self, min_frequency: int, max_frequency: int = -1) -> None:
        """Numbers the categories anew, the most frequent first.

        Those not above `min_frequency` go, and those from `max_frequency` on, if it is positive.
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
        """The category of a number.

        Raises:
            MoxValueError: the vocabulary was made without the way back.
        """
        if self._reverse_mapping is None:
            raise MoxValueError("This vocabulary wasn't initialized with support_reverse.")
        return self._reverse_mapping[class_id]


class VocabularyProcessor:
    """Makes rows of `max_document_length` word numbers, int64, of texts."""

    def __init__(
        self,
        max_document_length: int,
        min_frequency: int = 0,
        vocabulary: CategoricalVocabulary | None = None,
        tokenizer_fn: Callable[[Iterable[str]], Iterable[Any]] | None = None,
    ) -> None:
        """Args: min_frequency: words that are not above it are unknown."""
        self.max_document_length, self.min_frequency = max_document_length, min_frequency
        self.vocabulary_ = vocabulary if vocabulary else CategoricalVocabulary()
        self._tokenizer = tokenizer_fn if tokenizer_fn else tokenizer

    def fit(self, raw_documents: Iterable[str], unused_y: Any = None) -> VocabularyProcessor:
        """Learns the words of texts."""
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
        """A row of word numbers for each text; 0 behind its end."""
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
        """Writes the processor to a file, by pickle."""
        with tf.io.gfile.GFile(filename, "wb") as file:
            file.write(pickle.dumps(self))

    @classmethod
    def restore(cls, filename: str) -> VocabularyProcessor:
        """Reads a processor that `save` wrote; like all pickles, it may run code."""
        with tf.io.gfile.GFile(filename, "rb") as file:
            return pickle.loads(file.read())


class ByteProcessor:
    """Makes rows of `max_document_length` bytes, uint8, of texts."""

    def __init__(self, max_document_length: int) -> None:
        self.max_document_length = max_document_length

    def fit(self, x: Any) -> ByteProcessor:
        """Nothing is learned."""
        return self

    def fit_transform(self, x: Iterable[Any]) -> Iterator[np.ndarray]:
        """`transform`."""
        return self.transform(x)

    def transform(self, x: Iterable[Any]) -> Iterator[np.ndarray]:
        """A row of bytes for each text; 0 behind its end."""
        for document in x:
            raw = document.encode() if isinstance(document, str) else bytes(document)
            row = np.frombuffer(raw, np.uint8)[: self.max_document_length]
            yield np.pad(row, (0, self.max_document_length - len(row)))

    def reverse(self, x: Iterable[Any]) -> Iterator[str]:
        """The text of each row."""
        for row in x:
            yield bytes(bytearray(int(v) for v in row)).decode(errors="replace").rstrip("\0")
