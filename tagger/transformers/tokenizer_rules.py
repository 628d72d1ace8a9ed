"""Limits on `tokenizer.json` of an archive, so that it takes neither much memory nor much time.

The library `tokenizers` obeys a file that asks it to pad a word to a billion pieces, or to replace a
letter by a million.
"""

import base64
from contextlib import contextmanager
from typing import Any, Dict, Iterator, List

from tagger_compat.archive_contents import MAX_VALUES, leaves, read_json
from tagger_compat.archive_guard import refuse

#: What helps against a carried transformer that is refused; TAGGER_TRUST_ARCHIVES does not.
REMEDY = "make or copy the archive again"
#: How many bytes a tokenizer may have besides 200 bytes, and eight JSON values, for each piece.
FREE_BYTES = 2**21
#: The most added tokens, letters of a piece, parts of a kind, settings, and letters of a setting.
MAX_ADDED, MAX_TOKEN, MAX_PARTS, MAX_SETTINGS, MAX_TEXT = 5000, 512, 10, 300, 100
#: The most base64 letters of a table of characters, and the most bytes that it puts in place of one.
MAX_TABLE, MAX_REPLACED = 2**20, 100

_KEYS = {
    "version", "truncation", "padding", "added_tokens", "normalizer", "pre_tokenizer",
    "post_processor", "decoder", "model",
}  # fmt: skip
_PARTS = {
    "normalizer": (
        "BertNormalizer", "ByteLevel", "Lowercase", "NFC", "NFD", "NFKC", "NFKD", "Nmt",
        "Precompiled", "Prepend", "Replace", "Sequence", "Strip", "StripAccents",
    ),
    "pre_tokenizer": (
        "BertPreTokenizer", "ByteLevel", "Digits", "Metaspace", "Punctuation", "Sequence",
        "Split", "Whitespace", "WhitespaceSplit",
    ),
    "post_processor": (
        "BertProcessing", "ByteLevel", "RobertaProcessing", "Sequence", "TemplateProcessing",
    ),
}  # fmt: skip
_MODELS = {"BPE", "Unigram", "WordLevel", "WordPiece"}
# Others might take forever. These are the ones that transformers writes.
_WORDS = r"\s*[\r\n]+|\s+(?!\S)|\s+"
_PATTERNS = {
    *(r" {2,}", r"\s+", r"\s{2,}|[\n\r\t]", r"[\n\r\t]", r"^▁+$", r" +▁"),
    *(
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|" + number
        + r"| ?[^\s\p{L}\p{N}]+[\r\n]*|" + _WORDS
        for number in (r"\p{N}", r"\p{N}{1,3}")
    ),
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|"
    + _WORDS,
    # o200k splits letters where small ones are followed by capital ones
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
    r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
    r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|" + _WORDS,
}  # fmt: skip


def check_tokenizer(path: Any, num_pieces: int, name: str) -> None:
    """Checks the file of a tokenizer with so many pieces before it is loaded."""
    most_bytes, most_values = FREE_BYTES + 200 * num_pieces, MAX_VALUES + 8 * num_pieces
    rules = read_json(path, name, most_bytes, most_values, check_depth=False, remedy=REMEDY)
    check_rules(rules, num_pieces, name)


def check_rules(rules: Any, num_pieces: int, name: str, remedy: str = REMEDY) -> None:
    """Checks the contents of such a file, from which it takes what it has checked."""
    try:
        _check(rules, num_pieces)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        refuse(f"{name} is not a tokenizer that an archive may carry ({error})", remedy)


@contextmanager
def without_panic(name: str) -> Iterator[None]:
    """Turns panics of the library `tokenizers`, which are no `Exception`, into a ConfigurationError."""
    try:
        yield
    except BaseException as error:
        if type(error).__name__ != "PanicException" and type(error) is not Exception:
            raise
        refuse(f"{name} is a damaged tokenizer ({error})", REMEDY)


def _check(rules: Dict[str, Any], num_pieces: int) -> None:
    for key in rules:
        if key not in _KEYS:
            raise ValueError(f"it has `{key[:80]}`")
    for key in ("truncation", "padding", "decoder"):
        if rules.get(key) is not None:
            raise ValueError(f"`{key}` must be null")
    for place, known in _PARTS.items():
        if rules.get(place) is not None:
            _check_parts(rules[place], place, known, num_pieces)
    _check_model(rules["model"], num_pieces)
    added = rules.get("added_tokens") or []
    if len(added) > MAX_ADDED:
        raise ValueError(f"it adds more than {MAX_ADDED} tokens")
    for token in added:
        if not 0 < len(token["content"]) <= MAX_TEXT or not 0 <= token["id"] < num_pieces:
            raise ValueError(
                f"the added token {token['content'][:40]!r} is too long, or none of the model"
            )


def _check_model(model: Dict[str, Any], num_pieces: int) -> None:
    if model["type"] not in _MODELS:
        raise ValueError(f"it has a model `{str(model['type'])[:80]}`")
    vocabulary = model["vocab"]
    if isinstance(vocabulary, dict):
        pieces, numbers = list(vocabulary), list(vocabulary.values())
    else:
        pieces, numbers = [each for each, _ in vocabulary], list(range(len(vocabulary)))
    if not all(type(each) is int and 0 <= each < num_pieces for each in numbers):
        raise ValueError(f"it has pieces that the transformer, which knows {num_pieces}, does not")
    if max(map(len, pieces), default=0) > MAX_TOKEN:
        raise ValueError(f"it has a piece of more than {MAX_TOKEN} letters")
    for key, value in model.items():
        if key in ("vocab", "merges"):
            continue
        is_long = isinstance(value, str) and len(value) > MAX_TEXT
        if isinstance(value, (dict, list)) or is_long or (key == "dropout" and value is not None):
            raise ValueError(f"its model sets `{key[:80]}` to {str(value)[:80]}")
    if model.get("max_input_chars_per_word", 100) > 1000:
        raise ValueError("`max_input_chars_per_word` must be at most 1000")


def _check_parts(part: Dict[str, Any], place: str, known: Any, num_pieces: int) -> None:
    parts = list(_flat(part))
    types = [each["type"] for each in parts]
    for kind in types:
        if kind not in known:
            raise ValueError(f"it has a {place} `{str(kind)[:80]}`")
    once = [kind for kind in types if kind not in ("Replace", "Sequence", "Split")]
    if len(parts) > MAX_PARTS or len(once) > len(set(once)):
        raise ValueError(f"its {place} has too many parts")
    settings = [value for _, value in leaves(part)]
    if len(settings) > MAX_SETTINGS:
        raise ValueError(f"its {place} has too many settings")
    if any(isinstance(each, (int, float)) and not 0 <= each < num_pieces for each in settings):
        raise ValueError(f"its {place} has a number that is not a piece")
    for each in parts:
        _check_part(each)


def _flat(part: Dict[str, Any]) -> Iterator[Dict[str, Any]]:
    yield part
    for key in ("normalizers", "pretokenizers", "processors"):
        for each in part.get(key, []) if part["type"] == "Sequence" else ():
            yield from _flat(each)


def _check_part(part: Dict[str, Any]) -> None:
    kind = part["type"]
    if kind == "Sequence":
        return
    if kind == "Precompiled":
        _check_table(part.pop("precompiled_charsmap"))
    if kind in ("Replace", "Split"):
        _check_pattern(part.pop("pattern"), part.get("content", ""))
    for key, value in leaves(part):
        if isinstance(value, str) and len(value) > MAX_TEXT:
            raise ValueError(f"`{kind}.{key[:80]}` is too long")
    if kind == "TemplateProcessing":
        templates: List[Any] = [part["single"], part["pair"]]
        templates += [each["ids"] for each in part["special_tokens"].values()]
        if any(len(each) > MAX_PARTS for each in templates):
            raise ValueError("`TemplateProcessing` adds too many tokens")


def _check_pattern(pattern: Dict[str, str], content: str) -> None:
    ((kind, text),) = pattern.items()
    if kind == "Regex" and text not in _PATTERNS:
        raise ValueError(f"it has the regular expression {text[:80]!r}")
    # Texts must not become longer.
    if len(content) > (1 if kind == "Regex" else len(text)) or not 0 < len(text) <= 1000:
        raise ValueError(f"it replaces {text[:80]!r} by a longer text")


def _check_table(table: str) -> None:
    content = base64.b64decode(table[: MAX_TABLE + 4])
    size = int.from_bytes(content[:4], "little")
    if len(table) > MAX_TABLE or size > len(content):
        raise ValueError("it has a damaged table of characters")
    if max(map(len, content[4 + size :].split(b"\0"))) > MAX_REPLACED:
        raise ValueError("it replaces a letter by a long text")
