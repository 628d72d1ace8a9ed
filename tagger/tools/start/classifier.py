"""Writes a config for a classifier of texts that have labels as a whole."""

import json
import shlex
from pathlib import Path
from typing import List, Optional, Sequence

from tagger.common.console import topics
from tagger.common.inputs import bare_suffix
from tagger.data.formats import AnnotatedText
from tagger.data.splitting.documents import TEXTS, documents_of_texts
from tagger.data.splitting.overlap import overlap
from tagger.data.splitting.split import Item
from tagger.tools.start.config import listed
from tagger.tools.start.labelled_texts import LabelledTexts, find_labelled_texts
from tagger.tools.start.parts import Source, divide
from tagger.tools.start.start import Start, commands_for

#: The share of the texts for development, and of large files, and when a file is large.
_DEV, _DEV_OF_LARGE, _LARGE = 0.2, 0.1, 5_000
#: The most words of an example to predict.
_LONGEST_EXAMPLE = 20


def start_with_labelled_texts(
    paths: Sequence[Path],
    output: Path,
    found: LabelledTexts,
    seed: int,
    documents: Optional[str] = None,
    tag: Optional[str] = None,
) -> Start:
    """Like `start`, for a training file of texts that have labels as a whole."""
    train, dev = (output.with_name(f"{output.stem}.{name}.jsonl") for name in ("train", "dev"))
    source = source_of_classified(found, documents)
    if len(paths) == 1:
        share = _DEV_OF_LARGE if len(found.texts) >= _LARGE else _DEV
        division = divide(source, {"train": 1 - share, "dev": share}, seed, documents)
        files = {train: division.text("train"), dev: division.text("dev")}
        parts = [division.items(name) for name in ("train", "dev")]
    else:
        other = find_labelled_texts(paths[1], tag)
        if other is None or other.used != found.used:
            raise ValueError(
                f"{paths[1]}: expected texts and labels under the same names as in {found.path}: "
                f"{', '.join([*found.used[0], *found.used[1]])}"
            )
        second = source_of_classified(other, documents)
        files = {train: "".join(source.written), dev: "".join(second.written)}
        parts = [source.items, second.items]
    learnt, wanted = ({label for item in part for label in item.labels} for part in parts)
    late = sorted(wanted - learnt)
    files[output] = _config(found, train, dev, late, len(parts[0]))
    unseen = f"labels only in {paths[1]}: {listed(late)}" if late and len(paths) > 1 else ""
    said = [
        *found.described(),
        *topics([("warning", unseen)]),
        f"  of the development part, {overlap(*parts).describe('texts')}",
        f"Wrote {', '.join(map(str, files))}. Go on with",
        *_commands(output, found, parts[1], tag),
    ]
    return Start(files, said)


def _commands(
    output: Path, found: LabelledTexts, dev: Sequence[Item], tag: Optional[str]
) -> List[str]:
    example = next((" ".join(item.words[:_LONGEST_EXAMPLE]) for item in dev if item.labels), None)
    made = "test.labels.jsonl"
    *others, evaluate = commands_for(output, Path(made), example or "A new text.", made)
    test = f"test{bare_suffix(found.path)}"
    named = "" if tag is None else f" --tag-column {shlex.quote(tag)}"
    convert = (
        f"  allennlp convert {test} {made}{named}  # test data in the form of {found.path.name}"
    )
    return [*others, convert, evaluate]


def source_of_classified(found: LabelledTexts, documents: Optional[str]) -> Source:
    """Returns texts with labels as a whole, as lines for the reader `document`."""
    items, texts = [], []
    for text, present, rest in zip(found.texts, found.present(), found.others):
        items.append(Item(text.split(), [(label, "") for label in present]))
        texts.append(AnnotatedText("", [], None, None, "", rest))
    marked = documents_of_texts(texts, found.path, how=documents)
    marked = marked or documents_of_texts(texts, found.path, how=TEXTS)
    return Source(found.path, items, found.written(), marked, "texts")


def _config(
    found: LabelledTexts, train: Path, dev: Path, late: Sequence[str], num_texts: int
) -> str:
    """Returns a config for a classifier: a CNN over the words, and scores that are linear in them."""
    num_epochs = 20 if num_texts < 10_000 else 10
    least = 1 if num_texts < 1_000 else 2 if num_texts < 10_000 else 3
    added = (
        f", tokens_to_add: {{ labels: {json.dumps([*late], ensure_ascii=False)} }}" if late else ""
    )
    return f"""\
// A classifier of texts for {found.path.name}, written by `allennlp start`.
// docs/how_to/several_labels.md has other losses, encoders and thresholds.
{{
  dataset_reader: {{
    type: 'document',
    max_tokens: 400,
    token_indexers: {{
      tokens: {{ type: 'word_forms', lowercase: true }},
      words: {{ type: 'single_id', namespace: 'words', lowercase_tokens: true }},
    }},
  }},
  train_data_path: {json.dumps(str(train), ensure_ascii=False)},
  validation_data_path: {json.dumps(str(dev), ensure_ascii=False)},
  datasets_for_vocab_creation: ['train'],
  vocabulary: {{ min_count: {{ words: {least} }}{added} }},

  model: {{
    type: 'document_classifier',
    text_field_embedder: {{
      token_embedders: {{ tokens: {{ type: 'word_vectors', embedding_dim: 50 }} }},
    }},
    encoder: {{ type: 'masked_cnn', num_filters: 64, ngram_filter_sizes: [1, 2, 3] }},
    dropout: 0.5,
    loss: {{ type: 'negative_tolerant' }},
    // Scores that are linear in the words' TF-IDF.
    term_scores: {{ indexer: 'words', namespace: 'words' }},
  }},

  data_loader: {{ type: 'bucketed', batch_size: 32 }},
  validation_data_loader: {{ type: 'bucketed', batch_size: 128, shuffle: false }},

  trainer: {{
    // With `eps` 1, Adam is gradient descent with momentum, which suits the linear part.
    optimizer: {{
      type: 'fused_adamw',
      lr: 0.001,
      weight_decay: 0.01,
      parameter_groups: [[['^term_scores'], {{ lr: 60, eps: 1, weight_decay: 1e-5 }}]],
    }},
    learning_rate_scheduler: {{ type: 'slanted_triangular', cut_frac: 0 }},
    num_epochs: {num_epochs},
    patience: 5,
    validation_metric: '+f1-measure-overall',
    checkpointer: {{ keep_most_recent_by_count: 1 }},
    callbacks: ['show_metrics'],
  }},
}}
"""
