"""Requests and responses of the service, as shown in its OpenAPI description."""

from typing import Annotated, Dict, List, Optional, Union

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from tagger.tools.tuning.decoding import LARGEST_BIAS
from tagger_texts.inputs import check_characters

#: Far beyond any bias that makes a difference, and far below what would overflow.
BIAS_BOUND = 100.0
#: A lower threshold could make a response far larger than its request.
LEAST_CANDIDATE = 0.001
TEXT = "Maria Lindqvist met Paulo Ferraz in Lisbon."


CheckedText = Annotated[str, AfterValidator(check_characters)]
Token = Annotated[CheckedText, Field(min_length=1)]
Bias = Annotated[float, Field(ge=-BIAS_BOUND, le=BIAS_BOUND, allow_inf_nan=False)]


class TagRequest(BaseModel):
    """Texts to tag, and how. Give exactly one of `text`, `tokens` and `inputs`."""

    model_config = ConfigDict(
        extra="forbid",
        strict=True,
        json_schema_extra={
            "examples": [
                {"text": TEXT},
                {"tokens": ["Maria", "met", "Paulo", "."], "probabilities": True},
                {"inputs": [TEXT, ["Ada", "left", "."]], "decode_bias": {"PER": 1.5}},
            ]
        },
    )

    text: Optional[CheckedText] = Field(None, description="One text.")
    tokens: Optional[List[Token]] = Field(None, description="The tokens of one text.")
    inputs: Optional[List[Union[CheckedText, List[Token]]]] = Field(
        None, description="Several texts, each a string or a list of tokens."
    )
    probabilities: bool = Field(
        False, description="Whether to return the probabilities of all tags of each token."
    )
    leak_labels: List[str] = Field(
        default_factory=list,
        description="Labels of entities that must not be missed. If given, each result has the "
        "probability that the text contains such an entity that was not found.",
    )
    candidates: Optional[float] = Field(
        None,
        ge=LEAST_CANDIDATE,
        le=1,
        description="A probability. If given, each result lists every entity that is at least that "
        "probable, whether predicted or not.",
    )
    sets: bool = Field(
        False,
        description="Whether to return all answers at the places, and for the sentences, that are in "
        "doubt; only for a model that `tune-decoding --sets` has calibrated.",
    )
    decode_bias: Dict[str, Bias] = Field(
        default_factory=dict,
        description="By label, what to add to the scores of the tags that open an entity: above 0 finds "
        f"more of them, below 0 fewer; useful from {-LARGEST_BIAS:g} to {LARGEST_BIAS:g}. "
        "Labels that are left out keep the bias of the model. Probabilities do not change.",
    )


class EntityFound(BaseModel):
    """A labelled span of a text."""

    label: str
    text: str
    start: int = Field(description="The offset of its first character, in Unicode code points.")
    end: int = Field(description="The offset after its last character.")
    first: int = Field(description="The index of its first token.")
    last: int = Field(description="The index of its last token.")
    probability: Optional[float] = Field(
        description="The probability that exactly these tokens form such an entity; null if unknown."
    )


class AnswerSet(BaseModel):
    """What may be true of a token."""

    token: int = Field(description="The index of the token.")
    alternatives: List[EntityFound] = Field(
        description="The entities that may contain it, the most probable first."
    )
    none: float = Field(description="The probability that no entity contains it.")


class TagSequence(BaseModel):
    """The tags of a sentence."""

    tags: List[str]
    probability: float


class SequenceSet(BaseModel):
    """The tag sequences that may be true of a sentence, the most probable first."""

    first: int = Field(description="The index of the sentence's first token.")
    last: int = Field(description="The index of its last token.")
    sequences: List[TagSequence]


class TextTagged(BaseModel):
    """A text with the entities or labels that were found in it."""

    text: str = Field(
        description="The text; if only tokens were given, they are joined by single blanks where their "
        "scripts use blanks."
    )
    tokens: List[str]
    tags: List[str] = Field(
        description="A tag for each token; empty if tokens may have several labels."
    )
    labels: List[List[str]] = Field(
        description="The labels of each token, if tokens may have several; else empty."
    )
    entities: List[EntityFound]
    probabilities: List[Dict[str, float]] = Field(
        description="For each token the probability of each tag; empty unless asked for."
    )
    leak_probability: Optional[float] = Field(
        description="The probability that the text has an entity of the `leak_labels` that is not among "
        "`entities`; null unless asked for."
    )
    expected_missed: Optional[float] = Field(
        description="The expected number of such entities; null unless asked for."
    )
    candidates: List[EntityFound] = Field(
        description="Every entity that is probable enough, predicted or not; empty unless asked for."
    )
    sets: List[AnswerSet] = Field(description="The uncertain places; empty unless asked for.")
    sequences: List[SequenceSet] = Field(
        description="The uncertain sentences; empty unless asked for."
    )


class TagResponse(BaseModel):
    """One result for each input, in order."""

    results: List[TextTagged]


class LabelCurve(BaseModel):
    """Precision and recall on development data by the label's bias, with the other biases unchanged."""

    num_gold: int = Field(
        description="The number of gold entities; with few, the curve is unreliable."
    )
    biases: List[float]
    precisions: List[Optional[float]] = Field(description="Null where nothing is predicted.")
    recalls: List[Optional[float]] = Field(description="Null if there is no gold entity.")


class Label(BaseModel):
    """A label of the model."""

    name: str
    bias: Optional[float] = Field(
        description="The model's own `decode_bias`; null if the label does not support one."
    )
    curve: Optional[LabelCurve] = None


class PromiseKept(BaseModel):
    """What `tune-decoding --confidence` promised for the model with its own biases."""

    labels: List[str]
    text: str = Field(description="The promise, its confidence, and the data that it rests on.")
    date: str


class Labels(BaseModel):
    """The labels of the model, sorted."""

    labels: List[Label]
    promises: List[PromiseKept] = Field(
        description="Valid only for the model's own biases, on texts like those behind the promises."
    )
    curves_data: Optional[str] = Field(description="The file behind the curves, if any.")
    limits: Dict[str, Union[int, float]] = Field(description="The limits of requests.")


class Health(BaseModel):
    """The state of the service."""

    status: str = Field(examples=["ok"])
    model: str
    waiting_requests: int
    seconds: float = Field(description="The time since the start.")


class Error(BaseModel):
    """What was wrong with a request."""

    code: str = Field(examples=["too_many_texts"])
    message: str = Field(
        examples=["a request may have at most 256 texts; got 300; send them in several requests"]
    )
    limit: Optional[float] = None
    got: Optional[float] = None


class ErrorResponse(BaseModel):
    """The response to a rejected request."""

    error: Error
