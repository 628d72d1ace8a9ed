"""What a tagger says of a text, in one record from the head to every output."""

from typing import Any, Callable, Dict, List, Mapping, NamedTuple, Optional, Tuple

#: The fields of a `Prediction` with an entry for each token.
OF_TOKENS = ("tokens", "tags", "labels", "probabilities")
#: Those that are lists of entities.
ENTITIES = ("entities", "candidates")
#: Those that are lists of what may be true.
SETS = ("sets", "sequences")


class Entity(NamedTuple):
    """A labelled span of a text.

    Attributes:
        label: The label, such as `PER`.
        text: The characters of the span.
        start: The offset of its first character in the text.
        end: The offset after its last character.
        first: The index of its first token.
        last: The index of its last token.
        probability: The probability that exactly these tokens form an entity of this label; `None` if
            the model gives none, as with IOB1.
    """

    label: str
    text: str
    start: int
    end: int
    first: int
    last: int
    probability: Optional[float]

    @classmethod
    def of_tokens(
        cls, label: str, first: int, last: int, probability: Optional[float] = None
    ) -> "Entity":
        """Makes an entity of tokens, with `start` and `end` None until its characters are known."""
        return cls(label, "", None, None, first, last, probability)  # type: ignore[arg-type]

    def moved(self, tokens: int) -> "Entity":
        """Returns the entity as many tokens later."""
        label, text, start, end, first, last, probability = self
        return Entity(label, text, start, end, first + tokens, last + tokens, probability)

    def to_json(self) -> Dict[str, Any]:
        """Returns the fields that are known."""
        label, text, start, end, first, last, probability = self
        found: Dict[str, Any] = {"label": label}
        if start is not None:
            found.update(text=text, start=start, end=end)
        found.update(first=first, last=last)
        if probability is not None:
            found["probability"] = probability
        return found


class AnswerSet(NamedTuple):
    """What may be true of a token: the entities that contain it, or none.

    The answers exclude one another, so their probabilities sum to at most 1.

    Attributes:
        token: The index of the token.
        alternatives: Entities with this token, the most probable first.
        none: The probability that no entity contains the token.
    """

    token: int
    alternatives: List[Entity]
    none: float


class SequenceSet(NamedTuple):
    """The tag sequences that may be true of a sentence.

    Attributes:
        first: The index of the sentence's first token.
        last: The index of its last token.
        sequences: The tags of the sentence and their probability, the most probable first.
    """

    first: int
    last: int
    sequences: List[Tuple[List[str], float]]


class Prediction(NamedTuple):
    """What a tagger says of a sentence, a document, or a part of one.

    A field is None if the tagger does not give it, or was not asked for it. The fields are those of a
    line of `predict-file`, in their order; see the predictor `sequence_tagger`.
    """

    text: Optional[str] = None
    tokens: Optional[List[str]] = None
    tags: Optional[List[str]] = None
    labels: Optional[List[List[str]]] = None
    probabilities: Optional[List[Dict[str, float]]] = None
    sentences: Optional[List[Tuple[int, int]]] = None
    entities: Optional[List[Entity]] = None
    candidates: Optional[List[Entity]] = None
    leak_probability: Optional[float] = None
    expected_missed: Optional[float] = None
    sets: Optional[List[AnswerSet]] = None
    sequences: Optional[List[SequenceSet]] = None

    def to_json(self) -> Dict[str, Any]:
        """Returns the fields that are given, as in a line of JSON.

        Example:
            >>> Prediction(tags=["O", "B-LOC"], entities=[Entity.of_tokens("LOC", 1, 1)]).to_json()
            {'tags': ['O', 'B-LOC'], 'entities': [{'label': 'LOC', 'first': 1, 'last': 1}]}
        """
        found: Dict[str, Any] = {
            name: each for name, each in zip(self._fields, self) if each is not None
        }
        if self.sentences is not None:
            found["sentences"] = [list(place) for place in self.sentences]
        for name, entities in (("entities", self.entities), ("candidates", self.candidates)):
            if entities is not None:
                found[name] = [entity.to_json() for entity in entities]
        if self.sets is not None:
            found["sets"] = [
                {**each._asdict(), "alternatives": [e.to_json() for e in each.alternatives]}
                for each in self.sets
            ]
        if self.sequences is not None:
            found["sequences"] = [
                {
                    **each._asdict(),
                    "sequences": [{"tags": tags, "probability": p} for tags, p in each.sequences],
                }
                for each in self.sequences
            ]
        return found

    def of_tokens(self, own: slice) -> "Prediction":
        """Returns what is said of some tokens, with the entities that begin there, counted from there.

        It has no text, no sentences, no leaks and no sets, which are those of the whole.
        """
        of_tokens = {name: getattr(self, name) for name in OF_TOKENS}
        found = Prediction(**{name: each and each[own] for name, each in of_tokens.items()})
        return found._replace(entities=self.entities, candidates=self.candidates).with_entities(
            lambda entities: [
                each.moved(-own.start) for each in entities if own.start <= each.first < own.stop
            ]
        )

    def with_entities(self, change: Callable[[List[Entity]], List[Entity]]) -> "Prediction":
        """Returns a prediction in which entities and candidates are changed, where they are given."""
        entities, candidates = (each and change(each) for each in (self.entities, self.candidates))
        return self._replace(entities=entities, candidates=candidates)

    def with_each(self, change: Callable[[Entity], Entity]) -> "Prediction":
        """Returns a prediction in which each entity is changed, also among candidates and in sets."""
        found = self.with_entities(lambda entities: [change(each) for each in entities])
        if self.sets is None:
            return found
        changed = [
            each._replace(alternatives=[change(own) for own in each.alternatives])
            for each in self.sets
        ]
        return found._replace(sets=changed)

    def moved(self, tokens: int) -> "Prediction":
        """Returns a prediction for a text in which as many other tokens come first."""
        found = self.with_each(lambda entity: entity.moved(tokens))
        return found._replace(
            sets=found.sets and [each._replace(token=each.token + tokens) for each in found.sets],
            sequences=self.sequences
            and [
                SequenceSet(s.first + tokens, s.last + tokens, s.sequences) for s in self.sequences
            ],
        )

    @classmethod
    def from_json(cls, found: Mapping[str, Any]) -> "Prediction":
        """Reads what `to_json` returned; other fields are ignored."""
        kept = {name: found[name] for name in cls._fields if name in found}
        for name in kept.keys() & ENTITIES:
            kept[name] = list(map(_entity, kept[name]))
        if "sets" in kept:
            kept["sets"] = [
                AnswerSet(each["token"], list(map(_entity, each["alternatives"])), each["none"])
                for each in kept["sets"]
            ]
        if "sequences" in kept:
            kept["sequences"] = [
                SequenceSet(
                    each["first"],
                    each["last"],
                    [(own["tags"], own["probability"]) for own in each["sequences"]],
                )
                for each in kept["sequences"]
            ]
        if "sentences" in kept:
            kept["sentences"] = [(first, last) for first, last in kept["sentences"]]
        return cls(**kept)


def _entity(found: Mapping[str, Any]) -> Entity:
    unknown = {"text": "", "start": None, "end": None, "probability": None}
    return Entity(**{**unknown, **found})
