#!/usr/bin/env python
"""Scores taggers on the levels of nested entities, and writes files with the outermost level alone.

SkillSpan (https://github.com/kris927b/SkillSpan, MIT) has skills in one column and knowledge in the
next. Join `skillspan_house_train.conll` and `skillspan_tech_train.conll` to data/skillspan/train.conll,
and likewise dev.conll and test.conll. Then:

    cd data/skillspan
    python ../../scripts/experiments/score_levels.py outermost train.conll outermost/train.conll
    python ../../scripts/experiments/score_levels.py outermost dev.conll outermost/dev.conll
    cd ../..
    allennlp study training_config/studies/label_chains_skillspan.jsonnet -s runs/skillspan
    python scripts/experiments/score_levels.py score data/skillspan/test.conll \
        runs/skillspan/runs/*/*/model.tar.gz

NEREL (https://github.com/nerel-ds/NEREL; it names no licence) has files of brat. Copy `train`, `dev` and
`test` of NEREL-v1.1 to data/nerel, and delete the 151 entities that have several parts. `--reader` takes
the arguments of the dataset reader `column`:

    sed -i -E '/^T[0-9]+[[:space:]][A-Z_]+ [0-9 ]+;/d' data/nerel/*/*.ann
    allennlp study training_config/studies/label_chains_nerel.jsonnet -s runs/nerel
    reader='{"source_encoding": "BIO", "tokenizer": {"type": "punctuation"}, "overlapping": "longest"}'
    python scripts/experiments/score_levels.py \
        --reader "$reader" score data/nerel/test runs/nerel/runs/*/*/*.gz

An entity is inner if it lies in another one, and outer otherwise; of two with the same tokens, the
second label in the alphabet is inner. Partial overlaps are outer; `outermost` keeps the longest.
"""

import argparse
import json
from pathlib import Path
from typing import Any, Dict, List, Optional, Sequence, Set, Tuple
from urllib.parse import unquote

import numpy as np
from allennlp.common import Params
from allennlp.data import DatasetReader

import tagger
from tagger.data.fields.label_chains_field import LabelChainsField
from tagger.metrics.label_metrics import precision_recall_f1
from tagger.spans import Span, spans_to_tags, tags_to_spans
from tagger.spans.overlapping import tags_by_label
from tagger_texts.merging import joined_tags

#: A sentence and its entities, which may overlap.
Sentence = Tuple[List[str], List[Span]]


def read(path: Path, reader: DatasetReader) -> List[Sentence]:
    """Reads the words and entities of a file."""
    sentences = []
    for instance in reader.read(path):
        field: Any = instance["tags"]
        assert isinstance(field, LabelChainsField)
        by_label = tags_by_label([joined_tags(tags) for tags in field.label_sets], "BIO")
        spans = [span for tags in by_label.values() for span in tags_to_spans(tags, "BIO")]
        sentences.append((instance["metadata"]["words"], spans))  # type: ignore[index]
    return sentences


def levels(spans: Sequence[Span]) -> Tuple[Set[Span], Set[Span]]:
    """Returns outer and inner entities.

    Example:
        >>> levels([("ORG", (0, 3)), ("LOC", (2, 3))])
        ({('ORG', (0, 3))}, {('LOC', (2, 3))})
    """
    inner = {span for span in spans if any(_holds(other, span) for other in spans)}
    return set(spans) - inner, inner


def _holds(outer: Span, inner: Span) -> bool:
    (_, (start, end)), (_, (first, last)) = outer, inner
    is_larger = (start, -end) != (first, -last) and start <= first and last <= end
    return is_larger or ((start, end) == (first, last) and outer[0] < inner[0])


def outermost(sentence: Sentence) -> str:
    """Returns the lines of a sentence with its outer entities, of which the longest come first."""
    words, spans = sentence
    kept: List[Span] = []
    for span in sorted(levels(spans)[0], key=lambda span: span[1][0] - span[1][1]):
        if all(span[1][1] < start or end < span[1][0] for _, (start, end) in kept):
            kept.append(span)
    tags = spans_to_tags(kept, len(words), "BIO")
    return "".join(f"{word}\t{tag}\n" for word, tag in zip(words, tags)) + "\n"


def score(archive: Path, sentences: Sequence[Sentence]) -> Dict[str, Tuple[float, int]]:
    """Returns the F1 of a tagger and the number of gold entities, by level."""
    counts = {"outer": np.zeros((3, 1)), "inner": np.zeros((3, 1))}
    for tagged, (_, spans) in zip(tagger.load(archive).tag([s[0] for s in sentences]), sentences):
        found = [(each.label, (each.first, each.last)) for each in tagged.entities]
        for name, own, gold in zip(counts, levels(found), levels(spans)):
            counts[name][:, 0] += len(own & gold), len(own), len(gold)
    return {k: (float(precision_recall_f1(n)[2][0]), int(n[2, 0])) for k, n in counts.items()}


def main(arguments: Optional[Sequence[str]] = None) -> None:
    """Runs the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    text = "arguments of the dataset reader `column`, as JSON; default: two columns of tags"
    parser.add_argument("--reader", type=json.loads, default={"tag_column": [1, 2]}, help=text)
    kinds = parser.add_subparsers(dest="kind", required=True)
    write = kinds.add_parser("outermost", help="write a file with the outermost entities")
    write.add_argument("file", type=Path)
    write.add_argument("target", type=Path)
    scores = kinds.add_parser("score", help="score saved taggers")
    scores.add_argument("file", type=Path)
    scores.add_argument("archives", type=Path, nargs="+")
    options = parser.parse_args(arguments)
    chains = {"type": "column", "label_chains": True, "tag_encoding": "BIO"}
    sentences = read(options.file, DatasetReader.from_params(Params({**chains, **options.reader})))
    if options.kind == "outermost":
        options.target.parent.mkdir(parents=True, exist_ok=True)
        options.target.write_text("".join(map(outermost, sentences)), encoding="utf-8")
        return
    for archive in options.archives:
        found = score(archive, sentences)
        shown = (f"{name} F1 {100 * f1:.1f} of {number}" for name, (f1, number) in found.items())
        print(f"{unquote('/'.join(archive.parts[-3:-1]))}: {'; '.join(shown)}")


if __name__ == "__main__":
    main()
