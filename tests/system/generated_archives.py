"""Generates archives that ask for much memory or time, or for what is not theirs: kinds with parameters.

A kind takes a random generator and the members of good archives, and returns the bytes of an archive.
"""

import functools
import gzip
import hashlib
import io
import json
import pickle
import pickletools
import random
import struct
import tarfile
import zipfile
from collections import OrderedDict
from typing import Any, Callable, Dict, List, Optional

import torch

Members = Dict[str, bytes]
Kind = Callable[[random.Random, Dict[str, Members]], bytes]

#: Kinds of archives by their names.
KINDS: Dict[str, Kind] = {}
_BIG = [10**5, 10**6, 10**7, 10**9, 2**31 - 1, 2**31, 2**40, 2**63, 10**30]
_BLOCK = 512


def _kind(make: Kind) -> Kind:
    KINDS[make.__name__] = make
    return make


def read_members(path: Any) -> Members:
    """Returns the files of an archive."""
    with tarfile.open(path) as archive:
        return {
            each.name: archive.extractfile(each).read()  # type: ignore[union-attr]
            for each in archive
            if each.isfile()
        }


def packed(members: Members, before: bytes = b"", after: bytes = b"", level: int = 6) -> bytes:
    """Returns the archive of some files, with checksums as an attacker makes them.

    Args:
        members: The files; the content of `meta.json` is kept if it is given under `meta!`.
        before: Raw blocks before the members.
        after: Raw blocks after them.
        level: The level of compression.
    """
    members = dict(members)
    meta = members.pop("meta!", None)
    members.pop("meta.json", None)
    checksums = {name: hashlib.sha256(each).hexdigest() for name, each in members.items()}
    if meta is None:
        meta = json.dumps({"version": "2.10.1", "checksums": checksums}).encode()
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for name, content in {**members, "meta.json": meta}.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
        archive.fileobj.write(after)  # type: ignore[union-attr]
    return gzip.compress(before + out.getvalue(), level)


def header(
    name: str, kind: bytes, content: bytes = b"", size: Optional[int] = None, link: str = ""
) -> bytes:
    """Returns a raw member of a tar file, which may lie about its size."""
    member = tarfile.TarInfo(name)
    member.type, member.linkname = kind, link
    member.size = 0
    block = bytearray(member.tobuf(tarfile.GNU_FORMAT, errors="surrogateescape")[:_BLOCK])
    number = len(content) if size is None else size
    block[124:136] = b"%011o\0" % number if number < 8**11 else b"\x80" + number.to_bytes(11, "big")
    block[148:156] = b" " * 8
    block[148:156] = b"%06o\0 " % sum(block)
    return bytes(block) + content + bytes(-len(content) % _BLOCK)


def _with_config(members: Members, change: Callable[[Dict[str, Any]], Any]) -> Members:
    config = json.loads(members["config.json"])
    return {**members, "config.json": json.dumps(change(config) or config).encode()}


def _changed(members: Members, end: str, change: Callable[[Any], Any]) -> Members:
    """Changes a JSON file whose name ends so."""
    (name,) = (each for each in members if each.endswith(end))
    value = json.loads(members[name])
    new = change(value)
    return {**members, name: json.dumps(value if new is None else new).encode()}


# Headers


@_kind
def a_pax_number_of_many_digits(draw, good):
    digits = b"9" * draw.choice([30, 5000, 90_000, 10**6])
    key = draw.choice([b"size", b"mtime", b"uid", b"GNU.sparse.size", b"path"])
    text = b" " + key + b"=" + digits + b"\n"
    length = len(text) + len(str(len(text) + 7))
    content = b"%d" % length + text
    kind = draw.choice([tarfile.XHDTYPE, tarfile.XGLTYPE])
    return packed(good["toy"], before=header("pax", kind, content))


@_kind
def a_pax_length_of_many_digits(draw, good):
    content = b"1" * draw.choice([30, 5000, 60_000, 10**6, 10**7]) + b" path=a\n"
    return packed(good["toy"], before=header("pax", tarfile.XHDTYPE, content))


@_kind
def many_pax_records(draw, good):
    content = b"".join(b"%d a%05d=\n" % (11, n) for n in range(draw.choice([1000, 5000, 200_000])))
    kind = draw.choice([tarfile.XHDTYPE, tarfile.XGLTYPE])
    return packed(good["toy"], before=header("pax", kind, content) * draw.choice([1, 50, 900]))


@_kind
def a_header_that_lies_about_its_size(draw, good):
    kind = draw.choice(
        [tarfile.XHDTYPE, tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK, b"0", b"S"]
    )
    return packed(good["toy"], before=header("big", kind, b"", draw.choice(_BIG[:-1])))


@_kind
def a_long_name(draw, good):
    part = draw.choice(["a", "a/", "../", "é", "\u202e", "\0", "/", "\\..\\", "\x1b[2J", "\udcff"])
    name = (part * draw.choice([100, 400, 5000, 30_000])).encode("utf-8", "surrogateescape")
    long = header("././@LongLink", tarfile.GNUTYPE_LONGNAME, name + b"\0")
    return packed(good["toy"], before=long + header("x", b"0", b"text"))


@_kind
def many_members(draw, good):
    kind = draw.choice([b"0", tarfile.DIRTYPE])
    number = draw.choice([900, 20_000, 60_000])
    name = draw.choice(["folder", "f{}", "vocabulary/f{}", "f/{}/a"])
    return packed(good["toy"], before=b"".join(header(name.format(n), kind) for n in range(number)))


@_kind
def links_and_devices(draw, good):
    kind = draw.choice(
        [b"1", b"2", b"3", b"4", b"5", b"6", b"7", b"S", b"V", b"M", b"A", b"x", b"K"]
    )
    name = draw.choice(
        ["vocabulary", "vocabulary/x.txt", "config.json", "weights.th", "a", ".", "fine_tuned"]
    )
    target = draw.choice(["/etc/passwd", "..", ".", "config.json", "vocabulary/../../x", "", name])
    raw = header(name, kind, draw.choice([b"", b"12345"]), link=target)
    return packed(good["toy"], **{draw.choice(["before", "after"]): raw})


@_kind
def zeros(draw, good):
    size = draw.choice([2**20, 2**26, 2**27, 2**28 - 2**22])
    name = draw.choice(
        (
            "x vocabulary/x.txt vocabulary/x config.json meta! weights.th vocabulary/tokens.txt"
        ).split()
    )
    content = draw.choice([b"\0", b"\n", b" ", b"a\n", b"[", b"{}", b"9"]) * size
    return packed({**good["toy"], name: content[:size]})


@_kind
def bytes_that_are_no_archive(draw, good):
    archive = bytearray(packed(good["toy"]))
    choice = draw.randrange(4)
    if choice == 0:
        return gzip.compress(draw.randbytes(draw.choice([10, 512, 10_000])))
    if choice == 1:
        return bytes(archive[: draw.randrange(len(archive))])
    if choice == 2:
        return b"\x1f\x8b\x08\x08" + bytes(6) + b"a" * 10**6
    for _ in range(20):
        archive[draw.randrange(len(archive))] ^= 1 << draw.randrange(8)
    return bytes(archive)


# JSON


@_kind
def deep_or_wide_json(draw, good):
    number = draw.choice([40, 100, 900, 10_000, 200_000, 2**19])
    text = draw.choice(
        [
            '{"a":' * number + "1" + "}" * number,
            "[" * number + "]" * number,
            "[" + "{}," * number + "{}]",
            "[" + "1e308," * number + "1]",
            json.dumps({str(n): n for n in range(min(number, 10**5))}),
            "9" * number,
            "-1e" + "9" * number,
            '"' + "\\ud800" * min(number, 10**5) + '"',
            "NaN",
        ]
    )
    place = draw.choice(["config.json", "meta!", "inside", "checksums"])
    if place == "inside":
        config = good["toy"]["config.json"].decode().rstrip()[:-1] + f', "more": {text}}}'
        return packed({**good["toy"], "config.json": config.encode()})
    if place == "checksums":
        return packed(
            {**good["toy"], "meta!": f'{{"version": "2.10.1", "checksums": {text}}}'.encode()}
        )
    return packed({**good["toy"], place: text.encode()})


@_kind
def a_number_in_the_config(draw, good):
    value = draw.choice(
        [
            *_BIG,
            *(-each for each in _BIG),
            1e9,
            1e308,
            float("inf"),
            float("nan"),
            0,
            -1,
            True,
            None,
            "1" * 5000,
        ]
    )
    members = good[draw.choice(list(good))]

    def change(config: Any) -> None:
        places: List[Any] = []

        def collect(each: Any) -> None:
            if isinstance(each, (dict, list)):
                for key in each if isinstance(each, dict) else range(len(each)):
                    if type(each[key]) in (int, float, bool):
                        places.append((each, key))
                    collect(each[key])

        collect([config["model"], config["dataset_reader"]])
        container, key = draw.choice(places)
        container[key] = value

    return packed(_with_config(members, change))


@_kind
def a_path_in_the_config(draw, good):
    path = draw.choice(
        [
            "/etc/passwd",
            "secret.txt",
            "../secret.txt",
            "file:///etc/passwd",
            "/proc/self/environ",
            "/dev/zero",
            "/dev/stdin",
            "/proc/self/root/etc/passwd",
            "http://127.0.0.1:9/x",
            "secret.h5",
            "(a.zip)#b",
            "secret.txt!x",
            "~/.bashrc",
            "/tmp",
            "hf://a/b",
            "memory://x",
            "\0",
            "a" * 5000,
            "/proc/kcore",
        ]
    )
    key = draw.choice(
        (
            "pretrained_file model_name directory archive_file weight_file options_file "
            "vocab_path serialization_dir embedding_sources gguf_file initializer "
            "cache_folder"
        ).split()
    )
    kind = draw.choice(
        (
            "embedding word_vectors lexicon elmo_token_embedder pretrained_transformer "
            "pretrained_transformer_mismatched frozen_transformer transformer"
        ).split()
    )
    embedder = {"type": kind, "embedding_dim": 2, "names": ["a"], key: path}
    embedder = {
        name: each
        for name, each in embedder.items()
        if draw.random() < 0.9 or name in ("type", key)
    }

    def change(config: Any) -> None:
        if draw.random() < 0.3:
            config["vocabulary"] = {"type": "from_files", key: path}
        elif draw.random() < 0.3:
            config["dataset_reader"][key] = path
        else:
            member = {
                **config["model"],
                "text_field_embedder": {"token_embedders": {"t": embedder}},
            }
            config["model"] = {"type": "sequence_tagger_ensemble", "members": [member]}

    return packed(_with_config(good["toy"], change))


@_kind
def many_layers(draw, good):
    number = draw.choice([100, 3000, 8000])

    def change(config: Any) -> None:
        draw.choice(
            [
                lambda: config["model"].update(
                    encoder={
                        "type": "stacked_bidirectional_lstm",
                        "input_size": 1,
                        "hidden_size": 1,
                        "num_layers": number,
                    }
                ),
                lambda: config.update(
                    model={
                        "type": "sequence_tagger_ensemble",
                        "members": [config["model"]] * min(number, 800),
                    }
                ),
                lambda: config["model"].update(
                    encoder={
                        "type": "feedforward",
                        "feedforward": {
                            "input_dim": 1,
                            "num_layers": number,
                            "hidden_dims": 1,
                            "activations": "relu",
                        },
                    }
                ),
                lambda: config["model"].update(
                    encoder={
                        "type": "lstm",
                        "input_size": 1,
                        "hidden_size": number,
                        "num_layers": number,
                    }
                ),
            ]
        )()

    return packed(_with_config(good["toy"], change))


@_kind
def jsonnet(draw, good):
    text = draw.choice(
        [
            "importstr '/etc/passwd'",
            "import 'a.jsonnet'",
            "std.extVar('HOME')",
            "std.repeat('a', 1000000000)",
            "local a = b, b = a; a",
            "error 'a'",
            "function(x) x",
        ]
    )
    config = good["toy"]["config.json"].decode().rstrip()[:-1] + f', "more": {text}}}'
    return packed({**good["toy"], "config.json": draw.choice([config, text]).encode()})


@_kind
def a_vocabulary(draw, good):
    name = draw.choice(
        "labels.txt tokens.txt x x.json ../x.txt non_padded_namespaces.txt *x.txt".split()
    )
    number = draw.choice([10, 10**5, 2 * 10**6, 6 * 10**6])
    content = draw.choice(
        [
            lambda: b"\n" * number,
            lambda: b"\n".join(b"%x" % n for n in range(number)),
            lambda: b"\xff" * number,
            lambda: "\U0001f600".encode() * number,
            lambda: b"\r" * number,
            lambda: b"a\n\n" * number,
        ]
    )()
    return packed({**good["toy"], f"vocabulary/{name}": content}, level=1)


# Weights


class _Reduce:
    def __init__(self, function: Any, *arguments: Any) -> None:
        self._value = function, arguments

    def __reduce__(self) -> Any:
        return self._value


@_kind
def a_pickle_that_asks_for_memory(draw, good):
    value = draw.choice(
        [
            _Reduce(bytearray, 6 * 10**9),
            _Reduce(print, "hostile"),
            _Reduce(bytes, 6 * 10**9),
            _Reduce(torch.zeros, 10**9),
            _Reduce(torch.Size, [10**9] * 3),
            _Reduce(OrderedDict, [("a", 1)] * 10**5),
            _Reduce(set, list(range(10**5))),
            _Reduce(getattr, OrderedDict, "x"),
            _Reduce(torch.device, "cuda:99999"),
            [[]] * 10**6,
            {"a": b"b" * 10**6},
            2**80000,
            functools.reduce(lambda inner, _: [inner], range(300), []),
        ]
    )
    protocol = draw.choice([2, 3, 4, 5])
    return packed({**good["toy"], "weights.th": _weights(draw, pickle.dumps(value, protocol))})


@_kind
def a_pickle_of_opcodes(draw, good):
    codes = [each.code.encode("latin-1") for each in pickletools.opcodes]
    arguments = [b"", b"\xff\xff\xff\x7f", b"\x01", b"a\n", b"os\nsystem\n"]
    number = draw.choice([3, 30, 300])
    some = b"".join(draw.choice(codes) + draw.choice(arguments) for _ in range(number))
    many = draw.choice([b"]", b"}", b"(", b")", b"N", b"]0", b"X\0\0\0\0"]) * draw.choice(
        [10**5, 2 * 10**6, 10**7]
    )
    return packed(
        {
            **good["toy"],
            "weights.th": _weights(draw, b"\x80\x02" + draw.choice([some, many]) + b"."),
        }
    )


def _weights(draw: random.Random, description: bytes, records: Optional[Members] = None) -> bytes:
    if draw.random() < 0.3:
        start = [
            pickle.dumps(each, 2)
            for each in (0x1950A86A20F9469CFC6C, 1001, {"little_endian": True})
        ]
        return b"".join([*start, description, pickle.dumps([], 2)])
    out = io.BytesIO()
    compression = draw.choice([zipfile.ZIP_STORED] * 4 + [zipfile.ZIP_DEFLATED])
    with zipfile.ZipFile(out, "w", compression) as archive:
        archive.writestr("archive/data.pkl", description)
        archive.writestr("archive/version", "3\n")
        archive.writestr("archive/byteorder", "little")
        for name, content in (records or {"archive/data/0": bytes(16)}).items():
            archive.writestr(name, content)
    return out.getvalue()


@_kind
def tensors_that_lie(draw, good):
    """Says other things of the storages and the tensors than there are."""
    number = draw.choice([1, 4, 10**6, 10**9, 2**40, 2**62])
    size = draw.choice(
        [(4,), (number,), (number, number), (-1,), (1,) * 100, (0, number), (2**31,) * 4]
    )
    stride = draw.choice([(1,) * len(size), (0,) * len(size), (-1,) * len(size)])
    stored = draw.choice([4, number])

    storage = object()

    class Pickler(pickle.Pickler):
        def persistent_id(self, value: Any) -> Any:
            # The numbers of the storage are those of a file.
            return ("storage", torch.FloatStorage, "0", "cpu", stored) if value is storage else None

    tensor = _Reduce(
        torch._utils._rebuild_tensor_v2,
        storage,
        draw.choice([0, number]),
        size,
        stride,
        False,
        OrderedDict(),
    )
    out = io.BytesIO()
    names = list(torch.load(io.BytesIO(good["toy"]["weights.th"]), weights_only=True))
    Pickler(out, 2).dump(dict.fromkeys(names, tensor))
    return packed({**good["toy"], "weights.th": _weights(draw, out.getvalue())})


@_kind
def a_zip_of_many_members(draw, good):
    number = draw.choice([100, 20_000, 60_000])
    records = {f"archive/data/{n}": b"" for n in range(number)}
    content = _weights(draw, pickle.dumps({}, 2), records)
    if draw.random() < 0.3:  # Its directory lies elsewhere.
        end = struct.pack(
            "<4s4H2IH",
            b"PK\5\6",
            0,
            0,
            65535,
            65535,
            draw.choice([0, 2**31]),
            draw.choice([0, 7]),
            0,
        )
        content = content[:-22] + end
    return packed({**good["toy"], "weights.th": content})


@_kind
def other_weights(draw, good):
    """Weights of other names, shapes and values, and thousands of them."""
    weights = torch.load(io.BytesIO(good["toy"]["weights.th"]), weights_only=True)
    choice = draw.randrange(5)
    if choice == 0:
        weights = {name: torch.zeros(1).expand(10**9) for name in weights}
    elif choice == 1:
        weights = {
            name: torch.full_like(each.float(), float("nan")) for name, each in weights.items()
        }
    elif choice == 2:
        shared = torch.zeros(1)
        weights = {f"{'x' * 50}{n}": shared for n in range(draw.choice([1000, 15_000, 30_000]))}
    elif choice == 3:
        weights = {
            name: each.to_sparse() if each.dim() == 2 else each for name, each in weights.items()
        }
    else:
        weights = {name: each.reshape(-1)[:1].clone() for name, each in weights.items()}
    out = io.BytesIO()
    torch.save(weights, out, _use_new_zipfile_serialization=draw.random() < 0.7)
    return packed({**good["toy"], "weights.th": out.getvalue()})


# Transformers


@_kind
def a_setting_of_a_transformer(draw, good):
    kind = draw.choice(["fine-tuned", "frozen"])
    value = draw.choice(
        [
            *_BIG,
            0,
            -1,
            1e9,
            float("nan"),
            None,
            "../x",
            "/etc/passwd",
            "a" * 10**5,
            [1] * 10**5,
            {"a": {"b": 1}},
            "gelu",
            True,
            {str(n): "x" for n in range(10**4)},
        ]
    )

    def change(config: Any) -> None:
        other = (
            "num_labels auto_map gguf_file attn_implementation quantization_config id2label "
            "_name_or_path torch_dtype rope_scaling source special_tokens "
            "chunk_size_feed_forward _attn_implementation per_layer_config num_hidden_layers "
            "problem_type"
        ).split()
        config[draw.choice([*config, *other])] = value

    return packed(_changed(good[kind], "/config.json", change))


@_kind
def another_kind_of_transformer(draw, good):
    kind = draw.choice(["fine-tuned", "frozen"])
    other = draw.choice(
        [
            "roberta",
            "deberta-v2",
            "t5",
            "longformer",
            "gpt2",
            "clip",
            "encoder-decoder",
            "llama",
            "modernbert",
            "albert",
            "timm_wrapper",
            "a/b",
            "",
            None,
            5,
            "mobilebert",
        ]
    )
    return packed(
        _changed(good[kind], "/config.json", lambda config: config.update(model_type=other))
    )


@_kind
def another_file_of_a_transformer(draw, good):
    kind, parent = draw.choice([("fine-tuned", "fine_tuned"), ("frozen", "transformers")])
    file = draw.choice(
        (
            "tokenizer_config.json pytorch_model.bin modeling.py vocab.txt model.gguf "
            "chat_template.jinja model.safetensors.index.json generation_config.json a/b.json "
            ".hidden config.json.bak"
        ).split()
    )
    text = draw.choice([b"{}", b"a", b'{"fast_tokenizer_files": ["../../x"]}'])
    return packed({**good[kind], f"{parent}/transformer/{file}": text})


@_kind
def a_part_of_a_tokenizer(draw, good):
    kind = draw.choice(["fine-tuned", "frozen"])
    many = draw.choice([20, 1000, 20_000])
    text = "x" * draw.choice([10, 1000, 10**5])
    replace = {"type": "Replace", "pattern": {"String": "a"}, "content": text}
    table = draw.choice(["", "AAAA", "AAAAAA" * many, "/////w==", "gAAAAA" + "A" * many])
    normalizers = [
        {"type": "Sequence", "normalizers": [replace] * draw.choice([1, 3, 50])},
        {"type": "Replace", "pattern": {"Regex": "(a*)*b"}, "content": ""},
        {"type": "Replace", "pattern": {"String": ""}, "content": "b"},
        {"type": "Prepend", "prepend": text},
        {"type": "Sequence", "normalizers": [{"type": "Prepend", "prepend": "aaaa"}] * many},
        {"type": "Sequence", "normalizers": [{"type": "ByteLevel"}] * 40},
        {"type": "Sequence", "normalizers": [{"type": "NFKD"}] * 40},
        {"type": "Precompiled", "precompiled_charsmap": table},
        {"type": "Unknown"},
        {"type": "Sequence", "normalizers": []},
        functools.reduce(
            lambda inner, _: {"type": "Sequence", "normalizers": [inner]},
            range(200),
            {"type": "NFC"},
        ),
    ]
    pre_tokenizers = [
        {
            "type": "Split",
            "pattern": {"Regex": "(x+x+)+y"},
            "behavior": "Isolated",
            "invert": False,
        },
        {
            "type": "Sequence",
            "pretokenizers": [
                {
                    "type": "ByteLevel",
                    "add_prefix_space": True,
                    "trim_offsets": True,
                    "use_regex": True,
                }
            ]
            * 30,
        },
        {"type": "Metaspace", "replacement": "ab", "prepend_scheme": "always", "split": True},
        {"type": "CharDelimiterSplit", "delimiter": "a"},
    ]
    piece = {"SpecialToken": {"id": "[CLS]", "type_id": 0}}
    sequence = {"Sequence": {"id": "A", "type_id": 0}}
    post_processors = [
        {
            "type": "TemplateProcessing",
            "single": [*[piece] * many, sequence],
            "pair": [sequence],
            "special_tokens": {"[CLS]": {"id": "[CLS]", "ids": [2], "tokens": ["[CLS]"]}},
        },
        {
            "type": "TemplateProcessing",
            "single": [piece, *[sequence] * many],
            "pair": [sequence],
            "special_tokens": {
                "[CLS]": {"id": "[CLS]", "ids": [2] * many, "tokens": ["[CLS]"] * many}
            },
        },
        {
            "type": "Sequence",
            "processors": [{"type": "BertProcessing", "sep": ["[SEP]", 3], "cls": ["[CLS]", 2]}]
            * many,
        },
        {"type": "BertProcessing", "sep": ["[SEP]", 10**9], "cls": ["[CLS]", 2**32 - 1]},
    ]
    added = {
        "single_word": False,
        "lstrip": False,
        "rstrip": False,
        "normalized": True,
        "special": False,
    }
    others = [
        (
            "padding",
            {
                "strategy": {"Fixed": draw.choice(_BIG[:5])},
                "direction": "Right",
                "pad_to_multiple_of": None,
                "pad_id": 0,
                "pad_type_id": 0,
                "pad_token": "[PAD]",
            },
        ),
        (
            "padding",
            {
                "strategy": "BatchLongest",
                "direction": "Right",
                "pad_to_multiple_of": 10**9,
                "pad_id": 0,
                "pad_type_id": 0,
                "pad_token": "[PAD]",
            },
        ),
        (
            "truncation",
            {"direction": "Right", "max_length": 0, "strategy": "LongestFirst", "stride": 10**9},
        ),
        ("added_tokens", [{"id": 5 + n, "content": f"{text}{n}", **added} for n in range(50)]),
        ("added_tokens", [{"id": draw.choice([0, 10**9, -1, 1.5]), "content": "a", **added}]),
        ("added_tokens", [{"id": n, "content": "", **added} for n in range(many)]),
        ("decoder", {"type": "WordPiece", "prefix": text, "cleanup": True}),
        (
            "model",
            {
                "type": "Unigram",
                "unk_id": draw.choice([0, 10**9, None]),
                "vocab": [["a", float("nan")]] * many,
            },
        ),
        (
            "model",
            {"type": "Unigram", "unk_id": 0, "vocab": [["a" * n, 0.0] for n in range(1, 400)]},
        ),
        (
            "model",
            {
                "type": "BPE",
                "vocab": {"a": 0, "b": 10**9},
                "merges": [["a", "b"]] * many,
                "dropout": 0.5,
            },
        ),
        (
            "model",
            {
                "type": "WordPiece",
                "vocab": {"a": 0},
                "unk_token": text,
                "continuing_subword_prefix": text,
                "max_input_chars_per_word": 10**9,
            },
        ),
        (
            "model",
            {"type": "WordLevel", "vocab": {str(n): n for n in range(many)}, "unk_token": "x"},
        ),
        ("model", {"type": "Unigram", "vocab": []}),
        ("model", []),
        ("version", text),
        ("unknown", text),
    ]
    place, value = draw.choice(
        [
            *(("normalizer", each) for each in normalizers),
            *(("pre_tokenizer", each) for each in pre_tokenizers),
            *(("post_processor", each) for each in post_processors),
            *others,
        ]
    )
    return packed(
        _changed(good[kind], "/tokenizer.json", lambda rules: rules.update({place: value}))
    )


@_kind
def a_large_tokenizer(draw, good):
    kind = draw.choice(["fine-tuned", "frozen"])
    number = draw.choice([10**5, 10**6, 5 * 10**6])
    text = draw.choice(
        [
            "[" + "[]," * number + "[]]",
            '{"model":{"type":"Unigram","vocab":[' + '["",0],' * number + '["a",0]]}}',
            " " * 10 * number,
            "[" * number,
            '{"a":"' + "\\u0000" * number + '"}',
        ]
    )
    members = dict(good[kind])
    if draw.random() < 0.5:
        members = _changed(
            members,
            "/config.json",
            lambda config: config.update(vocab_size=draw.choice([500_000, 10**7])),
        )
    (name,) = (each for each in members if each.endswith("/tokenizer.json"))
    return packed({**members, name: text.encode()})


@_kind
def other_tensors_of_a_transformer(draw, good):
    members = dict(good["frozen"])
    (name,) = (each for each in members if each.endswith("/model.safetensors"))
    size = int.from_bytes(members[name][:8], "little")
    heading = json.loads(members[name][8 : 8 + size])
    key = draw.choice([each for each in heading if each != "__metadata__"])
    choice = draw.randrange(5)
    if choice == 0:
        heading[key]["shape"] = [draw.choice(_BIG), draw.choice([0, 1, 10**9])]
    elif choice == 1:
        heading[key]["data_offsets"] = [0, draw.choice(_BIG)]
    elif choice == 2:
        heading.update(
            {f"x{n}": {"dtype": "F32", "shape": [0], "data_offsets": [0, 0]} for n in range(50_000)}
        )
    elif choice == 3:
        del heading[key]
    text = json.dumps(heading).encode()
    length = draw.choice([2**63, 10**8, 0]) if choice == 4 else len(text)
    return packed(
        {**members, name: length.to_bytes(8, "little") + text + members[name][8 + size :]}
    )
