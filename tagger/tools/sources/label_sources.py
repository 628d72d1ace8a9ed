"""Sources of labels that are functions: lists, regular expressions, saved taggers and files.

A config names them; it holds data, and nothing in it runs.
"""

import logging
from collections import Counter, defaultdict
from typing import Any, Dict, Iterator, List, Optional, Sequence, Tuple

from allennlp.common import Params, Registrable
from allennlp.common.checks import ConfigurationError

from tagger.common.did_you_mean import did_you_mean
from tagger.common.inputs import open_input
from tagger.data.formats import AnnotatedText, Annotation, read_texts
from tagger.data.reading import Reading
from tagger.data.sources.annotations import SourcedText
from tagger.data.sources.joining import check_entities, moved
from tagger.data.text_encodings import decoded_lines
from tagger.data.tokenizers import LanguageRulesTokenizer, RegularExpressionTokenizer, words_of

logger = logging.getLogger(__name__)

_FORM = (
    "`sources` must be an object of sources by name, such as { cities: { type: 'lexicon', label: "
    "'LOC', file: 'cities.txt' } }"
)
#: What a source finds in a text; None if it has not read the text.
Found = Optional[List[Annotation]]


class LabelSource(Registrable):
    """Finds entities in texts. A subclass takes its settings from the config."""

    def find(self, texts: Sequence[AnnotatedText]) -> Iterator[Found]:
        """Yields the entities of each text, which has tokens."""
        raise NotImplementedError


@LabelSource.register("lexicon")
class LexiconSource(LabelSource):
    """Labels the terms of a list; of overlapping terms the longest, from left to right.

    Args:
        label: The label.
        file: A text file with a term on each line.
        terms: Terms, instead of a file or besides one.
        ignore_case: Whether uppercase and lowercase letters match.
        language: The spaCy code of the language that splits terms into words; that of the texts.
    """

    def __init__(
        self,
        label: str,
        file: Optional[str] = None,
        terms: Sequence[str] = (),
        ignore_case: bool = False,
        language: str = "en",
    ) -> None:
        self._label, self._ignore_case = label, ignore_case
        terms = [*terms, *(_lines(file) if file else [])]
        splitter = LanguageRulesTokenizer(language)
        words = (tuple(self._folded(words_of(splitter, term)[0])) for term in terms)
        self._terms = {each for each in words if each}
        if not self._terms:
            raise ConfigurationError(f"the list of `{label}` has no term; give a `file` or `terms`")
        self._longest = max(map(len, self._terms))

    def _folded(self, words: Sequence[str]) -> List[str]:
        return [word.lower() if self._ignore_case else word for word in words]

    def find(self, texts: Sequence[AnnotatedText]) -> Iterator[Found]:
        for text in texts:
            places = text.tokens or []
            words = self._folded([text.text[start:end] for start, end in places])
            found, position = [], 0
            while position < len(words):
                longest = min(self._longest, len(words) - position)
                sizes = range(longest, 0, -1)
                is_term = (
                    tuple(words[position : position + size]) in self._terms for size in sizes
                )
                size = next((size for size, each in zip(sizes, is_term) if each), 0)
                if size:
                    start, end = places[position][0], places[position + size - 1][1]
                    found.append(Annotation(self._label, start, end))
                position += size or 1
            yield found


@LabelSource.register("regular_expression")
class RegularExpressionSource(LabelSource):
    """Labels the matches of a regular expression.

    Args:
        label: The label.
        pattern: The expression, in the syntax of the package `regex`; `(?i)` at its start ignores case.
            It has the limits of the tokenizer `regular_expression`.
    """

    def __init__(self, label: str, pattern: str) -> None:
        self._label, self._matches = label, RegularExpressionTokenizer(pattern)

    def find(self, texts: Sequence[AnnotatedText]) -> Iterator[Found]:
        for text in texts:
            matches = (
                (token.idx or 0, token.text or "") for token in self._matches.tokenize(text.text)
            )
            yield [Annotation(self._label, start, start + len(match)) for start, match in matches]


@LabelSource.register("tagger")
class TaggerSource(LabelSource):
    """Labels what a saved tagger finds; `allennlp import-hf` makes one of a Hugging Face model.

    Args:
        archive: The archived tagger.
        cuda_device: The number of the GPU to use; -1 for the CPU.
    """

    def __init__(self, archive: str, cuda_device: int = -1) -> None:
        from tagger.predictors.saved_tagger import load

        self._tagger = load(archive, cuda_device=cuda_device)
        if not self._tagger.finds_entities:
            raise ConfigurationError(f"{archive}: its labels mark no entities; use another tagger")

    def find(self, texts: Sequence[AnnotatedText]) -> Iterator[Found]:
        for tagged in self._tagger.tag([text.text for text in texts]):
            yield [Annotation(each.label, each.start, each.end) for each in tagged.entities]


@LabelSource.register("file")
class FileSource(LabelSource):
    """Labels what a file says about the same texts, such as predictions of GLiNER or an LLM.

    Args:
        file: The file.
        format: Its format; by default recognised.
    """

    def __init__(self, file: str, format: Optional[str] = None) -> None:
        self._file = file
        # A text that is there several times may have other entities each time.
        self._texts: Dict[str, List[AnnotatedText]] = defaultdict(list)
        for text in read_texts(file, Reading(format)):
            check_entities(text)
            self._texts[_characters(text)].append(text)

    def find(self, texts: Sequence[AnnotatedText]) -> Iterator[Found]:
        keys = [*map(_characters, texts)]
        if texts and self._texts.keys().isdisjoint(keys):
            raise ValueError(
                f"{self._file}: it has none of the texts; they must be equal, but for white space"
            )
        nums: Counter[str] = Counter()
        for key, text in zip(keys, texts):
            own = self._texts.get(key)
            yield None if own is None else [*moved(own[min(nums[key], len(own) - 1)], text)]
            nums[key] += 1


def _characters(text: AnnotatedText) -> str:
    return "".join(text.text.split())


def _lines(path: str) -> List[str]:
    with open_input(path) as file:
        return [line.strip() for _, line in decoded_lines(file, path)]


def label_texts(config: Params, texts: Sequence[AnnotatedText]) -> List[SourcedText]:
    """Labels texts with the sources of a config.

    Args:
        config: `sources`, an object of sources by name. Each has the arguments of its type and may have
            `labels`, an object of new names of labels; null drops a label. `language` (`en` by default)
            is the spaCy code of the rules that split texts without tokens.
        texts: The texts.

    Raises:
        ConfigurationError: If the config is not of this form.
    """
    if not isinstance(config.params, dict):
        raise ConfigurationError(f"{_FORM}; got {config.params!r:.60}")
    language = config.pop("language", "en")
    sources = config.pop("sources", {})
    if not isinstance(sources, Params) or not len(sources.params):
        raise ConfigurationError(_FORM)
    config.assert_empty("the config of sources")
    splitter = LanguageRulesTokenizer(language)
    split = [_split(text, splitter) for text in texts]
    results = [SourcedText(text, {}) for text in split]
    for name in list(sources.params):
        try:
            settings = sources.pop(name)
            labels = _labels(name, settings)
            if settings.get("type") == "lexicon":
                settings.params.setdefault("language", language)
            source = LabelSource.from_params(settings)
            unseen = {*labels}
            for result, found in zip(results, source.find(split)):
                if found is not None:
                    unseen -= {each.label for each in found}
                    result.annotations[name] = [*_renamed(found, labels, result.text.text)]
        except (ConfigurationError, OSError, TypeError, ValueError) as error:
            raise ConfigurationError(f"source `{name}`: {error}") from error
        if unseen and split:
            names = ", ".join(sorted(unseen))
            logger.warning("source `%s`: `labels` renames %s, which it never gave", name, names)
    return results


def _labels(name: str, settings: Any) -> Dict[str, Optional[str]]:
    """Checks the settings of a source, and returns the new names of its labels."""
    if not name.strip():
        raise ConfigurationError("its name is blank; name the source")
    if not isinstance(settings, Params):
        raise ConfigurationError(f"expected an object with a `type`, got {settings!r}")
    kind, kinds = settings.get("type"), LabelSource.list_available()
    if kind not in kinds:
        raise ConfigurationError(
            f"`type` must be one of {', '.join(kinds)}, got {kind!r:.60}"
            f"{did_you_mean(str(kind), kinds)}"
        )
    for key in ("label", "pattern", "file", "archive"):
        value = settings.get(key, "not given")
        if not isinstance(value, str) or not value.strip():
            raise ConfigurationError(f"`{key}` must be a string that is not blank, got {value!r}")
    terms = settings.params.get("terms", [])
    if not isinstance(terms, list) or not all(isinstance(each, str) for each in terms):
        raise ConfigurationError(f"`terms` must be a list of strings, got {terms!r:.60}")
    given = settings.params.pop("labels", {})
    news = given.values() if isinstance(given, dict) else [""]
    if not all(new is None or (isinstance(new, str) and new.strip()) for new in news):
        raise ConfigurationError(
            "`labels` must be an object of new names, such as { GPE: 'LOC', DATE: null }, got "
            f"{given!r:.60}"
        )
    return dict(given)


def _renamed(
    found: Sequence[Annotation], labels: Dict[str, Optional[str]], text: str
) -> Iterator[Annotation]:
    """Yields entities with their new labels, without blanks around them."""
    for old, start, end in found:
        label, quote = labels.get(old, old), text[start:end]
        first = start + len(quote) - len(quote.lstrip())
        if label is not None and quote.strip():
            yield Annotation(label, first, first + len(quote.strip()))


def _split(text: AnnotatedText, splitter: LanguageRulesTokenizer) -> AnnotatedText:
    """A text with tokens and without entities."""
    text = text._replace(entities=[], probabilities=None)
    if text.tokens is not None:
        return text
    words = zip(*words_of(splitter, text.text))
    return text._replace(tokens=[(start, start + len(word)) for word, start in words])


def counts_of(texts: Sequence[SourcedText]) -> Dict[str, Tuple[int, Counter[str]]]:
    """Returns for each source how many texts it read, and how many entities of each label it found."""
    counts: Dict[str, Tuple[int, Counter[str]]] = {}
    for text in texts:
        for name, found in text.annotations.items():
            num_texts, labels = counts.get(name, (0, Counter()))
            counts[name] = num_texts + 1, labels + Counter(each.label for each in found)
    return counts
