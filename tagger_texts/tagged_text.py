"""The result of tagging a text."""

import html
import itertools
from typing import Dict, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Tuple, Union

from tagger_texts.display import LABELS, MARK_TINT, label_colours, spell_probability
from tagger_texts.prediction import AnswerSet, Entity, Prediction, SequenceSet

#: A text, or its tokens.
TextOrTokens = Union[str, Sequence[str]]


class SetThresholds(NamedTuple):
    """What belongs to the sets of answers of a tagger; None for what they cannot promise.

    Attributes:
        least_probability: The least probability of an entity in a set.
        most_before: The most probability of the better sequences before a sequence in a set.
    """

    least_probability: Optional[float]
    most_before: Optional[float]


class Extras(NamedTuple):
    """What to return besides tags and entities, from the arguments of `TextTagger.tag`."""

    probabilities: bool = False
    leak_labels: Tuple[str, ...] = ()
    candidates: Optional[float] = None
    sets: Optional[SetThresholds] = None


NO_EXTRAS = Extras()


def extras_of(
    probabilities: bool = False,
    leak_labels: Sequence[str] = (),
    candidates: Optional[float] = None,
    sets: Optional[SetThresholds] = None,
) -> Extras:
    """Collects these arguments of `TextTagger.tag`; refuses a single string as `leak_labels`."""
    if isinstance(leak_labels, str):
        raise TypeError(
            f"`leak_labels` must be a list of labels; got {leak_labels!r}; put it in a list"
        )
    return Extras(probabilities, tuple(leak_labels or ()), candidates, sets)


class TaggedText(NamedTuple):
    """A text and what a tagger found in it. A notebook displays the text with its entities marked.

    Attributes:
        text: The text; if only tokens were given, they are joined by single blanks where their scripts
            use blanks. Recordings have no text, no tokens and no character offsets.
        tokens: The tokens.
        tags: A tag for each token, such as `B-PER`; empty if tokens may have several labels.
        labels: The list of labels of each token, if tokens may have several; else empty.
        entities: The entities in the order of the text; empty if the tags spell no spans.
        probabilities: For each token the probability of each tag, or label; empty unless asked for.
        sentences: The first and last token of each sentence of a document; else empty.
        leak_probability: The probability that the text has an entity of the `leak_labels` that is not
            among `entities`; None unless asked for.
        expected_missed: The expected number of such entities; None unless asked for.
        candidates: Every entity that is probable enough, predicted or not, in the order of the text;
            empty unless asked for.
        sets: The uncertain places, in the order of the text: each has a token and all entities that may
            contain it, with their probabilities and that of none; empty unless asked for.
        sequences: The uncertain sentences, with all tag sequences that may be true; empty unless asked
            for.
        known_labels: All labels that the tagger knows; they determine the colours in a notebook.
    """

    text: str
    tokens: List[str]
    tags: List[str]
    labels: List[List[str]]
    entities: List[Entity]
    probabilities: List[Dict[str, float]]
    sentences: Sequence[Tuple[int, int]] = ()
    leak_probability: Optional[float] = None
    expected_missed: Optional[float] = None
    candidates: Sequence[Entity] = ()
    sets: Sequence[AnswerSet] = ()
    sequences: Sequence[SequenceSet] = ()
    known_labels: Sequence[str] = ()

    @classmethod
    def of(
        cls, prediction: Prediction, extras: Extras, known_labels: Sequence[str]
    ) -> "TaggedText":
        """Makes a result in which what the tagger does not give is empty."""
        return cls(
            prediction.text or "",
            prediction.tokens or [],
            prediction.tags or [],
            prediction.labels or [],
            prediction.entities or [],
            (extras.probabilities and prediction.probabilities) or [],
            prediction.sentences or (),
            prediction.leak_probability,
            prediction.expected_missed,
            prediction.candidates or [],
            prediction.sets or [],
            prediction.sequences or [],
            known_labels,
        )

    def _repr_html_(self) -> str:
        colours = label_colours(self.known_labels)
        parts = []
        if not self.text:
            places = (f"{each.label} {each.first}–{each.last}" for each in self.entities)
            return f"<code>{html.escape(', '.join(places))}</code>"
        for start, end, inside in self._segments():
            text = self.text[start:end]
            probability = inside[0].probability if len(inside) == 1 else None
            labels = [entity.label for entity in inside]
            parts.append(
                _marked(text, labels, colours, probability) if inside else html.escape(text)
            )
        if any(self.labels):
            parts = [
                _marked(token, labels, colours) if labels else html.escape(token)
                for token, labels in zip(self.tokens, self.labels)
            ]
            return f'<div dir="auto" style="line-height: 2">{" ".join(parts)}</div>'
        return (
            f'<div dir="auto" style="line-height: 2; white-space: pre-wrap">{"".join(parts)}</div>'
        )

    def _segments(self) -> Iterator[Tuple[int, int, List[Entity]]]:
        """Yields the pieces between borders of entities, which may overlap, and what lies over each."""
        borders = {border for entity in self.entities for border in (entity.start, entity.end)}
        for start, end in itertools.pairwise(sorted({0, *borders, len(self.text)})):
            yield start, end, [e for e in self.entities if e.start <= start and end <= e.end]


def _marked(
    text: str,
    labels: Sequence[str],
    colours: Mapping[str, int],
    probability: Optional[float] = None,
) -> str:
    """HTML of a text on the colour of its first label, followed by its labels in small type."""
    colour = LABELS[colours.get(labels[0], 0)].light
    note = f"<bdi>{html.escape(', '.join(labels))}</bdi>"
    if probability is not None:
        note += f" {html.escape(spell_probability(probability))}"
    # With its own text colour, since a notebook may be dark.
    return (
        f'<mark style="background: {_tinted(colour)}; color: #000; padding: .15em .3em; '
        f'border-radius: .3em">{html.escape(text)} '
        # Beside Arabic or Hebrew, the note keeps its own order.
        f'<small dir="ltr" style="opacity: .7">{note}</small></mark>'
    )


def _tinted(colour: str) -> str:
    """Mixes a colour with white, as on our pages, for the background of a text."""
    channels = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    mixed = (round((MARK_TINT * each + (100 - MARK_TINT) * 255) / 100) for each in channels)
    return "#" + "".join(f"{each:02x}" for each in mixed)
