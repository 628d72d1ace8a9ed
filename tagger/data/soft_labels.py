"""Soft labels: a teacher's probabilities for sentences, stored in a file."""

import itertools
import zipfile
from os import PathLike
from typing import Any, Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple, Union

import numpy as np

#: The version of the file format.
FORMAT = 2


class SentenceMarginals(NamedTuple):
    """A teacher's probabilities for one sentence of T tokens over K tags, in float32."""

    #: (T, K), the probability of each tag at each token; rows sum to 1.
    tags: np.ndarray
    #: (K, K), the expected number of each transition; they sum to T - 1.
    transitions: np.ndarray


class SoftLabels:
    """A teacher's marginals of sentences, in float16, looked up by the sentences' words.

    If sentences have the same words, the first one wins.

    Args:
        tags: The teacher's K tags, in the order of the columns.
        sentences: The words of each of S sentences.
        tag_marginals: (tokens, K), with the tokens of all sentences concatenated.
        transitions: (S, K, K), see `SentenceMarginals`.
        document_sizes: The number of sentences of each document; None if each is one sentence.
    """

    def __init__(
        self,
        tags: Sequence[str],
        sentences: Sequence[Sequence[str]],
        tag_marginals: np.ndarray,
        transitions: np.ndarray,
        document_sizes: Optional[Sequence[int]] = None,
    ) -> None:
        self.tags = list(tags)
        self.sentences: List[Tuple[str, ...]] = [tuple(words) for words in sentences]
        self._document_sizes = list(document_sizes or [1] * len(self.sentences))
        self._tag_marginals = tag_marginals.astype(np.float16, copy=False)
        self._transitions = transitions.astype(np.float16, copy=False)
        lengths = [len(words) for words in self.sentences]
        self._ends = np.cumsum(lengths, dtype=np.int64)
        self._indices: Dict[Tuple[str, ...], int] = {}
        for index, words in enumerate(self.sentences):
            self._indices.setdefault(words, index)

    def documents(self) -> Iterator[List[Tuple[str, ...]]]:
        """Yields the sentences of each document, as the teacher read them."""
        sentences = iter(self.sentences)
        for size in self._document_sizes:
            yield list(itertools.islice(sentences, size))

    def find(self, words: Sequence[str]) -> Optional[SentenceMarginals]:
        """Returns the marginals of a sentence; None if there are none."""
        index = self._indices.get(tuple(words))
        if index is None:
            return None
        end = int(self._ends[index])
        tags = self._tag_marginals[end - len(words) : end].astype(np.float32)
        transitions = self._transitions[index].astype(np.float32)
        # Renormalise, because float16 keeps only three digits.
        tags /= np.maximum(tags.sum(1, keepdims=True), 1e-9)
        transitions *= (len(words) - 1) / max(float(transitions.sum()), 1e-9)
        return SentenceMarginals(tags, transitions)

    def save(self, path: Union[str, PathLike]) -> None:
        """Writes a file for `load`."""
        words = "\n".join(word for sentence in self.sentences for word in sentence)
        with open(path, "wb") as file:
            np.savez_compressed(
                file,
                format=np.array(FORMAT),
                tags=np.array(self.tags),
                words=np.frombuffer(words.encode("utf-8", "surrogatepass"), np.uint8),
                lengths=np.array([len(sentence) for sentence in self.sentences]),
                document_sizes=np.array(self._document_sizes),
                tag_marginals=self._tag_marginals,
                transitions=self._transitions,
            )

    @classmethod
    def load(cls, path: Union[str, PathLike]) -> "SoftLabels":
        """Reads a file written by `allennlp soft-labels`."""
        try:
            with np.load(path, allow_pickle=False) as arrays:
                content: Dict[str, Any] = dict(arrays)
        except FileNotFoundError:
            raise FileNotFoundError(
                f"{path}: expected a file of soft labels, got none; `allennlp soft-labels TEACHER TEXT "
                f"-o {path}` writes it"
            ) from None
        except (ValueError, zipfile.BadZipFile, EOFError):
            content = {}
        if int(content.get("format", 0)) != FORMAT:
            raise ValueError(
                f"{path}: expected a file of `allennlp soft-labels` with format {FORMAT}, got another; "
                f"write it again"
            )
        words = content["words"].tobytes().decode("utf-8", "surrogatepass").split("\n")
        ends = np.cumsum(content["lengths"]).tolist()
        sentences = [words[start:end] for start, end in zip([0, *ends], ends)]
        return cls(
            content["tags"].tolist(),
            sentences,
            content["tag_marginals"],
            content["transitions"],
            content["document_sizes"].tolist(),
        )
