"""Generates archives that need much memory or time, or reach for other files, from parametrised kinds.

A kind is a function of a random generator and the members of good archives that returns an archive.
"""

import functools
import gzip
import hashlib
import io
import json
import pickle
import pickletools
import struct
import tarfile
import zipfile
from collections import OrderedDict

import torch

#: The kinds of archives by name.
KINDS = {}
_BIG = [10**5, 10**6, 10**7, 10**9, 2**31 - 1, 2**31, 2**40, 2**63, 10**30]
_NO_NUMBERS = [1e9, 1e308, float("inf"), float("nan"), 0, -1, True, None, "1" * 5000]
_BLOCK = 512


def _kind(make):
    KINDS[make.__name__] = make
    return make


def read_members(path):
    """Returns the files of an archive."""
    with tarfile.open(path) as archive:
        return {each.name: archive.extractfile(each).read() for each in archive if each.isfile()}


def packed(members, before=b"", after=b"", level=6):
    """Packs files into an archive with valid checksums, as an attacker would.

    Args:
        members: The files. `meta!` gives the content of `meta.json` as it is.
        before: Raw blocks to put before the members.
        after: Raw blocks to put after the members.
        level: The compression level.
    """
    files = {name: each for name, each in members.items() if name not in ("meta!", "meta.json")}
    checksums = {name: hashlib.sha256(each).hexdigest() for name, each in files.items()}
    own = json.dumps({"version": "2.10.1", "checksums": checksums}).encode()
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for name, content in {**files, "meta.json": members.get("meta!", own)}.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
        archive.fileobj.write(after)
    return gzip.compress(before + out.getvalue(), level)


def header(name, kind, content=b"", size=None, link=""):
    """Returns a raw member of a tar file, which may lie about its size."""
    member = tarfile.TarInfo(name)
    member.type, member.linkname, member.size = kind, link, 0
    block = bytearray(member.tobuf(tarfile.GNU_FORMAT, errors="surrogateescape")[:_BLOCK])
    number = len(content) if size is None else size
    block[124:136] = b"%011o\0" % number if number < 8**11 else b"\x80" + number.to_bytes(11, "big")
    block[148:156] = b" " * 8
    block[148:156] = b"%06o\0 " % sum(block)
    return bytes(block) + content + bytes(-len(content) % _BLOCK)


def _with_json(members, end, change):
    """Changes the JSON file with this name, or else with a name that ends like this."""
    name = end if end in members else next(each for each in members if each.endswith(end))
    value = json.loads(members[name])
    change(value)
    return packed({**members, name: json.dumps(value).encode()})


def _of_type(kind, **settings):
    return {"type": kind, **settings}


def _transformer(draw, good):
    return good[draw.choice(["fine-tuned", "frozen"])]


# Headers


@_kind
def a_pax_number_of_many_digits(draw, good):
    digits = b"9" * draw.choice([30, 5000, 90_000, 10**6])
    key = draw.choice([b"size", b"mtime", b"uid", b"GNU.sparse.size", b"path"])
    text = b" " + key + b"=" + digits + b"\n"
    content = b"%d" % (len(text) + len(str(len(text) + 7))) + text
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
    names = [tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK]
    kind = draw.choice([tarfile.XHDTYPE, *names, b"0", b"S"])
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
    kind = draw.choice("1 2 3 4 5 6 7 S V M A x K".split()).encode()
    names = "vocabulary vocabulary/x.txt config.json weights.th a . fine_tuned"
    name = draw.choice(names.split())
    target = draw.choice(["/etc/passwd", "..", ".", "config.json", "vocabulary/../../x", "", name])
    raw = header(name, kind, draw.choice([b"", b"12345"]), link=target)
    return packed(good["toy"], **{draw.choice(["before", "after"]): raw})


@_kind
def zeros(draw, good):
    size = draw.choice([2**20, 2**26, 2**27, 2**28 - 2**22])
    names = "x vocabulary/x.txt vocabulary/x config.json meta! weights.th vocabulary/tokens.txt"
    name = draw.choice(names.split())
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


def _with_more(members, text):
    """Adds a field with this text to the config."""
    config = members["config.json"].decode().rstrip()[:-1] + f', "more": {text}}}'
    return packed({**members, "config.json": config.encode()})


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
        return _with_more(good["toy"], text)
    if place == "checksums":
        place, text = "meta!", f'{{"version": "2.10.1", "checksums": {text}}}'
    return packed({**good["toy"], place: text.encode()})


@_kind
def a_number_in_the_config(draw, good):
    value = draw.choice([*_BIG, *(-each for each in _BIG), *_NO_NUMBERS])

    def change(config):
        places = []

        def collect(each):
            if isinstance(each, (dict, list)):
                for key in each if isinstance(each, dict) else range(len(each)):
                    if type(each[key]) in (int, float, bool):
                        places.append((each, key))
                    collect(each[key])

        collect([config["model"], config["dataset_reader"]])
        container, key = draw.choice(places)
        container[key] = value

    return _with_json(good[draw.choice(list(good))], "config.json", change)


_PATHS = (
    "/etc/passwd secret.txt ../secret.txt file:///etc/passwd /proc/self/environ /dev/zero /dev/stdin "
    "/proc/self/root/etc/passwd http://127.0.0.1:9/x secret.h5 (a.zip)#b secret.txt!x ~/.bashrc /tmp "
    "hf://a/b memory://x /proc/kcore"
)
_KEYS_OF_PATHS = (
    "pretrained_file model_name directory archive_file weight_file options_file vocab_path "
    "serialization_dir embedding_sources gguf_file initializer cache_folder"
)
_EMBEDDERS = (
    "embedding word_vectors lexicon elmo_token_embedder pretrained_transformer "
    "pretrained_transformer_mismatched frozen_transformer transformer"
)


@_kind
def a_path_in_the_config(draw, good):
    path = draw.choice([*_PATHS.split(), "\0", "a" * 5000])
    key, kind = draw.choice(_KEYS_OF_PATHS.split()), draw.choice(_EMBEDDERS.split())
    others = {"embedding_dim": 2, "names": ["a"]}
    kept = {name: each for name, each in others.items() if draw.random() < 0.9}
    embedder = _of_type(kind, **kept, **{key: path})

    def change(config):
        if draw.random() < 0.3:
            config["vocabulary"] = _of_type("from_files", **{key: path})
        elif draw.random() < 0.3:
            config["dataset_reader"][key] = path
        else:
            embedders = {"token_embedders": {"t": embedder}}
            member = {**config["model"], "text_field_embedder": embedders}
            config["model"] = _of_type("sequence_tagger_ensemble", members=[member])

    return _with_json(good["toy"], "config.json", change)


@_kind
def many_layers(draw, good):
    number = draw.choice([100, 3000, 8000])
    deep = {"input_dim": 1, "num_layers": number, "hidden_dims": 1, "activations": "relu"}
    sizes = {"input_size": 1, "num_layers": number}
    encoder = draw.choice(
        [
            None,
            _of_type("stacked_bidirectional_lstm", **sizes, hidden_size=1),
            _of_type("feedforward", feedforward=deep),
            _of_type("lstm", **sizes, hidden_size=number),
        ]
    )

    def change(config):
        if encoder is None:
            members = [config["model"]] * min(number, 800)
            config["model"] = _of_type("sequence_tagger_ensemble", members=members)
        else:
            config["model"]["encoder"] = encoder

    return _with_json(good["toy"], "config.json", change)


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
    if draw.random() < 0.5:
        return _with_more(good["toy"], text)
    return packed({**good["toy"], "config.json": text.encode()})


@_kind
def a_vocabulary(draw, good):
    names = "labels.txt tokens.txt x x.json ../x.txt non_padded_namespaces.txt *x.txt"
    name = draw.choice(names.split())
    number = draw.choice([10, 10**5, 2 * 10**6, 6 * 10**6])
    part = draw.choice([b"\n", None, b"\xff", "\U0001f600".encode(), b"\r", b"a\n\n"])
    content = b"\n".join(b"%x" % n for n in range(number)) if part is None else part * number
    return packed({**good["toy"], f"vocabulary/{name}": content}, level=1)


# Weights


class Reduced:
    """Is pickled as a function call."""

    def __init__(self, function, *arguments):
        self._value = function, arguments

    def __reduce__(self):
        return self._value


def pickled_tensor(names, size, stride, offset, stored):
    """Pickles tensors with these names in one storage that claims to have `stored` numbers."""
    storage, out = object(), io.BytesIO()

    class Pickler(pickle.Pickler):
        def persistent_id(self, value):
            # The numbers of the storage are in a separate file.
            return ("storage", torch.FloatStorage, "0", "cpu", stored) if value is storage else None

    rebuild, empty = torch._utils._rebuild_tensor_v2, OrderedDict()
    tensor = Reduced(rebuild, storage, offset, size, stride, False, empty)
    Pickler(out, 2).dump(dict.fromkeys(names, tensor))
    return out.getvalue()


def _with_weights(draw, good, description, records=None):
    """Replaces the weights by a description of tensors, in the old or the new format."""
    if draw.random() < 0.3:
        start = (0x1950A86A20F9469CFC6C, 1001, {"little_endian": True})
        parts = [*(pickle.dumps(each, 2) for each in start), description, pickle.dumps([], 2)]
        return packed({**good["toy"], "weights.th": b"".join(parts)})
    out = io.BytesIO()
    compression = draw.choice([zipfile.ZIP_STORED] * 4 + [zipfile.ZIP_DEFLATED])
    files = {"data.pkl": description, "version": b"3\n", "byteorder": b"little"}
    with zipfile.ZipFile(out, "w", compression) as archive:
        for name, content in {**files, **(records or {"data/0": bytes(16)})}.items():
            archive.writestr(f"archive/{name}", content)
    content = out.getvalue()
    if records and draw.random() < 0.3:  # Put its directory elsewhere.
        end = 0, 0, 65535, 65535, draw.choice([0, 2**31]), draw.choice([0, 7]), 0
        content = content[:-22] + struct.pack("<4s4H2IH", b"PK\5\6", *end)
    return packed({**good["toy"], "weights.th": content})


@_kind
def a_pickle_that_asks_for_memory(draw, good):
    value = draw.choice(
        [
            Reduced(bytearray, 6 * 10**9),
            Reduced(print, "hostile"),
            Reduced(bytes, 6 * 10**9),
            Reduced(torch.zeros, 10**9),
            Reduced(torch.Size, [10**9] * 3),
            Reduced(OrderedDict, [("a", 1)] * 10**5),
            Reduced(set, list(range(10**5))),
            Reduced(getattr, OrderedDict, "x"),
            Reduced(torch.device, "cuda:99999"),
            [[]] * 10**6,
            {"a": b"b" * 10**6},
            2**80000,
            functools.reduce(lambda inner, _: [inner], range(300), []),
        ]
    )
    return _with_weights(draw, good, pickle.dumps(value, draw.choice([2, 3, 4, 5])))


@_kind
def a_pickle_of_opcodes(draw, good):
    codes = [each.code.encode("latin-1") for each in pickletools.opcodes]
    arguments = [b"", b"\xff\xff\xff\x7f", b"\x01", b"a\n", b"os\nsystem\n"]
    number = draw.choice([3, 30, 300])
    some = b"".join(draw.choice(codes) + draw.choice(arguments) for _ in range(number))
    number = draw.choice([10**5, 2 * 10**6, 10**7])
    many = draw.choice([b"]", b"}", b"(", b")", b"N", b"]0", b"X\0\0\0\0"]) * number
    return _with_weights(draw, good, b"\x80\x02" + draw.choice([some, many]) + b".")


@_kind
def tensors_that_lie(draw, good):
    """Makes false claims about storages and tensors."""
    number = draw.choice([1, 4, 10**6, 10**9, 2**40, 2**62])
    sizes = [(4,), (number,), (number, number), (-1,), (1,) * 100, (0, number), (2**31,) * 4]
    size = draw.choice(sizes)
    stride = draw.choice([1, 0, -1])
    offset, stored = draw.choice([0, number]), draw.choice([4, number])
    names = torch.load(io.BytesIO(good["toy"]["weights.th"]), weights_only=True)
    description = pickled_tensor(names, size, (stride,) * len(size), offset, stored)
    return _with_weights(draw, good, description)


@_kind
def a_zip_of_many_members(draw, good):
    records = {f"data/{n}": b"" for n in range(draw.choice([100, 20_000, 60_000]))}
    return _with_weights(draw, good, pickle.dumps({}, 2), records)


@_kind
def other_weights(draw, good):
    """Weights with other names, shapes and values, up to thousands of them."""
    weights = torch.load(io.BytesIO(good["toy"]["weights.th"]), weights_only=True)
    change = draw.choice(
        [
            None,
            lambda each: torch.zeros(1).expand(10**9),
            lambda each: torch.full_like(each.float(), float("nan")),
            lambda each: each.to_sparse() if each.dim() == 2 else each,
            lambda each: each.reshape(-1)[:1].clone(),
        ]
    )
    if change is None:
        number = draw.choice([1000, 15_000, 30_000])
        weights = dict.fromkeys((f"{'x' * 50}{n}" for n in range(number)), torch.zeros(1))
    else:
        weights = {name: change(each) for name, each in weights.items()}
    out = io.BytesIO()
    torch.save(weights, out, _use_new_zipfile_serialization=draw.random() < 0.7)
    return packed({**good["toy"], "weights.th": out.getvalue()})


# Transformers

_SETTINGS = (
    "num_labels auto_map gguf_file attn_implementation quantization_config id2label _name_or_path "
    "torch_dtype rope_scaling source special_tokens chunk_size_feed_forward _attn_implementation "
    "per_layer_config num_hidden_layers problem_type"
)
_KINDS_OF_TRANSFORMERS = (
    "roberta deberta-v2 t5 longformer gpt2 clip encoder-decoder llama modernbert albert timm_wrapper "
    "a/b mobilebert"
)
_FILES = (
    "tokenizer_config.json pytorch_model.bin modeling.py vocab.txt model.gguf chat_template.jinja "
    "model.safetensors.index.json generation_config.json a/b.json .hidden config.json.bak"
)


@_kind
def a_setting_of_a_transformer(draw, good):
    texts = ["../x", "/etc/passwd", "a" * 10**5, "gelu"]
    objects = [[1] * 10**5, {"a": {"b": 1}}, {str(n): "x" for n in range(10**4)}]
    value = draw.choice([*_BIG, 0, -1, 1e9, float("nan"), None, True, *texts, *objects])

    def change(config):
        config[draw.choice([*config, *_SETTINGS.split()])] = value

    return _with_json(_transformer(draw, good), "/config.json", change)


@_kind
def another_kind_of_transformer(draw, good):
    other = draw.choice([*_KINDS_OF_TRANSFORMERS.split(), "", None, 5])
    members = _transformer(draw, good)
    return _with_json(members, "/config.json", lambda config: config.update(model_type=other))


@_kind
def another_file_of_a_transformer(draw, good):
    kind, parent = draw.choice([("fine-tuned", "fine_tuned"), ("frozen", "transformers")])
    text = draw.choice([b"{}", b"a", b'{"fast_tokenizer_files": ["../../x"]}'])
    return packed({**good[kind], f"{parent}/transformer/{draw.choice(_FILES.split())}": text})


def _in_a_sequence(kind, rules):
    return _of_type("Sequence", **{kind: rules})


def _normalizers(draw, many, text):
    replace = _of_type("Replace", pattern={"String": "a"}, content=text)
    table = draw.choice(["", "AAAA", "AAAAAA" * many, "/////w==", "gAAAAA" + "A" * many])
    nested = functools.reduce(
        lambda inner, _: _in_a_sequence("normalizers", [inner]), range(200), _of_type("NFC")
    )
    return [
        _in_a_sequence("normalizers", [replace] * draw.choice([1, 3, 50])),
        _of_type("Replace", pattern={"Regex": "(a*)*b"}, content=""),
        _of_type("Replace", pattern={"String": ""}, content="b"),
        _of_type("Prepend", prepend=text),
        _in_a_sequence("normalizers", [_of_type("Prepend", prepend="aaaa")] * many),
        _in_a_sequence("normalizers", [_of_type("ByteLevel")] * 40),
        _in_a_sequence("normalizers", [_of_type("NFKD")] * 40),
        _of_type("Precompiled", precompiled_charsmap=table),
        _of_type("Unknown"),
        _in_a_sequence("normalizers", []),
        nested,
    ]


def _pre_tokenizers(draw, many, text):
    bytes_ = _of_type("ByteLevel", add_prefix_space=True, trim_offsets=True, use_regex=True)
    return [
        _of_type("Split", pattern={"Regex": "(x+x+)+y"}, behavior="Isolated", invert=False),
        _in_a_sequence("pretokenizers", [bytes_] * 30),
        _of_type("Metaspace", replacement="ab", prepend_scheme="always", split=True),
        _of_type("CharDelimiterSplit", delimiter="a"),
    ]


def _post_processors(draw, many, text):
    piece = {"SpecialToken": {"id": "[CLS]", "type_id": 0}}
    sequence = {"Sequence": {"id": "A", "type_id": 0}}

    def template(single, number):
        special = {"id": "[CLS]", "ids": [2] * number, "tokens": ["[CLS]"] * number}
        tokens = {"pair": [sequence], "special_tokens": {"[CLS]": special}}
        return _of_type("TemplateProcessing", single=single, **tokens)

    bert = _of_type("BertProcessing", sep=["[SEP]", 3], cls=["[CLS]", 2])
    return [
        template([*[piece] * many, sequence], 1),
        template([piece, *[sequence] * many], many),
        _in_a_sequence("processors", [bert] * many),
        _of_type("BertProcessing", sep=["[SEP]", 10**9], cls=["[CLS]", 2**32 - 1]),
    ]


def _added_tokens(draw, many, text):
    flags = dict.fromkeys(("single_word", "lstrip", "rstrip", "special"), False)
    return [
        [
            {"id": number, "content": content, "normalized": True, **flags}
            for number, content in each
        ]
        for each in (
            [(5 + n, f"{text}{n}") for n in range(50)],
            [(draw.choice([0, 10**9, -1, 1.5]), "a")],
            [(n, "") for n in range(many)],
        )
    ]


def _padding(draw, many, text):
    settings = {"direction": "Right", "pad_id": 0, "pad_type_id": 0, "pad_token": "[PAD]"}
    fixed = {"Fixed": draw.choice(_BIG[:5])}
    return [
        {"strategy": fixed, "pad_to_multiple_of": None, **settings},
        {"strategy": "BatchLongest", "pad_to_multiple_of": 10**9, **settings},
    ]


def _models(draw, many, text):
    unknown = draw.choice([0, 10**9, None])
    pairs = {"vocab": {"a": 0, "b": 10**9}, "merges": [["a", "b"]] * many}
    pieces = {"continuing_subword_prefix": text, "max_input_chars_per_word": 10**9}
    return [
        _of_type("Unigram", unk_id=unknown, vocab=[["a", float("nan")]] * many),
        _of_type("Unigram", unk_id=0, vocab=[["a" * n, 0.0] for n in range(1, 400)]),
        _of_type("BPE", **pairs, dropout=0.5),
        _of_type("WordPiece", vocab={"a": 0}, unk_token=text, **pieces),
        _of_type("WordLevel", vocab={str(n): n for n in range(many)}, unk_token="x"),
        _of_type("Unigram", vocab=[]),
        [],
    ]


def _others(draw, many, text):
    limits = {"max_length": 0, "strategy": "LongestFirst", "stride": 10**9}
    return [
        ("truncation", {"direction": "Right", **limits}),
        ("decoder", _of_type("WordPiece", prefix=text, cleanup=True)),
        ("version", text),
        ("unknown", text),
    ]


_PARTS = {
    "normalizer": _normalizers,
    "pre_tokenizer": _pre_tokenizers,
    "post_processor": _post_processors,
    "added_tokens": _added_tokens,
    "padding": _padding,
    "model": _models,
}


@_kind
def a_part_of_a_tokenizer(draw, good):
    members = _transformer(draw, good)
    sizes = draw.choice([20, 1000, 20_000]), "x" * draw.choice([10, 1000, 10**5])
    parts = [(place, each) for place, make in _PARTS.items() for each in make(draw, *sizes)]
    place, value = draw.choice([*parts, *_others(draw, *sizes)])
    return _with_json(members, "/tokenizer.json", lambda rules: rules.update({place: value}))


@_kind
def a_large_tokenizer(draw, good):
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
    members = dict(_transformer(draw, good))
    for name, content in list(members.items()):
        if name.endswith("/tokenizer.json"):
            members[name] = text.encode()
        elif name.endswith("/config.json") and draw.random() < 0.5:
            config = {**json.loads(content), "vocab_size": draw.choice([500_000, 10**7])}
            members[name] = json.dumps(config).encode()
    return packed(members)


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
        empty = {"dtype": "F32", "shape": [0], "data_offsets": [0, 0]}
        heading.update({f"x{n}": empty for n in range(50_000)})
    elif choice == 3:
        del heading[key]
    text = json.dumps(heading).encode()
    length = draw.choice([2**63, 10**8, 0]) if choice == 4 else len(text)
    content = length.to_bytes(8, "little") + text + members[name][8 + size :]
    return packed({**members, name: content})
