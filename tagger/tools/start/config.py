"""The config for a user's own files."""

import json
import os
from pathlib import Path
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from tagger.data.column_file import Row
from tagger.tools.start.survey import Survey
from tagger.transformers.pretrained import FOLDER_VARIABLE, weights_in

#: A label is rare if it occurs less often than this share of the most frequent one.
_SHARE_OF_RARE = 0.1
#: Training data with fewer tokens are tiny or small; data with more than the last are large.
_TINY, _SMALL, _LARGE = 10_000, 40_000, 1_000_000
#: With fewer entities than the first, the hidden size is the second.
_FEW_ENTITIES, _SMALL_NETWORK = 800, 100
#: The most labels listed in one line.
_MOST_LISTED = 8
#: Where `fetch-encoder` writes encoders, relative to the working directory.
_TRANSFORMER = Path("data/all-MiniLM-L6-v2")
_MULTILINGUAL = Path("data/multilingual-e5-small")
#: The layers of the latter that are used.
_LAYERS = [4, 6, 8, 10, 12]
_GLOVE = Path("data/glove/glove.6B.50d.txt")


class Sizes(NamedTuple):
    """Template fields that depend on the size of the training data, and the reason for their values."""

    reason: str
    settings: Dict[str, Any]


def sizes_for(num_tokens: int, num_entities: int) -> Sizes:
    """Returns the settings that suit the training data.

    Small data need many small batches and a small network; large data need few epochs. Size is measured
    in tokens, because sentences and texts vary in length. But with few entities the network is always
    small. Training ends early if a quarter of all epochs pass without improvement.

    Example:
        >>> sizes_for(2_000, 400).settings["batch_size"], sizes_for(200_000, 20_000).settings
        (8, {'patience': 6})
        >>> sizes_for(200_000, 400).settings
        {'hidden_size': 100, 'patience': 6}
    """
    of_small = {"hidden_size": _SMALL_NETWORK}
    if num_tokens < _SMALL:
        num_epochs = 60 if num_tokens < _TINY else 40
        return Sizes(
            "small batches, a small network, many epochs; training ends early without progress",
            {"batch_size": 8, **of_small, "num_epochs": num_epochs, "patience": num_epochs // 4},
        )
    has_few = num_entities < _FEW_ENTITIES
    network = "a small network, since there are few entities; " if has_few else ""
    settings: Dict[str, Any] = of_small if has_few else {}
    if num_tokens < _LARGE:
        return Sizes(
            f"{network or 'the sizes of the template; '}training ends early without progress",
            {**settings, "patience": 6},
        )
    return Sizes(
        f"{network}large batches, few epochs", {**settings, "batch_size": 64, "num_epochs": 10}
    )


def rare_labels(counts: Dict[str, int]) -> List[str]:
    """Returns the labels that are rare compared to the most frequent one, rarest first.

    Example:
        >>> rare_labels({"PER": 100, "LOC": 50, "EVENT": 3})
        ['EVENT']
    """
    bound = _SHARE_OF_RARE * max(counts.values())
    return sorted((each for each in counts if counts[each] < bound), key=lambda each: counts[each])


def listed(names: Sequence[str]) -> str:
    """Returns names in one line, cut off after the first few.

    Example:
        >>> listed(["PER 7", "LOC 2"]), listed(list("abcdefghij"))
        ('PER 7, LOC 2', 'a, b, c, d, e, f, g, h and 2 others')
    """
    shown = ", ".join(names[:_MOST_LISTED])
    num_others = len(names) - _MOST_LISTED
    return f"{shown} and {num_others} others" if num_others > 0 else shown


def listed_counts(counts: Dict[str, int]) -> str:
    """Returns labels with their counts in one line; see `listed`."""
    return listed([f"{label} {number:,}" for label, number in counts.items()])


def make_config(found: Survey, train: str, dev: str, sentences: Sequence[Sequence[Row]]) -> str:
    """Returns a config in Jsonnet, with comments, for files at `train` and `dev`.

    `sentences` are the sentences or texts of the training file.
    """
    counts = found.count_labels(*found.train)
    num_tokens, num_entities = size_of(found, sentences)
    sizes = sizes_for(num_tokens, num_entities)
    where = f"column {found.tag_column}" if found.files[0].texts is None else "the file"
    noun = "entities" if found.scheme.source_encoding is not None else "labels"
    spells = f"{where}: {listed_counts(counts)}"
    names = " and ".join(each.path.name for each in found.train)
    lines = [
        f"// A tagger for {names}, written by `allennlp start`.",
        "// All settings are at the top of tagger/training/template.libsonnet, in the package.",
        "(import 'tagger/training/template.libsonnet') + {",
        f"  // Labels in {spells}.",
        *_tag_lines(found),
        *_token_lines(found),
        *_unseen_tag_lines(found),
        "",
        f"  // {num_tokens:,} tokens to train on, with {num_entities:,} {noun}: {sizes.reason}.",
        *(f"  {name}:: {value}," for name, value in sizes.settings.items()),
        "",
        *_pretrained_lines(found),
        *_suggestions(found, counts, num_tokens),
        f"  train_data_path: {_string(train)},",
        f"  validation_data_path: {_string(dev)},",
        "}",
    ]
    return "\n".join(lines) + "\n"


def size_of(found: Survey, sentences: Sequence[Sequence[Row]]) -> Tuple[int, int]:
    """Returns the number of tokens, and of entities or labels, in some of the sentences."""
    return sum(map(len, sentences)), sum(len(found.labels(rows)) for rows in sentences)


def _tag_lines(found: Survey) -> List[str]:
    """Returns the lines about columns and tags."""
    scheme = found.scheme
    encoding = "null" if scheme.source_encoding is None else _string(scheme.source_encoding)
    lines = [f"  source_encoding:: {encoding},"]
    overlaps = scheme.source_encoding is not None and scheme.label_separator is not None
    if overlaps:
        lines.append("  label_chains:: true,  // a CRF for each label, since entities overlap")
    arguments = _arguments(
        {
            "label_separator": None if overlaps else scheme.label_separator,
            "no_label_tag": scheme.no_label_tag if scheme.no_label_tag != "O" else None,
            "unknown_tag": scheme.unknown_tag,
            **found.reading.changed(),
        }
    )
    if scheme.source_encoding is None:
        lines.append("  tag_encoding:: null,")
    if arguments:
        lines.append(f"  dataset_reader+: {{ {arguments} }},")
    if scheme.label_separator is not None and not overlaps:
        lines.append("  model+: { head: { type: 'sigmoid' } },  // decides each label by itself")
        lines.append("  trainer+: { callbacks+: ['tune_thresholds'] },")
    elif scheme.source_encoding is None:
        lines.append(f"  trainer+: {{ validation_metric: '+{best_metric(found)}' }},")
    return lines


def _token_lines(found: Survey) -> List[str]:
    """Returns the lines that make texts split into tokens like those of the file."""
    tokenization = found.tokenization
    name, share = next(iter(tokenization.shares.items()))
    verb = "gives" if tokenization.of == "tokens" else "fits"
    lines = [
        f"  // Texts are split by {name}, which {verb} {share:.1%} of these {tokenization.of}."
    ]
    if tokenization.config is not None:
        lines.append(f"  tokenizer:: {{ {_arguments(tokenization.config)} }},")
    if tokenization.language != "en":
        lines.append(f"  language:: {_string(tokenization.language)},")
    return lines


def _unseen_tag_lines(found: Survey) -> List[str]:
    """Returns the lines needed to evaluate labels that only the development file has."""
    # The model adds the other tags of these labels.
    opening = "U-" if found.scheme.source_encoding else ""
    tags = [f"{opening}{label}" for label in found.unseen_labels()]
    if not tags:
        return []
    return [
        "  // Labels that only occur in the development file.",
        f"  vocabulary+: {{ tokens_to_add: {{ labels: [{', '.join(map(_string, tags))}] }} }},",
    ]


def best_metric(found: Survey) -> str:
    """Returns the metric used to choose the best epoch."""
    if found.scheme.source_encoding is not None or found.scheme.label_separator is not None:
        return "f1-measure-overall"
    every = (rows for file in found.train for rows in file.sentences)
    tags = {tag for rows in every for tag in found.tags(rows)}
    # If most tokens have no label, predicting none gives a high accuracy.
    return "token-f1-measure-overall" if "O" in tags else "accuracy"


def _pretrained_lines(found: Survey) -> List[str]:
    """Returns the lines that use available pretrained parts, and suggest missing ones."""
    at_hand = pretrained_at_hand(found.tokenization.in_english)
    lines = [f"  // {each[0].upper()}{each[1:]}." for each in at_hand.said]
    lines += [f"  {name}:: {_literal(value)}," for name, value in at_hand.settings.items()]
    if "glove_file" in at_hand.settings:
        return [*lines, "  word_dim:: 50,", "  lowercase_words:: true,", ""]
    return [
        *lines,
        "  // Vectors of `word_dim` numbers, in the format of GloVe:",
        "  // glove_file:: 'vectors.50d.txt', word_dim:: 50, lowercase_words:: true,",
        "",
    ]


def _suggestions(found: Survey, counts: Dict[str, int], num_tokens: int) -> List[str]:
    """Returns suggestions as commented lines."""
    rare = rare_labels(counts)
    if not rare:
        return []
    what = "This line finds more of them, but makes more errors:"
    rule = "inverse_sqrt" if num_tokens < _TINY else "effective_number"
    line = f"weighting:: {{ type: 'chain', weight_rule: '{rule}' }},"
    if found.scheme.label_separator is not None and found.scheme.source_encoding is None:
        what = "This loss makes them count more (put it into the head):"
        line = "loss: { type: 'class_balanced_focal', beta: 0.999 },"
    return [f"  // Rare: {listed(rare)}. {what}", f"  // {line}", ""]


def _arguments(values: Mapping[str, Any]) -> str:
    """Returns the fields of a Jsonnet object, leaving out those that are None."""
    return ", ".join(
        f"{name}: {_literal(value)}" for name, value in values.items() if value is not None
    )


def _literal(value: Any) -> str:
    return _string(value) if isinstance(value, str) else json.dumps(value)


def _string(text: str) -> str:
    """Returns a Jsonnet string literal."""
    is_plain = text.isprintable() and not {"'", "\\"} & set(text)
    return f"'{text}'" if is_plain else json.dumps(text, ensure_ascii=False)


class AtHand(NamedTuple):
    """Template fields that use pretrained parts, and lines that report which were found."""

    settings: Dict[str, Any]
    said: List[str]


def pretrained_at_hand(in_english: Optional[bool]) -> AtHand:
    """Looks for the transformers and the word vectors that `fetch-encoder` writes.

    Args:
        in_english: Whether the texts are in English, like the word vectors and the first transformer.
            Otherwise one for many languages is looked for. None means that this is not clear.
    """
    encoder, texts = _TRANSFORMER, ""
    if in_english is False:
        encoder, texts = _MULTILINGUAL, ", since the texts are not all in English"
    other = f"; for another language than English, take {_MULTILINGUAL.name}"
    hint = other if in_english is None else ""
    settings: Dict[str, Any] = {}
    said = []
    # Transformers may also be in the folder that the environment variable names.
    others = os.environ.get(FOLDER_VARIABLE)
    places = [*([Path(others, encoder.name)] if others else []), encoder]
    transformer = next(
        (each for each in places if weights_in(each) and (each / "config.json").is_file()), None
    )
    if transformer is not None:
        settings["transformer"] = str(transformer)
        if encoder == _MULTILINGUAL:
            settings["transformer_layers"] = _LAYERS
        said.append(f"features of the transformer {transformer}, which help most{texts}{hint}")
    else:
        said.append(
            f"no pretrained transformer, which would help most: there is none in "
            f"{' or '.join(map(str, places))}; get it with `allennlp fetch-encoder {encoder.name}`"
            f"{texts}{hint}"
        )
    if in_english is False:
        return AtHand(settings, said)
    if _GLOVE.is_file():
        settings["glove_file"] = str(_GLOVE)
        said.append(f"word vectors of {_GLOVE}, for words that are not in the training file")
    else:
        said.append(
            f"no pretrained word vectors: there is no {_GLOVE}; "
            "get them with `allennlp fetch-encoder glove`"
        )
    return AtHand(settings, said)
