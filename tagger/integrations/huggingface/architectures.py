"""Which kinds of token classifiers cannot be imported, and why."""

from tagger.transformers.carried import MODEL_TYPES

_PLACES = "it reads the places of words on a page"
_IMAGES = "it reads images besides text"
_PADDING = "its logits depend on the padding of a text"
_TWO_PARTS = "its encoder has settings apart from those of the model"

#: The reason against each kind, by its `model_type`, for those that transformers knows.
REASONS = {
    "bros": _PLACES,
    "canine": "it reads letters and has no pieces",
    "convbert": _PADDING,
    "fnet": _PADDING,
    "funnel": "an archive cannot describe its blocks",
    "layoutlm": _PLACES,
    "layoutlmv2": _PLACES,
    "layoutlmv3": _PLACES,
    "lilt": _PLACES,
    "markuplm": "it reads the structure of web pages",
    "mistral4": "an archive cannot describe its attention",
    "modernvbert": _IMAGES,
    "nystromformer": _PADDING,
    "qwen3_5": _IMAGES,
    "qwen3_asr": "it reads speech",
    "t5gemma": _TWO_PARTS,
    "t5gemma2": _TWO_PARTS,
    "ultravbert": _IMAGES,
    "yoso": _PADDING,
}


def reason_against(kind: str) -> str:
    """Returns why models of a kind cannot be imported, empty if they can."""
    if kind in REASONS:
        return REASONS[kind]
    return "" if kind in MODEL_TYPES else "this package does not know it"
