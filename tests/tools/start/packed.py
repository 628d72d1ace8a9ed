"""A small BERT in the 4-bit format that `four_bits` reads, written by other means than ours."""

import io
import json
import struct

import numpy as np
from tokenizers import Tokenizer, models, pre_tokenizers, processors

PIECES = ["<s>", "<pad>", "</s>", "<unk>", "▁", "▁the", "▁猫", *"abcdehilmnorstu", "é", "猫"]
HIDDEN, INNER, LAYERS = 32, 64, 2
#: Pieces of the model that the tokenizer lacks, as in the real one.
NUM_PIECES = len(PIECES) + 3
MODULES = {"q": 1, "k": 1, "v": 1, "ao": 1, "aln": 0, "fi": 1, "fo": 1, "oln": 0}


def names_and_shapes():
    """Yields the names, shapes and kinds of all tensors."""
    yield "emb.word", (NUM_PIECES, HIDDEN), 1
    yield "emb.pos", (16, HIDDEN), 0
    yield "emb.type", (2, HIDDEN), 0
    yield from (("emb.ln.w", (HIDDEN,), 0), ("emb.ln.b", (HIDDEN,), 0))
    for layer in range(LAYERS):
        for module, kind in MODULES.items():
            num_out = INNER if module == "fi" else HIDDEN
            num_in = INNER if module == "fo" else HIDDEN
            yield f"l{layer}.{module}.w", (num_out, num_in) if kind else (HIDDEN,), kind
            yield f"l{layer}.{module}.b", (num_out,), 0


def random_tensors(seed=0):
    """Returns all tensors by their names in the file; matrices are numbers and scales of blocks."""
    draw = np.random.default_rng(seed)
    tensors = {}
    for name, shape, kind in names_and_shapes():
        if kind:
            numbers = draw.integers(0, 16, (int(np.prod(shape)) // 32, 32))
            tensors[name] = numbers, draw.uniform(-0.05, 0.05, len(numbers)).astype(np.float16)
        else:
            tensors[name] = draw.normal(size=shape).astype(np.float32)
    return tensors


def weights_of(tensors):
    """Returns the matrices as numbers, in one dimension, and all other tensors as they are."""
    return {
        name: each
        if isinstance(each, np.ndarray)
        else np.array([(n - 8) * s for row, s in zip(each[0], each[1].astype(np.float32)) for n in row])
        for name, each in tensors.items()
    }  # fmt: skip


def packed_file(tensors, magic=b"E5S1"):
    """Returns the contents of the file."""
    texts = [each.encode() for each in PIECES]
    file = io.BytesIO()
    sizes = HIDDEN, LAYERS, 4, INNER, NUM_PIECES, 16, 2, 1e-12, 32
    file.write(struct.pack("<4sI7ifi", magic, 1, *sizes))
    file.write(struct.pack("<5iQ", len(PIECES), 0, 2, 1, 3, len(b"".join(texts))))
    file.write(np.cumsum([0, *map(len, texts)]).astype("<u4").tobytes())
    file.write(np.zeros(len(PIECES), "<f4").tobytes() + b"".join(texts))
    file.write(struct.pack("<iI", 1, 9) + struct.pack("<IBI", 65, 1, 97))
    file.write(struct.pack("<i", len(tensors)))
    contents = {name: _content(each) for name, each in tensors.items()}
    place = file.tell() + sum(len(name) + 23 for name in tensors)
    for name, (kind, num, content) in contents.items():
        file.write(struct.pack("<H", len(name)) + name.encode())
        file.write(struct.pack("<BIQQ", kind, num, place, len(content)))
        place += len(content)
    file.write(b"".join(content for _, _, content in contents.values()))
    return file.getvalue()


def _content(tensor):
    if isinstance(tensor, np.ndarray):
        return 0, tensor.size, tensor.astype("<f4").tobytes()
    blocks = b"".join(
        scale.tobytes() + bytes(row[j] | row[j + 16] << 4 for j in range(16))
        for row, scale in zip(*tensor)
    )
    return 1, tensor[0].size, blocks


def tokenizer_file(pieces=PIECES):
    """Returns `tokenizer.json`."""
    scores = [(piece, -float(n)) for n, piece in enumerate(pieces)]
    tokenizer = Tokenizer(models.Unigram(scores, 3))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    frame = [("<s>", 0), ("</s>", 2)]
    tokenizer.post_processor = processors.TemplateProcessing("<s> $A </s>", special_tokens=frame)
    rules = json.loads(tokenizer.to_str())
    return json.dumps(rules, ensure_ascii=False).encode()
