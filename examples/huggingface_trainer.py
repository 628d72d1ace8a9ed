"""Trains a weighted CRF on a transformer with `transformers.Trainer`; AllenNLP is not needed.

The files are column files: a token at the start of each line, its tag at the end, and a blank line after
each sentence. The transformer is any folder or name that `AutoModelForTokenClassification` can load.

    pip install '.[huggingface]'
    python examples/huggingface_trainer.py --model data/all-MiniLM-L6-v2 --train data/wnut17/train.txt \
        --dev data/wnut17/dev.txt --output runs/wnut17 \
        --weighting '{"type": "chain", "weight_rule": {"type": "inverse_sqrt"}}'

Then, in Python:

    from tagger.integrations.huggingface import WordPieceTagger

    WordPieceTagger.from_pretrained("runs/wnut17").tag("Ada Lovelace lives in London.").entities
"""

import argparse
import json
from collections import Counter
from pathlib import Path
from typing import Any, Dict, Iterator, List, NamedTuple, Sequence

# First, because PyTorch reads a variable that it sets (docs/background/speed.md).
import tagger  # noqa: F401

# isort: split
import torch
from transformers import (
    AutoTokenizer,
    DataCollatorForTokenClassification,
    EvalPrediction,
    PreTrainedTokenizerBase,
    Trainer,
    TrainingArguments,
)

from tagger.integrations.huggingface import (
    MASKED,
    CrfForTokenClassification,
    WordPieceTagger,
    encode_words,
    window_size,
)
from tagger.spans import ENCODINGS, complete_tags, convert_tags, tags_to_spans


class Sentence(NamedTuple):
    """Words and their tags, in BIO."""

    words: List[str]
    tags: List[str]


def read_sentences(path: Path, encoding: str) -> List[Sentence]:
    """Reads a column file with tags in this encoding.

    Raises:
        ValueError: If a line has a single column, a tag is not in the encoding, or there is no sentence.
    """
    sentences = []
    for rows in _rows_of_sentences(path):
        words, tags = [row[0] for row in rows], [row[-1] for row in rows]
        sentences.append(Sentence(words, convert_tags(tags, encoding, "BIO")))
    if not sentences:
        raise ValueError(f"{path}: expected a token and its tag on each line, got no sentence")
    return sentences


def _rows_of_sentences(path: Path) -> Iterator[List[List[str]]]:
    rows: List[List[str]] = []
    for number, line in enumerate([*path.read_text("utf-8-sig").split("\n"), ""], start=1):
        row = line.split()
        if row and row[0] != "-DOCSTART-":
            if len(row) == 1:
                raise ValueError(
                    f"{path}:{number}: expected a token and its tag, got {line!r}; separate them by "
                    f"blanks or a tab"
                )
            rows.append(row)
        elif rows:
            yield rows
            rows = []


def make_dataset(
    sentences: Sequence[Sentence],
    tokenizer: PreTrainedTokenizerBase,
    model: CrfForTokenClassification,
) -> List[Dict[str, List[int]]]:
    """Returns each sentence's word pieces and labels; a long sentence becomes several items."""
    size = window_size(tokenizer, model.config.backbone)
    label2id = model.config.label2id
    return [
        window.inputs
        for words, tags in sentences
        for window in encode_words(tokenizer, words, size, [label2id[tag] for tag in tags])
    ]


def span_metrics(predicted: EvalPrediction, tags: Sequence[str]) -> Dict[str, float]:
    """Returns precision, recall and F1 of the spans."""
    counts: Counter = Counter()
    for row, gold_row in zip(predicted.predictions, predicted.label_ids):
        is_word = gold_row != MASKED
        found, gold = (
            set(tags_to_spans([tags[k] for k in each[is_word]], "BIO")) for each in (row, gold_row)
        )
        counts.update(right=len(found & gold), found=len(found), gold=len(gold))
    precision = counts["right"] / max(counts["found"], 1)
    recall = counts["right"] / max(counts["gold"], 1)
    f1 = 2 * counts["right"] / max(counts["found"] + counts["gold"], 1)
    return {"precision": precision, "recall": recall, "f1": f1}


def make_optimizer(
    model: CrfForTokenClassification, learning_rate: float, crf_learning_rate: float
) -> torch.optim.Optimizer:
    """Makes an AdamW with a higher learning rate for the CRF than for the transformer."""
    crf = [parameter for parameter in model.crf.parameters() if parameter.requires_grad]
    groups: List[Dict[str, Any]] = [
        {"params": list(model.token_classifier.parameters()), "lr": learning_rate},
        {"params": crf, "lr": crf_learning_rate, "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(groups, weight_decay=0.01)


def train(options: argparse.Namespace) -> Dict[str, float]:
    """Trains, saves the model and its tokenizer, and returns the metrics on development data."""
    train_sentences = read_sentences(options.train, options.encoding)[: options.max_sentences]
    dev_sentences = read_sentences(options.dev, options.encoding)[: options.max_sentences]
    counts = Counter(tag for sentence in train_sentences for tag in sentence.tags)
    known = {*counts, *(tag for sentence in dev_sentences for tag in sentence.tags)}
    tags = complete_tags(sorted(known), "BIO")
    # Tokenizers that mark blanks, such as RoBERTa's, accept single words only with this setting.
    tokenizer = AutoTokenizer.from_pretrained(options.model, add_prefix_space=True)
    torch.manual_seed(options.seed)
    model = CrfForTokenClassification.from_backbone(
        options.model, tags, weighting=options.weighting, tag_counts=counts
    )
    trainer = Trainer(
        model,
        TrainingArguments(
            str(options.output),
            num_train_epochs=options.epochs,
            per_device_train_batch_size=options.batch_size,
            warmup_steps=0.1,  # a share of all steps
            eval_strategy="epoch",
            logging_steps=0.1,  # also a share
            save_strategy="no",
            report_to="none",
            seed=options.seed,
        ),
        data_collator=DataCollatorForTokenClassification(tokenizer),
        train_dataset=make_dataset(train_sentences, tokenizer, model),
        eval_dataset=make_dataset(dev_sentences, tokenizer, model),
        optimizers=(make_optimizer(model, options.learning_rate, options.crf_learning_rate), None),
        preprocess_logits_for_metrics=lambda logits, labels: model.decode(logits, labels != MASKED),
        compute_metrics=lambda predicted: span_metrics(predicted, tags),
    )
    trainer.train()
    metrics = trainer.evaluate()
    model.save_pretrained(options.output)
    tokenizer.save_pretrained(options.output)
    tagged = WordPieceTagger.from_pretrained(options.output).tag(tokens=dev_sentences[0].words)
    print(tagged.text)
    for entity in tagged.entities:
        print(
            f"{entity.label:12} {entity.probability:.2f} {entity.start}-{entity.end} {entity.text}"
        )
    return metrics


def parse_options(arguments: Sequence[str]) -> argparse.Namespace:
    """Reads the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", required=True, help="a transformer")
    parser.add_argument("--train", type=Path, required=True, help="a column file")
    parser.add_argument("--dev", type=Path, required=True, help="a column file")
    parser.add_argument("--output", type=Path, required=True, help="the folder of the model")
    parser.add_argument("--encoding", choices=ENCODINGS, default="BIO", help="the tags' encoding")
    parser.add_argument("--weighting", type=json.loads, help="the weighting of classes, as JSON")
    parser.add_argument("--epochs", type=float, default=3)
    parser.add_argument("--batch-size", type=int, default=16)
    parser.add_argument("--learning-rate", type=float, default=5e-5)
    parser.add_argument("--crf-learning-rate", type=float, default=1e-2)
    parser.add_argument("--max-sentences", type=int, help="read at most this many of each file")
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] = ()) -> None:
    """Trains with options from the command line."""
    print(json.dumps(train(parse_options(arguments)), indent=1))


if __name__ == "__main__":
    import sys

    main(sys.argv[1:])
