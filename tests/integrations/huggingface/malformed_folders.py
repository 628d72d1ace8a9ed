"""Damages folders of Hugging Face at random, from parametrised kinds.

A kind is a function of a random generator and the files of a good folder, which it changes.
"""

import json
import pickle

#: The kinds of damage by name.
KINDS = {}
_VALUES = [
    *(None, True, -1, 0, 3, 10**7, 10**9, 2**63, 10**30, 0.5, 1e308, float("nan"), float("inf")),
    *("", "x", "../x", "\0", "\ud800", "1" * 5000, [], [[]], {}, {"a": 1}, [1] * 1000),
]
_JSON = ("config.json", "tokenizer.json", "tokenizer_config.json")
_DEEP = "[" * 100_000 + "]" * 100_000


def _kind(make):
    KINDS[make.__name__] = make
    return make


def _set(rng, value, wanted=None):
    """Puts a strange value somewhere into a JSON value; `wanted` chooses the first key."""
    if not isinstance(value, (dict, list)) or not value or (wanted is None and rng.random() < 0.1):
        return rng.choice(_VALUES)
    keys = list(value) if isinstance(value, dict) else range(len(value))
    key = wanted if wanted is not None else rng.choice(keys)
    value[key] = _set(rng, value[key])
    return value


def _changed(files, name, change):
    value = json.loads(files[name])
    files[name] = json.dumps(change(value) or value).encode()


@_kind
def missing(rng, files):
    del files[rng.choice(sorted(files))]


@_kind
def truncated(rng, files):
    name = rng.choice(sorted(files))
    files[name] = files[name][: rng.randrange(len(files[name]))]


@_kind
def flipped(rng, files):
    name = rng.choice(sorted(files))
    content = bytearray(files[name])
    for _ in range(rng.choice([1, 5, 50])):
        content[rng.randrange(min(len(content), 3000))] = rng.randrange(256)
    files[name] = bytes(content)


@_kind
def wrong_json(rng, files):
    values = [
        b"",
        b"[]",
        b"5",
        b"null",
        b'"x"',
        b"{}",
        b"{",
        b"\xff\xfe",
        _DEEP.encode(),
        b'{"a":' * 2000,
    ]
    files[rng.choice(_JSON)] = rng.choice(values)


@_kind
def wrong_setting(rng, files):
    _changed(files, "config.json", lambda value: _set(rng, value))


@_kind
def more_settings(rng, files):
    names = [
        *("quantization_config", "auto_map", "adapter", "text_config", "num_labels", "torch_dtype"),
        *("is_encoder_decoder", "tie_word_embeddings", "attn_implementation", "problem_type"),
        *("rope_scaling", "chunk_size_feed_forward", "pruned_heads", "architectures", "label2id"),
    ]
    more = {rng.choice(names): rng.choice(_VALUES) for _ in range(2)}
    _changed(files, "config.json", lambda value: value.update(more))


@_kind
def other_kind(rng, files):
    kinds = ["", "clip", "roberta", "deberta-v2", "t5", "longformer", "crf_token_classification", 5]
    _changed(files, "config.json", lambda value: value.update(model_type=rng.choice(kinds)))


@_kind
def large_model(rng, files):
    sizes = ["num_hidden_layers", "hidden_size", "vocab_size", "intermediate_size"]
    sizes += ["max_position_embeddings", "type_vocab_size", "num_attention_heads"]
    more = {rng.choice(sizes): rng.choice([500, 999, 10**5, 10**6, 10**7, 10**9])}
    _changed(files, "config.json", lambda value: value.update(more))


@_kind
def wrong_tags(rng, files):
    tags = [{"0": "O"}, {"a": "O"}, ["O"], {"-1": "O"}, {str(k): f"B-{k}" for k in range(20_000)}]
    more = {"id2label": rng.choice([*tags, *_VALUES])}
    _changed(files, "config.json", lambda value: value.update(more))


@_kind
def wrong_tokenizer(rng, files):
    part = rng.choice(["normalizer", "pre_tokenizer", "post_processor", "added_tokens", "padding"])

    def change(rules):
        if rng.random() < 0.5 and rules.get(part):
            return _set(rng, rules, part)
        return rules.update({part: rng.choice(_VALUES)})

    _changed(files, "tokenizer.json", change)


@_kind
def growing_tokenizer(rng, files):
    text = "a" * rng.choice([2, 10, 1000])
    parts = [{"type": "Replace", "pattern": {"String": "a"}, "content": text}] * rng.choice(
        [1, 9, 40]
    )
    nested = {"type": "Sequence", "normalizers": parts}
    for _ in range(rng.choice([0, 3, 30])):
        nested = {"type": "Sequence", "normalizers": [nested, *parts[:1]]}
    added = {"id": 5, "content": "aa", "normalized": True, "special": False}
    added |= dict.fromkeys(("single_word", "lstrip", "rstrip"), False)
    _changed(
        files, "tokenizer.json", lambda rules: rules.update(normalizer=nested, added_tokens=[added])
    )


@_kind
def padding_tokenizer(rng, files):
    padding = {"strategy": {"Fixed": rng.choice([10**6, 10**12])}, "direction": "Right"}
    padding |= {"pad_to_multiple_of": None, "pad_id": 0, "pad_type_id": 0, "pad_token": "x"}
    _changed(files, "tokenizer.json", lambda rules: rules.update(padding=padding))


@_kind
def wrong_tokenizer_setting(rng, files):
    names = ["tokenizer_class", "model_max_length", "added_tokens_decoder", "extra_special_tokens"]
    more = {rng.choice([*names, "cls_token", "auto_map", "unk_token"]): rng.choice(_VALUES)}
    _changed(files, "tokenizer_config.json", lambda value: value.update(more))


def _with_header(files, change):
    content = files["model.safetensors"]
    length = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + length])
    change(header)
    own = json.dumps(header).encode()
    files["model.safetensors"] = len(own).to_bytes(8, "little") + own + content[8 + length :]


@_kind
def wrong_tensor(rng, files):
    def change(header):
        name = rng.choice([each for each in header if each != "__metadata__"])
        what = rng.choice(["dtype", "shape", "data_offsets", "all", "name", "none"])
        if what == "all":
            header[name] = rng.choice(_VALUES)
        elif what == "name":
            header[name + rng.choice(["x", "\0"])] = header.pop(name)
        elif what == "none":
            del header[name]
        else:
            shapes = [[10**9], [2**40, 2**40], [-1], [], [3, 3], ["a"], [0]]
            others = ["F64", "F16", "I8", "Q4", None, [0, 1], [-1, 5], [10**12, 10**13]]
            header[name][what] = rng.choice(shapes if what == "shape" else others)

    _with_header(files, change)


@_kind
def long_header(rng, files):
    length = rng.choice([0, 1, 2**31, 2**63, 10**6])
    files["model.safetensors"] = length.to_bytes(8, "little") + files["model.safetensors"][8:]


@_kind
def wrong_shards(rng, files):
    names = [
        "../model.safetensors",
        "/etc/passwd",
        "/dev/zero",
        "x.safetensors",
        "",
        ".",
        5,
        None,
        [],
    ]
    names += ["a/b.safetensors", "config.json", "tokenizer.json", "\0.bin", "..\\x.bin"]
    own = rng.choice([{"a": rng.choice(names)}, {}, [], None, {"a": "s.safetensors", "b": "x.bin"}])
    files["s.safetensors"] = files.pop("model.safetensors")
    index = rng.choice([{"weight_map": own}, {"metadata": {}, "weight_map": own}, own])
    files["model.safetensors.index.json"] = json.dumps(index).encode()


@_kind
def wrong_pickle(rng, files):
    content = files.pop("model.safetensors")
    contents = [
        b"",
        content,
        pickle.dumps(print),
        pickle.dumps({"a": [1] * 1000}),
        b"PK\3\4" + content,
    ]
    files["pytorch_model.bin"] = rng.choice(contents)


@_kind
def adapter(rng, files):
    base = rng.choice(["/etc", "nobody/model", "../x", 5])
    files["adapter_config.json"] = json.dumps({"base_model_name_or_path": base}).encode()


def damaged(kind, rng, source, folder):
    """Writes a damaged copy of a good folder."""
    files = {path.name: path.read_bytes() for path in source.iterdir()}
    KINDS[kind](rng, files)
    folder.mkdir()
    for name, content in files.items():
        (folder / name).write_bytes(content)
