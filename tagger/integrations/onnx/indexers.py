"""What a runtime must know of token indexers, as JSON: which words and characters have which index."""

from typing import Any, Dict, List

from allennlp.common.checks import ConfigurationError
from allennlp.data import Vocabulary
from allennlp.data.token_indexers import SingleIdTokenIndexer, TokenCharactersIndexer
from allennlp.data.token_indexers.single_id_token_indexer import _DEFAULT_VALUE

from tagger.data.token_indexers import WordFormsIndexer, WordShapesIndexer
from tagger.data.token_indexers.cached_characters import MAX_CHARACTERS

#: The index of a word that the vocabulary lacks.
UNKNOWN = 1


def describe_single_id(indexer: SingleIdTokenIndexer, vocab: Vocabulary) -> Dict[str, Any]:
    """Describes AllenNLP's `single_id`, and `word_shapes`."""
    is_shape = isinstance(indexer, WordShapesIndexer)
    reads_text = indexer._feature_name == "text" and indexer._default_value is _DEFAULT_VALUE
    _check(reads_text, "single_id", "feature_name")
    _check(not (indexer._start_tokens or indexer._end_tokens), "single_id", "start_tokens")
    return {
        "kind": "shapes" if is_shape else "ids",
        "lowercase": bool(indexer.lowercase_tokens),
        "vocabulary": _tokens(vocab, indexer.namespace),
    }


def describe_characters(
    indexer: TokenCharactersIndexer, vocab: Vocabulary, min_length: int
) -> Dict[str, Any]:
    """Describes `characters` and `cached_characters`."""
    tokenizer: Any = indexer._character_tokenizer
    # Ours remembers what AllenNLP's has split.
    tokenizer = getattr(tokenizer, "_tokenizer", tokenizer)
    is_ours = tokenizer is not indexer._character_tokenizer
    _check(tokenizer._byte_encoding is None, "characters", "byte_encoding")
    added = [*tokenizer._start_tokens, *tokenizer._end_tokens]
    added += [*indexer._start_tokens, *indexer._end_tokens]
    _check(not added, "characters", "start_tokens")
    return {
        "kind": "characters",
        "lowercase": bool(tokenizer._lowercase_characters),
        "min_length": max(indexer._min_padding_length, min_length),
        "max_length": MAX_CHARACTERS if is_ours else None,
        "vocabulary": _tokens(vocab, indexer._namespace),
    }


def describe_forms(indexer: WordFormsIndexer, vocab: Vocabulary) -> Dict[str, Any]:
    """Describes `word_forms`."""
    namespace = indexer._namespace
    return {
        "kind": "forms",
        "lowercase": indexer._lowercase,
        "vocabulary": [] if namespace is None else _tokens(vocab, namespace),
    }


def _tokens(vocab: Vocabulary, namespace: Any) -> List[str]:
    """The tokens of a namespace in the order of their indices, from 0, the padding."""
    by_index = vocab.get_index_to_token_vocabulary(namespace) if namespace else {}
    if by_index.get(UNKNOWN) != vocab._oov_token:
        raise ConfigurationError(
            f"the vocabulary's namespace `{namespace}` has no index for unknown words, so it cannot be "
            f"exported"
        )
    return [by_index[index] for index in range(len(by_index))]


def _check(is_fine: bool, indexer: str, argument: str) -> None:
    if not is_fine:
        raise ConfigurationError(
            f"the token indexer `{indexer}` with its argument `{argument}` cannot be exported; "
            f"leave it out"
        )
