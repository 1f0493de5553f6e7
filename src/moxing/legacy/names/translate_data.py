"""`tensorflow.models.rnn.translate.data_utils`: vocabularies of words as files, one word a line."""

from __future__ import annotations

import collections
import re
from collections.abc import Callable, Mapping
from typing import Any

import tensorflow.compat.v1 as tf

from moxing.errors import MoxValueError

_PAD, _GO, _EOS, _UNK = "_PAD", "_GO", "_EOS", "_UNK"
_START_VOCAB = [_PAD, _GO, _EOS, _UNK]
PAD_ID, GO_ID, EOS_ID, UNK_ID = range(4)
_WORD_SPLIT = re.compile(r"([.,!?\"':;)(])")
_DIGIT_RE = re.compile(r"\d")

Tokenizer = Callable[[Any], list[str]]


def _text(line: Any) -> str:
    return line.decode("utf-8") if isinstance(line, bytes) else line


def basic_tokenizer(sentence: Any) -> list[str]:
    """The words of a sentence, with punctuation marks as words of their own."""
    parts = (_WORD_SPLIT.split(part) for part in _text(sentence).split())
    return [word for words in parts for word in words if word]


def create_vocabulary(
    vocabulary_path: str,
    data_path: str,
    max_vocabulary_size: int,
    tokenizer: Tokenizer | None = None,
    normalize_digits: bool = True,
) -> None:
    """Writes the words of a text, after the four signs, the most frequent first.

    Args:
        vocabulary_path: the file to write; a file that exists stays as it is.
        data_path: a text with one sentence a line.
        max_vocabulary_size: how many lines the file has at most.
        tokenizer: splits a sentence into words; None: `basic_tokenizer`.
        normalize_digits: whether every digit becomes 0.
    """
    if tf.gfile.Exists(vocabulary_path):
        return
    counts: collections.Counter[str] = collections.Counter()
    with tf.gfile.GFile(data_path) as lines:
        for line in lines:
            counts.update(_words(line, tokenizer, normalize_digits))
    words = _START_VOCAB + sorted(counts, key=lambda word: counts[word], reverse=True)
    with tf.gfile.GFile(vocabulary_path, "w") as file:
        file.write("".join(f"{word}\n" for word in words[:max_vocabulary_size]))


def _words(sentence: Any, tokenizer: Tokenizer | None, normalize_digits: bool) -> list[str]:
    words = (tokenizer or basic_tokenizer)(sentence)
    return [_DIGIT_RE.sub("0", _text(word)) for word in words] if normalize_digits else words


def initialize_vocabulary(vocabulary_path: str) -> tuple[dict[str, int], list[str]]:
    """Reads a vocabulary: the numbers of the words, and the words by number.

    Raises:
        MoxValueError: there is no such file.
    """
    if not tf.gfile.Exists(vocabulary_path):
        raise MoxValueError(
            f"There is no vocabulary {vocabulary_path}: create_vocabulary writes the file."
        )
    with tf.gfile.GFile(vocabulary_path) as file:
        words = [line.strip() for line in file]
    return {word: number for number, word in enumerate(words)}, words


def sentence_to_token_ids(
    sentence: Any,
    vocabulary: Mapping[str, int],
    tokenizer: Tokenizer | None = None,
    normalize_digits: bool = True,
) -> list[int]:
    """The numbers of a sentence's words; UNK_ID for words that the vocabulary lacks."""
    words = _words(sentence, tokenizer, normalize_digits)
    return [vocabulary.get(word, UNK_ID) for word in words]


def data_to_token_ids(
    data_path: str,
    target_path: str,
    vocabulary_path: str,
    tokenizer: Tokenizer | None = None,
    normalize_digits: bool = True,
) -> None:
    """Writes a text as numbers, one sentence a line; a file that exists stays as it is."""
    if tf.gfile.Exists(target_path):
        return
    vocabulary, _ = initialize_vocabulary(vocabulary_path)
    with tf.gfile.GFile(data_path) as lines, tf.gfile.GFile(target_path, "w") as file:
        for line in lines:
            ids = sentence_to_token_ids(line, vocabulary, tokenizer, normalize_digits)
            file.write(" ".join(map(str, ids)) + "\n")
