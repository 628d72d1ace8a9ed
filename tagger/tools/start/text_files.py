"""Files of annotation tools: texts with entities, looked at as column files are."""

from pathlib import Path
from typing import Any, List, Mapping, NamedTuple, Sequence

from allennlp.data import Tokenizer

from tagger.data.column_file import Row
from tagger.data.formats import FORMATS, AnnotatedText, TextCounts, read_texts, tags_of
from tagger.data.tokenizers import LanguageRulesTokenizer, words_of
from tagger.tools.start.tokenization import (
    Tokenization,
    find_tokenization,
    find_tokenization_of_texts,
)
from tagger_onnx.sentences import sentence_lengths


class TextFile(NamedTuple):
    """The texts of a file.

    Attributes:
        path: The file.
        format: The name of its format.
        texts: Its texts, without those that have no token.
        counts: What became of the texts.
        sentences: A row for each token of each text; its number is that of the text, from 1.
        cut: The texts as the dataset reader sees them: with tokens, and long ones cut into sentences.
    """

    path: Path
    format: str
    texts: List[AnnotatedText]
    counts: TextCounts
    sentences: List[List[Row]]
    cut: List[AnnotatedText]


class TextFiles(NamedTuple):
    """Files, and how their texts become tokens."""

    files: List[TextFile]
    tokenization: Tokenization


def read_text_files(
    paths: Sequence[Path], formats: Sequence[str], reading: Mapping[str, Any]
) -> TextFiles:
    """Reads the training file and the development file, if there is one.

    Args:
        paths: The files.
        formats: The format of each.
        reading: Arguments of the reader `column`: `overlapping`, and those of `read_texts`.

    Raises:
        ValueError: If a text is not as expected, or entities overlap; the message says where.
    """
    counts = [TextCounts() for _ in paths]
    read = [
        [
            each.without_overlaps(text, reading.get("overlapping", "refuse"))
            for text in read_texts(
                path,
                format,
                **{key: reading[key] for key in FORMATS[format].options if key in reading},
            )
        ]
        for path, format, each in zip(paths, formats, counts)
    ]
    if any(text.tokens is None for text in read[0]):
        tokenization = find_tokenization_of_texts(read[0])
    else:
        tokenization = find_tokenization(
            [[text.text[slice(*span)] for span in text.tokens or []] for text in read[0]]
        )
    config = tokenization.tokenizer
    tokenizer = (
        LanguageRulesTokenizer(tokenization.language)
        if config is None
        else Tokenizer.from_params(dict_params(config))
    )
    return TextFiles(
        [
            _file(path, format, texts, each, tokenizer)
            for path, format, texts, each in zip(paths, formats, read, counts)
        ],
        tokenization,
    )


def dict_params(config: Mapping[str, Any]) -> Any:
    """Returns a copy of a config in AllenNLP's own class."""
    from allennlp.common import Params

    return Params(dict(config))


def _file(
    path: Path, format: str, texts: List[AnnotatedText], counts: TextCounts, tokenizer: Tokenizer
) -> TextFile:
    kept: List[AnnotatedText] = []
    sentences = []
    cut: List[AnnotatedText] = []
    for text in texts:
        fitted = counts.add(counts.fitted(_with_tokens(text, tokenizer)))
        if fitted.tokens:
            kept.append(text)
            cut.append(fitted)
            words = [fitted.text[start:end] for start, end in fitted.tokens]
            sentences.append(
                [
                    Row(len(kept), f"{word}\t{tag}", [word, tag])
                    for word, tag in zip(words, tags_of(fitted))
                ]
            )
    if not kept:
        raise ValueError(f"{path}: expected annotated texts in the format {format}, got none")
    return TextFile(path, format, kept, counts, sentences, cut)


def _with_tokens(text: AnnotatedText, tokenizer: Tokenizer) -> AnnotatedText:
    """Returns a text with tokens and sentences, as the dataset reader sees it."""
    tokens = text.tokens
    if tokens is None:
        words, starts = words_of(tokenizer, text.text)
        tokens = [(start, start + len(word)) for word, start in zip(words, starts)]
    lengths = text.sentence_lengths or sentence_lengths(text.text, [start for start, _ in tokens])
    return text._replace(tokens=tokens, sentence_lengths=lengths)
