"""What the service takes and gives, as its OpenAPI description shows it."""

from typing import Annotated, Dict, List, Optional, Union

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from tagger.tools.tuning.decoding import LARGEST_BIAS
from tagger_onnx.inputs import check_characters

#: Far more than any bias that makes a difference, and far less than what overflows.
BIAS_BOUND = 100.0
#: With less, an answer could be far larger than its request.
LEAST_CANDIDATE = 0.001
TEXT = "Maria Lindqvist met Paulo Ferraz in Lisbon."


Text = Annotated[str, AfterValidator(check_characters)]
Token = Annotated[Text, Field(min_length=1)]
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

    text: Optional[Text] = Field(None, description="One text.")
    tokens: Optional[List[Token]] = Field(None, description="The tokens of one text.")
    inputs: Optional[List[Union[Text, List[Token]]]] = Field(
        None, description="Several texts, each a string or a list of tokens."
    )
    probabilities: bool = Field(
        False, description="Whether to return the probabilities of all tags of each token."
    )
    leak_labels: List[str] = Field(
        default_factory=list,
        description="Labels whose entities must not be missed. With some of them each result has the "
        "probability that the text has such an entity that was not found.",
    )
    candidates: Optional[float] = Field(
        None,
        ge=LEAST_CANDIDATE,
        le=1,
        description="A probability. With it each result lists every entity that is at least that "
        "probable, found or not.",
    )
    decode_bias: Dict[str, Bias] = Field(
        default_factory=dict,
        description="By label, what to add to the scores of the tags that open an entity: above 0 finds "
        f"more of them, below 0 fewer; from {-LARGEST_BIAS:g} to {LARGEST_BIAS:g} for all practical "
        "purposes. A label that is left out keeps the bias of the model. No probability changes.",
    )


class EntityFound(BaseModel):
    """A span of a text that has a label."""

    label: str
    text: str
    start: int = Field(description="The offset of its first character, in Unicode code points.")
    end: int = Field(description="The offset behind its last character.")
    first: int = Field(description="The index of its first token.")
    last: int = Field(description="The index of its last token.")
    probability: Optional[float] = Field(
        description="That exactly these tokens form an entity of this label; null if unknown."
    )


class TextTagged(BaseModel):
    """A text with what the model found in it."""

    text: str = Field(
        description="The text; tokens that came without one, joined by single blanks, where their "
        "scripts have blanks."
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
        description="That the text has an entity of the `leak_labels` that is not among `entities`; "
        "null unless asked for."
    )
    expected_missed: Optional[float] = Field(
        description="The expected number of such entities; null unless asked for."
    )
    candidates: List[EntityFound] = Field(
        description="Every entity that is probable enough, found or not; empty unless asked for."
    )


class TagResponse(BaseModel):
    """A result for each input, in their order."""

    results: List[TextTagged]


class LabelCurve(BaseModel):
    """Precision and recall on development data by the label's bias; the others keep theirs."""

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
        description="The model's own `decode_bias`; null if the label takes none."
    )
    curve: Optional[LabelCurve] = None


class PromiseKept(BaseModel):
    """What `tune-decoding --confidence` has promised of the model with its own biases."""

    labels: List[str]
    text: str = Field(description="What is promised, how surely, and on which data it rests.")
    date: str


class Labels(BaseModel):
    """The labels of the model, sorted."""

    labels: List[Label]
    promises: List[PromiseKept] = Field(
        description="They hold for the model's own biases only, on texts like those behind them."
    )
    curves_data: Optional[str] = Field(description="The file behind the curves, if there are any.")
    limits: Dict[str, Union[int, float]] = Field(description="The limits of requests.")


class Health(BaseModel):
    """The state of the service."""

    status: str = Field(examples=["ok"])
    model: str
    waiting_requests: int
    seconds: float = Field(description="Since the start.")


class Error(BaseModel):
    """What was wrong with a request."""

    code: str = Field(examples=["too_many_texts"])
    message: str = Field(
        examples=["a request may have at most 256 texts; got 300; send them in several requests"]
    )
    limit: Optional[float] = None
    got: Optional[float] = None


class ErrorResponse(BaseModel):
    """The answer to a request that was refused."""

    error: Error
