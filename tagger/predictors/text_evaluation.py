"""How well a saved tagger does on text, which it has to split into tokens by itself."""

from collections import Counter
from typing import Dict, Iterable, Iterator, List, NamedTuple, Set, Tuple, cast

from allennlp.common.checks import ConfigurationError
from allennlp.common.util import lazy_groups_of
from allennlp.data import Instance
from allennlp.data.fields import TextField

from tagger.data.documents import DocumentTokens
from tagger.data.fields import TagField
from tagger.data.joined_text import join_tokens
from tagger.predictors.saved_tagger import SavedTagger
from tagger.spans import tags_to_spans

#: An entity in a text: its label, its first character, and the one behind its last.
Place = Tuple[str, int, int]

#: How many documents are tagged at a time.
_GROUP = 256


class GoldText(NamedTuple):
    """A document as it was before it was split into tokens, or a sentence by itself.

    Attributes:
        sentences: The text of each sentence.
        entities: The gold entities; offsets are those of the sentences, joined by line feeds.
        is_document: Whether the sentences belong together.
    """

    sentences: List[str]
    entities: Set[Place]
    is_document: bool


def evaluate_texts(tagger: SavedTagger, instances: Iterable[Instance]) -> Dict[str, float]:
    """Joins gold tokens into text, tags the text, and compares entities by their characters.

    The spacing of the text is the likely one, see `join_tokens`. A tagger that splits text otherwise
    than its training data were split loses here, and nowhere else.

    Args:
        tagger: The tagger.
        instances: Sentences or documents of its dataset reader, with gold tags.

    Returns:
        `precision-`, `recall-`, `f1-measure-` and `num-gold-` by label, and `overall`.

    Raises:
        ConfigurationError: If the tags spell no entities, or some of them are unknown.
    """
    if not tagger.finds_entities:
        raise ConfigurationError("tags that spell no entities cannot be compared by characters")
    right: Counter = Counter()
    predicted: Counter = Counter()
    gold: Counter = Counter()
    for texts in lazy_groups_of(_gold_texts(tagger, instances), _GROUP):
        for text, found in zip(texts, _tagged(tagger, texts)):
            gold.update(label for label, _, _ in text.entities)
            predicted.update(label for label, _, _ in found)
            right.update(label for label, _, _ in found & text.entities)
    metrics: Dict[str, float] = {}
    for label in sorted(gold.keys() | predicted.keys()):
        metrics.update(_metrics(label, right[label], predicted[label], gold[label]))
    metrics.update(_metrics("overall", right.total(), predicted.total(), gold.total()))
    return metrics


def _metrics(name: str, num_right: int, num_predicted: int, num_gold: int) -> Dict[str, float]:
    return {
        f"precision-{name}": num_right / max(num_predicted, 1),
        f"recall-{name}": num_right / max(num_gold, 1),
        f"f1-measure-{name}": 2 * num_right / max(num_predicted + num_gold, 1),
        f"num-gold-{name}": num_gold,
    }


def _tagged(tagger: SavedTagger, texts: List[GoldText]) -> Iterator[Set[Place]]:
    alone = iter(tagger.tag([text.sentences[0] for text in texts if not text.is_document]))
    for text in texts:
        tagged = tagger.tag_document(text.sentences) if text.is_document else next(alone)
        yield {(entity.label, entity.start, entity.end) for entity in tagged.entities}


def _gold_texts(tagger: SavedTagger, instances: Iterable[Instance]) -> Iterator[GoldText]:
    """Yields sentences, or documents, of which an instance may be a sentence."""
    encoding = tagger.tag_encoding
    assert encoding is not None
    for tokens, tags in _whole_documents(instances):
        text, entities, offset = [], set(), 0
        labels = iter(tags)
        for sentence in tokens.document:
            joined, spans = join_tokens([token.text or "" for token in sentence])
            of_sentence = [next(labels) for _ in sentence]
            for label, (first, last) in tags_to_spans(of_sentence, encoding):
                entities.add((label, offset + spans[first][0], offset + spans[last][1]))
            text.append(joined)
            offset += len(joined) + 1
        yield GoldText(text, entities, len(text) > 1)


def _whole_documents(
    instances: Iterable[Instance],
) -> Iterator[Tuple[DocumentTokens, List[str]]]:
    """Yields the documents, or sentences, of a dataset reader, each with all of its gold tags."""
    tags: List[str] = []
    for instance in instances:
        tokens = cast(TextField, instance["tokens"]).tokens
        if not isinstance(tokens, DocumentTokens):
            raise ConfigurationError("an evaluation from text needs the dataset reader `column`")
        field = instance.fields.get("tags")
        if not isinstance(field, TagField) or len(field.known_tags()) < len(field.labels):
            raise ConfigurationError(
                "an evaluation from text needs a known gold tag for each token; leave `unknown_tag` out"
            )
        tags += field.labels
        if tokens.last == len(tokens.document):
            yield tokens, tags
            tags = []
