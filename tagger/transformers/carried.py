"""A transformer as stored in an archive: two JSON files with known keys, and tensors.

`write_carried` writes `config.json`, `tokenizer.json` and, unless they are among the archive's own
weights, `model.safetensors`. Nothing else is read: the model is built from its config class, and the
tokenizer by the library `tokenizers`. Unknown files, settings and parts of a tokenizer are refused by
name, both when an archive is written and when it is read.
"""

import dataclasses
import functools
import importlib
import inspect
import json
import re
import shutil
from pathlib import Path
from typing import Any, Dict, FrozenSet, NoReturn

import torch
from allennlp.common.checks import ConfigurationError

from tagger.transformers.exact_blocks import has_blocks, load_blocks, with_blocks
from tagger.transformers.tokenizer_rules import REMEDY, check_tokenizer, without_panic
from tagger.transformers.transformer import Transformer
from tagger_compat.archive_contents import MAX_NUMBER, leaves, read_json
from tagger_compat.archive_guard import refuse

CONFIG, TOKENIZER, WEIGHTS = "config.json", "tokenizer.json", "model.safetensors"
#: The kinds of transformers that an archive can carry: they read text, and the memory they use depends
#: on its length.
MODEL_TYPES = (
    "albert", "apertus", "arcee", "axk1", "axk2", "bart", "bert", "big_bird", "biogpt", "bloom",
    "camembert", "convbert", "data2vec-text", "deberta", "deberta-v2", "deepseek_v3", "diffllama",
    "distilbert", "electra", "ernie", "esm", "esmc", "eurobert", "exaone4", "falcon", "flaubert",
    "gemma", "gemma2", "glm", "glm4", "gpt-sw3", "gpt2", "gpt_bigcode", "gpt_neo", "gpt_neox",
    "gpt_oss", "gte", "helium", "ibert", "jina_embeddings_v3", "llama", "longformer", "luke", "mbart",
    "megatron-bert", "minimax", "ministral", "ministral3", "mistral", "mixtral",
    "mobilebert", "modernbert", "mpnet", "mpt", "mra", "mt5", "nemotron", "nomic_bert",
    "openai_privacy_filter", "persimmon", "phi", "phi3", "qwen2", "qwen2_moe", "qwen3", "qwen3_moe",
    "qwen3_next", "rembert", "roberta", "roberta-prelayernorm", "roc_bert", "roformer", "seed_oss",
    "smollm3", "squeezebert", "stablelm", "starcoder2", "t5", "ultrabert", "umt5", "xlm", "xlm-roberta",
    "xlm-roberta-xl", "xlnet", "xmod",
)  # fmt: skip
#: The largest vocabulary, and the most layers.
MAX_PIECES, MAX_LAYERS = 500_000, 1000
#: The largest base of rotations, and the most heads or tokens of a window.
MAX_BASE, MAX_HEADS = 10**12, 100_000

# The keys that we add to those of the config class.
_OWN_KEYS = {"model_type", "special_tokens", "source"}
_SPECIAL_TOKENS = ("unk_token", "pad_token")
# These concern the number of labels, or what is returned, which no tagger needs.
_UNUSED = {"num_labels", "output_attentions", "gradient_checkpointing", "return_dict"}
_TEXT = re.compile(r"[\w .|+-]{0,100}")


class CarriedTransformer(Transformer):
    """A transformer in the folder of an archive, or of a run."""

    @property
    def source(self) -> str:
        return str(self.description().get("source", ""))

    def tokenizer(self) -> Any:
        from transformers import PreTrainedTokenizerFast

        values = self.description()
        special = values.get("special_tokens") or {}
        path, name = self.folder / TOKENIZER, self._name(TOKENIZER)
        check_tokenizer(path, values["vocab_size"], name)
        with without_panic(name):
            return PreTrainedTokenizerFast(
                tokenizer_file=str(path), clean_up_tokenization_spaces=False, **special
            )

    def config(self) -> Any:
        from transformers import CONFIG_MAPPING

        values = self.description()
        make = CONFIG_MAPPING[values["model_type"]]
        return make(**{key: each for key, each in values.items() if key not in _OWN_KEYS})

    def model_without_weights(self) -> Any:
        """Creates the model in float32, with random weights."""
        from transformers import AutoModel

        return AutoModel.from_config(self.config()).float()

    def model(self, dtype: Any = torch.float32) -> Any:
        from safetensors import safe_open
        from safetensors.torch import load_file, load_model

        model = self.model_without_weights()
        path = self.folder / WEIGHTS
        with safe_open(path, "pt") as file:
            names = file.keys()
        if not has_blocks(names):
            load_model(model, path)
            return model.eval()
        try:
            load_blocks(model, load_file(path))
        except ValueError as error:
            refuse(f"{self._name(WEIGHTS)} is damaged ({error})", REMEDY)
        return model.eval()

    def description(self) -> Dict[str, Any]:
        """Returns the contents of `config.json`."""
        for file in sorted(self.folder.iterdir()):
            if file.name not in (CONFIG, TOKENIZER, WEIGHTS):
                refuse(
                    f"the carried transformer `{self.folder.name}` has the file `{file.name[:80]}`, "
                    f"which is none of {CONFIG}, {TOKENIZER} and {WEIGHTS}",
                    REMEDY,
                )
        values = read_json(self.folder / CONFIG, self._name(CONFIG), remedy=REMEDY)
        _check_config(values, self._name(CONFIG))
        return dict(values)

    def _name(self, file: str) -> str:
        return f"`{file}` of the carried transformer `{self.folder.name}`"


def write_carried(transformer: Transformer, folder: Path, with_weights: bool) -> CarriedTransformer:
    """Writes a transformer to a new folder, which appears once all files are in it."""
    from safetensors.torch import save_file, save_model

    unfinished = folder.with_name(f".{folder.name}.unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir(parents=True)
    try:
        config, tokenizer = transformer.config(), transformer.tokenizer()
        (unfinished / CONFIG).write_text(json.dumps(description_of(transformer), indent=2))
        (unfinished / TOKENIZER).write_text(_rules(tokenizer), encoding="utf-8")
        if with_weights:
            model = transformer.model(dtype="auto")
            tensors = with_blocks(model)
            if has_blocks(tensors):
                # Tensors of a file may not share memory.
                separate = {name: each.clone() for name, each in tensors.items()}
                save_file(separate, unfinished / WEIGHTS, {"format": "pt"})
            else:
                save_model(model, str(unfinished / WEIGHTS), {"format": "pt"})
        carried = CarriedTransformer(unfinished, "")
        _check_same(tokenizer, carried.tokenizer())
        carried.config()
    except ConfigurationError as error:
        shutil.rmtree(unfinished)
        reason = str(error).removesuffix(f"; {REMEDY}")
        raise ConfigurationError(
            f"the transformer {transformer.folder} (`{config.model_type}`) cannot be put into an "
            f"archive ({reason}); choose another one"
        ) from None
    unfinished.rename(folder)
    return CarriedTransformer(folder, "")


def num_bytes_in_archive(transformer: Transformer) -> int:
    """Returns how many bytes the weights of a transformer take when it is carried."""
    return sum(each.nbytes for each in with_blocks(transformer.model(dtype="auto")).values())


def description_of(transformer: Transformer) -> Dict[str, Any]:
    """Returns the contents of `config.json` for a carried transformer."""
    config, tokenizer = transformer.config(), transformer.tokenizer()
    known = known_keys(config.model_type) if config.model_type in MODEL_TYPES else ()
    return {
        "model_type": config.model_type,
        "source": transformer.source,
        "special_tokens": {
            name: str(token)
            for name in _SPECIAL_TOKENS
            if (token := getattr(tokenizer, name, None))
        },
        **{key: each for key, each in config.to_dict().items() if key in known},
    }


@functools.cache
def known_keys(model_type: str) -> FrozenSet[str]:
    """Returns the settings that a model reads, according to its config class and its code."""
    from transformers import CONFIG_MAPPING, MODEL_MAPPING, PreTrainedConfig

    kind = CONFIG_MAPPING[model_type]
    shared = {each.name for each in dataclasses.fields(PreTrainedConfig)}
    models = MODEL_MAPPING[kind]
    first = models[0] if isinstance(models, tuple) else models
    code = inspect.getsource(importlib.import_module(first.__module__))
    named = re.findall(r'config(?:\.|, ")([a-z]\w*)', code)
    # A setting may be stored under another name than the code has.
    stored = kind.attribute_map.values()
    fields = (each.name for each in dataclasses.fields(kind))
    return frozenset({*named, *stored, *fields} - shared - _UNUSED)


def check_numbers(key: str, place: str, value: float, name: str, remedy: str = REMEDY) -> None:
    """Rejects a number in the setting `key` that is too large; `place` and `name` are for messages."""
    most = MAX_NUMBER
    if place.endswith(("rope_theta", "rotary_emb_base")):  # costs nothing
        most = MAX_BASE
    if key.endswith(("heads", "attention_window")):  # tables and padding of this size
        most = MAX_HEADS
    is_layers = key.endswith(("_layers", "_layer")) and isinstance(value, int)
    if not abs(value) <= most or (is_layers and value > MAX_LAYERS):
        refuse(f"{name} sets `{place[:80]}` to {str(value)[:80]!r}", remedy)


def _check_config(values: Any, name: str) -> None:
    model_type = values.get("model_type") if isinstance(values, dict) else None
    if model_type not in MODEL_TYPES:
        _refuse(
            f"{name} must name a kind of model that archives can carry as `model_type`; got "
            f"{model_type!r:.80}"
        )
    known = known_keys(model_type) | _OWN_KEYS
    for key, value in values.items():
        if key not in known:
            _refuse(f"{name} has `{key[:80]}`, which is not a setting of such a model")
        for place, each in leaves(value, key):
            if isinstance(each, (int, float)):
                check_numbers(key, place, each, name)
            is_text = isinstance(each, str) and key not in ("source", "special_tokens")
            if is_text and (not _TEXT.fullmatch(each) or ".." in each):
                _refuse(f"{name} sets `{place[:80]}` to {each[:80]!r}")
    num_pieces = values.get("vocab_size")
    if type(num_pieces) is not int or not 0 < num_pieces <= MAX_PIECES:
        _refuse(f"{name} sets `vocab_size` to more than {MAX_PIECES}, or to none")
    special = values.get("special_tokens") or {}
    if not isinstance(special, dict) or not set(special) <= set(_SPECIAL_TOKENS):
        _refuse(f"{name}: `special_tokens` may name {' and '.join(_SPECIAL_TOKENS)}")
    if not all(isinstance(each, str) and len(each) <= 100 for each in special.values()):
        _refuse(f"{name}: `special_tokens` must be short texts")


def _refuse(what: str) -> NoReturn:
    refuse(what, REMEDY)


def _rules(tokenizer: Any) -> str:
    """Returns a tokenizer as JSON, without the parts that only make batches or join words."""
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is None:
        raise ConfigurationError(
            f"its tokenizer `{type(tokenizer).__name__}` cannot be written as `{TOKENIZER}`"
        )
    rules = json.loads(backend.to_str())
    rules.update(truncation=None, padding=None, decoder=None)
    return json.dumps(rules, ensure_ascii=False)


#: Texts that a tokenizer must cut in the same way after it was written and read.
_SAMPLE = (
    "The café in Zürich isn't open – 12,345.67 km².", " a  b\tc", "東京 Москва 👩‍💻 ﬁ ①",
    "McDonald's [UNK] <mask>", "",
)  # fmt: skip


def _check_same(before: Any, after: Any) -> None:
    for text in _SAMPLE:
        for options in ({}, {"add_special_tokens": False}):
            one, other = (
                each(text, return_offsets_mapping=True, verbose=False, truncation=False, **options)
                for each in (before, after)
            )
            if any(one[name] != other[name] for name in ("input_ids", "offset_mapping")):
                raise ConfigurationError(
                    f"its tokenizer cuts {text!r} differently once it is written"
                )
    for name in ("unk_token_id", "pad_token_id"):
        if getattr(before, name) != getattr(after, name):
            raise ConfigurationError(f"its tokenizer has another `{name}` once it is written")
