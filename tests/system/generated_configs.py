"""Generates configs of archives from all that AllenNLP's registries hold, with extreme arguments.

A config is that of a good archive, with one place filled with a random component. Its arguments are
drawn by their annotations: huge and negative numbers, NaN, long lists, long strings, paths, patterns
that take exponential time, and further components.
"""

import collections.abc
import inspect
import json
import random
import re
import shutil
from typing import Any, Union, get_args, get_origin

from allennlp.common import FromParams, Lazy, Registrable
from allennlp.data import DatasetReader, TokenIndexer, Tokenizer, Vocabulary
from allennlp.models import Model
from allennlp.modules import Seq2SeqEncoder, TextFieldEmbedder, TokenEmbedder
from allennlp.nn import InitializerApplicator, RegularizerApplicator

from tagger.modules.document_contexts import DocumentContext
from tagger.modules.heads import TaggingHead
from tests.system.generated_archives import packed, read_members

_MAX_DEPTH = 5
_SMALL = [0, 1, 1, 2, 2, 3, 20]
_BIG = [-1, 100, 1000, 10**4, 10**5, 10**6, 10**7, 10**9, 2**31, 2**63, 10**30]
_FLOATS = [0.0, 0.1, 0.5, 1.0, 1.0, -1.0, 1e-300, 1e308, float("nan"), float("inf")]
_WORDS = "labels tokens O PER B-PER BIOUL BIO relu tanh linear sum mean cpu en all none viterbi a 1"
_PATTERNS = [
    "(?:^|$)" * 60 + r"\b", "()" * 20_000, "(?:" + "()" * 45 + "){1000}", "(.*)*(.*)*(.*)*(.*)*x",
    "(e|e)*$", "(?:(?:a{1000}){1000}){1000}", "a{1000000000}", "(?R)" * 2000, "(" * 500 + ")" * 500,
    "[" * 1000, r"\w+",
]  # fmt: skip
_PATHS = (
    "/etc/passwd secret.txt ../secret.txt / . ~ /dev/zero /proc/self/environ (a.zip)#b "
    "https://127.0.0.1:9/x bert-base-uncased en_core_web_sm vocabulary weights.th config.json"
)
_TEXTS = [
    "",
    "\0",
    "\x1b[2J",
    "a" * 10**5,
    "\U0001f600" * 1000,
    "\ud800",
    "__class__",
    "a.b.c",
    "%s" * 100,
]
_NUMBERS_OF_ITEMS = [0, *[1, 2, 3] * 6, 50, 1000, 10_000]
#: Arguments that AllenNLP or the tagger supplies.
_SUPPLIED = {"self", "vocab", "serialization_dir", "extras", "kwargs", "args", "params"}


def _text(draw):
    choice = draw.random()
    if choice < 0.4:
        return draw.choice(_WORDS.split())
    return draw.choice(draw.choice([_PATTERNS, _PATHS.split(), _TEXTS]))


def _number(draw):
    return draw.choice(_SMALL if draw.random() < 0.9 else _BIG)


def _junk(draw):
    choices = [
        _number(draw),
        draw.choice(_FLOATS),
        _text(draw),
        None,
        True,
        [],
        {},
        [1, 2],
        {"type": "a"},
    ]
    return draw.choice(choices)


def _repeated(draw, make):
    """Returns a list of values, of which at most the first few differ."""
    number = draw.choice(_NUMBERS_OF_ITEMS)
    few = [make() for _ in range(min(number, 3))]
    longest = max((len(json.dumps(each)) for each in few), default=1)
    return [few[n % len(few)] for n in range(min(number, max(3, 800_000 // longest)))]


def value_of(annotation, draw, depth=0):
    """Draws a value for an argument with this annotation."""
    origin, parts = get_origin(annotation), get_args(annotation)
    if draw.random() < 0.01 or depth > _MAX_DEPTH:
        return _junk(draw)
    if annotation is bool:
        return draw.random() < 0.5
    if annotation in (int, float):
        return (
            draw.choice(_FLOATS[:5] if draw.random() < 0.8 else _FLOATS)
            if annotation is float
            else _number(draw)
        )
    if annotation is str:
        return _text(draw)
    if origin is Union:
        return value_of(draw.choice(parts), draw, depth)
    if annotation is type(None):
        return None
    if origin in (list, set, tuple, collections.abc.Iterable, collections.abc.Sequence):
        if origin is tuple and parts and parts[-1] is not ...:
            return [value_of(each, draw, depth + 1) for each in parts]
        part = parts[0] if parts else Any
        return _repeated(draw, lambda: value_of(part, draw, depth + 1))
    if origin in (dict, collections.abc.Mapping):
        values = _repeated(draw, lambda: value_of(parts[1], draw, depth + 1))
        names = [*_WORDS.split(), *(f"L{number}" for number in range(len(values)))]
        return dict(zip(names if draw.random() < 0.5 else names[::-1], values))
    if origin is Lazy:
        return value_of(parts[0], draw, depth)
    if inspect.isclass(annotation) and issubclass(annotation, FromParams):
        return component(annotation, draw, depth + 1)
    return _junk(draw)


def component(base, draw, depth=0, name=None):
    """Draws the config of a component: its registered name, or `name`, and its arguments."""
    registry = Registrable._registry.get(base)
    if issubclass(base, InitializerApplicator | RegularizerApplicator):
        pairs = _repeated(
            draw, lambda: [_text(draw), {"type": draw.choice(["normal", "l2", "zero"])}]
        )
        return {"regexes": pairs}
    config = {}
    constructor = base
    if registry:
        config["type"] = name or draw.choice(sorted(registry))
        cls, method = registry[config["type"]]
        constructor = getattr(cls, method) if method else cls
    has_rarely = draw.choice([0.1, 0.3, 0.8])
    for each in _arguments(constructor):
        is_required = each.default is inspect.Parameter.empty
        if draw.random() < (0.97 if is_required else has_rarely):
            config[each.name] = value_of(each.annotation, draw, depth + 1)
    return config


def _arguments(constructor):
    classes = constructor.__mro__ if inspect.isclass(constructor) else [constructor]
    found = {}
    for each in classes:
        function = each.__dict__.get("__init__") if inspect.isclass(each) else each
        if function is None or each is object:
            continue
        try:
            parameters = inspect.signature(function).parameters.values()
        except (TypeError, ValueError):
            continue
        for parameter in parameters:
            if parameter.kind not in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL):
                found.setdefault(parameter.name, parameter)
        if not any(parameter.kind == parameter.VAR_KEYWORD for parameter in parameters):
            break
    return [each for name, each in found.items() if name not in _SUPPLIED]


def _put(config, path, value):
    *folders, last = path.split(".")
    for name in folders:
        config = config.setdefault(name, {})
    config[last] = value


#: Where a component of each kind goes in the config of a tagger.
PLACES = {
    "model": Model,
    "model.encoder": Seq2SeqEncoder,
    "model.text_field_embedder": TextFieldEmbedder,
    "model.text_field_embedder.token_embedders.other": TokenEmbedder,
    "model.head": TaggingHead,
    "model.initializer": InitializerApplicator,
    "model.regularizer": RegularizerApplicator,
    "model.document_contexts": list[DocumentContext],
    "model.extensions": list[Seq2SeqEncoder],
    "dataset_reader": DatasetReader,
    "dataset_reader.tokenizer": Tokenizer,
    "dataset_reader.token_indexers": dict[str, TokenIndexer],
    "dataset_reader.token_indexers.other": TokenIndexer,
    "validation_dataset_reader": DatasetReader,
    "vocabulary": Vocabulary,
}


def changed_config(good, draw):
    """Returns the text of a config with one place changed, and a description of the change."""
    config = json.loads(json.dumps(good))
    place = draw.choice(list(PLACES))
    value = value_of(PLACES[place], draw)
    in_ensemble = place.startswith("model") and draw.random() < 0.15
    _put(config, place, value)
    if in_ensemble:
        members = _repeated(draw, lambda: config["model"])
        config["model"] = {"type": "sequence_tagger_ensemble", "members": members}
    name = value.get("type") if isinstance(value, dict) else type(value).__name__
    return json.dumps(config), f"{place}: {name}"


def write_archives(good, seeds, folder):
    """Writes an archive below a megabyte for each seed, with the members of a good one."""
    members = read_members(good)
    config = json.loads(members["config.json"])
    shutil.copy(good, folder / "good-toy.tar.gz")
    for seed in seeds:
        text, change = changed_config(config, random.Random(seed))
        content = packed({**members, "config.json": text.encode()}, level=1)
        if len(content) < 2**20:
            name = re.sub(r"[^\w.]+", "-", change)
            (folder / f"{seed}-{name}.tar.gz").write_bytes(content)
