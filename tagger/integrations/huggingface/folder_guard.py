"""Limits on a folder of Hugging Face, so that a damaged or hostile one is refused in one sentence.

A folder gets the bounds of an archive. Before anything is built, its config, its tokenizer and the
headers of its weights are read and compared. While transformers loads it, Python may not open files
outside of it, and PyTorch may not create tensors that its files cannot fill.
"""

import json
import math
import re
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Dict, Iterator, List, NoReturn, Set

import torch
from allennlp.common.checks import ConfigurationError
from allennlp.common.util import SigTermReceived

from tagger.integrations.huggingface.architectures import reason_against
from tagger.integrations.huggingface.tag_reading import MAX_TAGS
from tagger.transformers.carried import MAX_LAYERS, MAX_PIECES, check_numbers
from tagger.transformers.tokenizer_rules import FREE_BYTES, check_rules
from tagger_compat import archive_guard, outside_transformers
from tagger_compat.archive_contents import MAX_JSON, MAX_VALUES, leaves, read_json
from tagger_compat.archive_pickles import check_weights
from tagger_compat.archive_tensors import TensorLimit

#: The `model_type` of `CrfForTokenClassification` with its transformer in `backbone`.
OWN_TYPE = "crf_token_classification"
#: How to fix a folder.
REMEDY = "save it again with `save_pretrained`, or copy it again"
#: The most bytes in the header of a safetensors file, and the most tensors.
MAX_HEADER, MAX_TENSORS = 2**24, 20_000
#: How many values a model may have beyond those in its files, for parts that are not saved.
FREE_VALUES = 2**24

# The most bytes and values in a file of a tokenizer.
_OF_TOKENIZERS = FREE_BYTES + 200 * MAX_PIECES, MAX_VALUES + 8 * MAX_PIECES
_CONFIG, _TOKENIZER = "config.json", "tokenizer.json"
_INDEX = ".index.json"


@contextmanager
def errors_in_one_sentence(name: str) -> Iterator[None]:
    """Reports any error in reading a folder in one sentence."""
    try:
        yield
    except (ConfigurationError, SigTermReceived, OSError):
        raise
    except BaseException as error:
        # A panic of the library `tokenizers` is no `Exception`.
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        text = archive_guard.shortened(f"{type(error).__name__}: {error}", 300)
        _refuse(f"{name}: expected a model for token classification; {text}")


@contextmanager
def guarded(folder: str, name: str) -> Iterator[None]:
    """Guards what transformers does while it loads a folder that `check_folder` has accepted."""
    if outside_transformers.may_run_code():
        yield
        return
    num_bytes = sum(each.stat().st_size for each in Path(folder).iterdir() if each.is_file())
    try:
        with archive_guard.loading([folder]) as state, TensorLimit(lambda: num_bytes, name):
            state.begin(folder, set(), set())
            state.may_read(folder)
            yield
    except ConfigurationError as error:
        what, _, remedy = str(error).rpartition("; ")
        if "TAGGER_TRUST_ARCHIVES" not in remedy:
            raise
        _refuse(what.replace("the archive", "the folder"))


def check_folder(folder: str, name: str) -> None:
    """Raises a `ConfigurationError` unless the files are those of a classifier of a known kind."""
    values = _json(folder, _CONFIG, name)
    kind = _check_config(values, f"{name}: `{_CONFIG}`")
    for file in sorted(Path(folder).glob("*.json")):
        if file.name not in (_CONFIG, _TOKENIZER) and file.is_file():
            _json(folder, file.name, name, *_OF_TOKENIZERS)
    weights = _check_weights(folder, name)
    _check_sizes(folder, kind, weights, name)
    if Path(folder, _TOKENIZER).is_file():
        where = f"{name}: `{_TOKENIZER}`"
        rules = read_json(Path(folder, _TOKENIZER), where, *_OF_TOKENIZERS, False, REMEDY)
        check_tokenizer_rules(rules, where)


def check_tokenizer_rules(rules: Any, where: str) -> None:
    """Raises a `ConfigurationError` if a tokenizer's JSON has a part that no archive may carry."""
    if not isinstance(rules, dict) or not isinstance(rules.get("model"), dict):
        _refuse(f"{where}: expected an object with a `model`; got {rules!s:.80}")
    model = rules["model"]
    plain = {**rules, **dict.fromkeys(("truncation", "padding", "decoder"))}
    # Files of the first years do not name it.
    plain["model"] = {"type": _type_of(model), **model}
    check_rules(plain, MAX_PIECES, where, REMEDY)


def _type_of(model: Dict[str, Any]) -> str:
    if "merges" in model:
        return "BPE"
    if isinstance(model.get("vocab"), list):
        return "Unigram"
    return "WordPiece" if "max_input_chars_per_word" in model else "WordLevel"


def _json(
    folder: str, file: str, name: str, max_bytes: int = MAX_JSON, max_values: int = MAX_VALUES
) -> Any:
    where = f"{name}: `{file}`"
    return read_json(Path(folder, file), where, max_bytes, max_values, remedy=REMEDY)


def _check_config(values: Any, where: str, is_inner: bool = False) -> str:
    """Checks the settings; returns the kind of the transformer."""
    if not isinstance(values, dict):
        _refuse(f"{where}: expected a JSON object; got {values!s:.80}")
    kind = values.get("model_type")
    if kind == OWN_TYPE and not is_inner:
        return _check_config(values.get("backbone"), f"{where}: `backbone`", is_inner=True)
    reason = reason_against(kind) if isinstance(kind, str) else "`model_type` must be a name"
    if reason:
        _refuse(
            f"{where}: a model of the kind {kind!r:.80} cannot be imported, because {reason}",
            "the page `Import a Hugging Face tagger` lists the kinds that can",
        )
    assert isinstance(kind, str)
    for key, value in values.items():
        for place, each in leaves(value, str(key)):
            if isinstance(each, (int, float)):
                check_numbers(str(key), place, each, where, REMEDY)
    number = values.get("num_labels")
    if isinstance(number, int) and number > MAX_TAGS:
        _refuse(f"{where}: expected at most {MAX_TAGS} tags; `num_labels` is {number}")
    names = values.get("id2label", {})
    if not isinstance(names, dict) or not all(isinstance(each, str) for each in names.values()):
        _refuse(f"{where}: expected `id2label` with a tag for each index; got {names!s:.80}")
    if not all(key.isdecimal() and key.isascii() for key in names) or len(names) > MAX_TAGS:
        _refuse(f"{where}: expected `id2label` with up to {MAX_TAGS} indices; got {names!s:.80}")
    return kind


def _check_weights(folder: str, name: str) -> Dict[str, int]:
    """Checks the files of weights; returns the values of each tensor, or of each pickle."""
    found: Dict[str, int] = {}
    for file in _weight_files(folder, name):
        path, where = str(Path(folder, file)), f"{name}: `{file}`"
        if file.endswith(".safetensors"):
            found.update(_header(path, where))
        else:
            check_weights(path, where)
            found[file] = Path(path).stat().st_size
    if len(found) > MAX_TENSORS:
        _refuse(f"{name}: expected at most {MAX_TENSORS} tensors; got {len(found)}")
    return found


def _weight_files(folder: str, name: str) -> List[str]:
    """Returns the names of the files that transformers would read."""
    for file in ("model.safetensors", "pytorch_model.bin"):
        if Path(folder, file).is_file():
            return [file]
        index = file + _INDEX
        if Path(folder, index).is_file():
            places = _json(folder, index, name, 2**24, 20 * MAX_TENSORS)
            shards = places.get("weight_map") if isinstance(places, dict) else None
            if not isinstance(shards, dict) or not shards:
                _refuse(f"{name}: `{index}`: expected a `weight_map` with the file of each tensor")
            return _checked_shards(shards, folder, f"{name}: `{index}`")
    return _refuse(f"{name}: expected `model.safetensors` or `pytorch_model.bin`; got neither")


def _checked_shards(shards: Dict[str, Any], folder: str, where: str) -> List[str]:
    names: Set[Any] = set()
    for shard in shards.values():
        is_plain = isinstance(shard, str) and not re.search(r"[/\\\0]", shard)
        if not is_plain or not shard.endswith((".safetensors", ".bin")):
            _refuse(f"{where} names {str(shard)!r:.80}, which is no file of weights in this folder")
        if not Path(folder, shard).is_file():
            _refuse(f"{where} names `{shard:.80}`, which is missing")
        names.add(shard)
    return sorted(names)


def _header(path: str, where: str) -> Dict[str, int]:
    """Returns the number of values of each tensor in a safetensors file, from its header alone."""
    size = Path(path).stat().st_size
    with open(path, "rb") as file:
        length = int.from_bytes(file.read(8), "little")
        if not 2 <= length <= min(MAX_HEADER, size - 8):
            _refuse(f"{where} is not a safetensors file, or is cut short")
        content = file.read(length)
    try:
        header = json.loads(content)
        tensors = {key: value for key, value in header.items() if key != "__metadata__"}
        found = {key: math.prod(each["shape"]) for key, each in tensors.items()}
        ends = [each["data_offsets"][1] for each in tensors.values()]
        is_plain = all(type(n) is int and n >= 0 for n in [*found.values(), *ends])
        if not is_plain or max(ends, default=0) != size - 8 - length:
            _refuse(f"{where}: its header describes other sizes than the file has")
    except (ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError) as error:
        _refuse(f"{where} has a damaged header ({type(error).__name__}: {error!s:.80})")
    return found


def _check_sizes(folder: str, kind: str, weights: Dict[str, int], name: str) -> None:
    """Raises a `ConfigurationError` if the config describes more values than the files have."""
    from transformers import AutoConfig, AutoModelForTokenClassification

    with guarded(folder, name), torch.device("meta"):
        config = AutoConfig.from_pretrained(folder, local_files_only=True)
        text = getattr(config, "backbone", config)
        num_layers = getattr(text, "num_hidden_layers", None)
        is_pickle = any(each.endswith(".bin") for each in weights)
        most = MAX_LAYERS if is_pickle or kind == "albert" else len(weights)
        if not isinstance(num_layers, int) or not 0 < num_layers <= min(most, MAX_LAYERS):
            _refuse(
                f"{name}: `{_CONFIG}` describes {num_layers} layers, but the weights have "
                f"{len(weights)} tensors"
            )
        if not isinstance(text.vocab_size, int) or not 0 < text.vocab_size <= MAX_PIECES:
            _refuse(f"{name}: `{_CONFIG}` sets `vocab_size` to more than {MAX_PIECES}, or to none")
        model = AutoModelForTokenClassification.from_config(config)
    for key, each in model.state_dict().items():
        if weights.get(key, each.numel()) != each.numel():
            _refuse(
                f"{name}: `{_CONFIG}` describes {each.numel()} values of `{key[:120]}`, but the weights "
                f"have {weights[key]}"
            )
    asked = sum(each.numel() for each in model.parameters())
    if asked > sum(weights.values()) + FREE_VALUES:
        _refuse(
            f"{name}: `{_CONFIG}` describes a model of {asked} values, but the weights have "
            f"{sum(weights.values())}"
        )


def _refuse(what: str, remedy: str = REMEDY) -> NoReturn:
    archive_guard.refuse(what, remedy)
