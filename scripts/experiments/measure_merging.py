#!/usr/bin/env python
"""Measures how good labels are that were merged from several sources.

    python scripts/experiments/measure_merging.py crowd task1.zip
    python scripts/experiments/measure_merging.py crowd task1.zip --equal
    python scripts/experiments/measure_merging.py crowd task1.zip --train runs/crowd
    python scripts/experiments/measure_merging.py noisebench data/noisebench

`task1.zip` is in the repository thanhan/seqcrowd-acl17: 47 people on Amazon Mechanical Turk labelled 400
news of CoNLL-2003's training file (Rodrigues et al. 2014), and Nguyen et al. 2017 divided them into a
validation and a test part. Priors were chosen on the validation part, and the test part is only scored.
Tokens of annotators differ from those of the gold labels and are aligned; about half the annotations
need it. A tag that somebody has typed behind a word, `Kingston/LOC`, counts.

--equal leaves out what was not labelled with the same tokens, as Nguyen et al. do, to compare with their
figures. --train FOLDER also trains taggers on the labels of both parts, merged in several ways, and
scores them on testb of CoNLL-2003. For each tagger, the best epoch is chosen on gold labels of the same
sentences of testa. Finished runs are kept.

`noisebench` merges the labels of the crowd and of the language model in NoiseBench (Merdjanovska et al.
2024), files `crowd.txt` and `llm.txt`, and scores them against `clean.txt`.
"""

import argparse
import copy
import difflib
import io
import itertools
import json
import re
import zipfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Dict, List, Optional, Set, Tuple

import numpy as np
from allennlp.common import Params

from tagger.common.console import say
from tagger.data.formats import (
    AnnotatedText,
    Annotation,
    convert_texts,
    fit_to_tokens,
    label_sets_of,
)
from tagger.data.sources.annotations import SourcedText
from tagger.data.sources.joining import join_sources
from tagger.spans import tags_to_spans
from tagger.tools.runs.jobs import METRICS_FILE, Job, run_jobs, seeded_jobs
from tagger.tools.sources.merging import METHODS, Merged, merge

GOLD = "gold"
#: The sentences of testa on which the best epoch is chosen.
NUM_DEV = 800
#: A word with a tag that an annotator typed behind it.
_TYPED = re.compile(r"(.+?)/(?:([BI])-)?(LOC|MISC|ORG|PER)")
Words = List[Tuple[str, str]]


def read_crowd(path: Path, part: str, equal: bool = False) -> List[SourcedText]:
    """Reads the texts of `val` or `test`, with the gold labels as the source `gold`.

    If `equal`, each sentence is a text, and an annotator's sentence is left out if its words are not
    those of the gold labels' sentence of the same number, as in Nguyen et al. 2017.
    """
    found: Dict[str, Dict[str, List[Words]]] = defaultdict(dict)
    with zipfile.ZipFile(path) as archive:
        for name in sorted(archive.namelist()):
            parts = name.split("/")
            if parts[1:2] == [part] and name.endswith(".txt") and "__MACOSX" not in name:
                source = GOLD if parts[2] == "ground_truth" else parts[3]
                text = archive.read(name).decode("utf-8", "replace")
                found[parts[-1]][source] = list(_sentences(text))
    texts = ((name, sources[GOLD], sources) for name, sources in found.items())
    if equal:
        texts = (
            (name, [sentence], _equal(sentence, number, sources))
            for name, gold, sources in texts
            for number, sentence in enumerate(gold)
        )
    return [_sourced(*each) for each in texts if len(each[2]) > 1]


def _equal(gold: Words, number: int, sources: Dict[str, List[Words]]) -> Dict[str, List[Words]]:
    """Returns the sentences of this number with the same words."""
    words = [word for word, _ in gold]
    own = ((source, found[number]) for source, found in sources.items() if number < len(found))
    return {name: [each] for name, each in own if [word for word, _ in each] == words}


def _sentences(text: str) -> Iterator[Words]:
    for is_blank, lines in itertools.groupby(io.StringIO(text), key=lambda line: not line.strip()):
        if not is_blank:
            pairs = (line.strip().rpartition(" ") for line in lines)
            yield [(word, tag) if word else (tag, "O") for word, _, tag in pairs]


def _sourced(name: str, gold: List[Words], sources: Dict[str, List[Words]]) -> SourcedText:
    words = [word for sentence in gold for word, _ in sentence]
    starts = [0, *itertools.accumulate(len(word) + 1 for word in words)]
    places = [(start, start + len(word)) for start, word in zip(starts, words)]
    lengths = [*map(len, gold)]
    text = AnnotatedText(" ".join(words), [], places, lengths, name, {"document": name})
    annotations = {}
    for source, sentences in sources.items():
        tags = _aligned([pair for sentence in sentences for pair in sentence], words)
        entities: List[Annotation] = []
        first = 0
        for length in lengths:
            for label, (start, end) in tags_to_spans(tags[first : first + length], "BIO"):
                place = places[first + start][0], places[first + end][1]
                entities.append(Annotation(label, *place))
            first += length
        annotations[source] = entities
    return SourcedText(text, annotations)


def _aligned(own: Words, words: Sequence[str]) -> List[str]:
    """Returns the tags of other words of the same text at these words."""
    tags = ["O"] * len(words)
    own_words = [word for word, _ in own]
    matcher = difflib.SequenceMatcher(None, own_words, words, autojunk=False)
    for kind, a, b, start, end in matcher.get_opcodes():
        if kind == "equal":
            tags[start:end] = [tag for _, tag in own[a:b]]
        elif kind == "replace":
            typed = _TYPED.fullmatch(own_words[a]) if b - a == end - start == 1 else None
            if typed and typed[1] == words[start]:
                tags[start] = f"{typed[2] or 'B'}-{typed[3]}"
                continue
            # By characters: a word gets the tag of the first piece of it.
            pieces = [tag for word, tag in own[a:b] for _ in word]
            owners = [index for index in range(start, end) for _ in words[index]]
            letters = "".join(own_words[a:b]), "".join(words[start:end])
            blocks = difflib.SequenceMatcher(None, *letters, autojunk=False).get_matching_blocks()
            matches = [(i + k, j + k) for i, j, size in blocks for k in range(size)]
            for i, j in reversed(matches):
                tags[owners[j]] = pieces[i]
    return tags


def score(
    merged: Sequence[AnnotatedText], gold: Sequence[SourcedText]
) -> Tuple[float, float, float, float]:
    """Returns the precision, recall and F1 of merged entities, and the F1 of tokens, in percent."""
    found = {(i, each) for i, text in enumerate(merged) for each in text.entities}
    true = {(i, each) for i, text in enumerate(gold) for each in text.annotations[GOLD]}
    precision, recall, f1 = _measured(found, true)
    truth = [text._replace(entities=each.annotations[GOLD]) for text, each in zip(merged, gold)]
    return precision, recall, f1, _measured(_labelled_tokens(merged), _labelled_tokens(truth))[2]


def _measured(found: Set[Any], true: Set[Any]) -> Tuple[float, float, float]:
    num_right = len(found & true)
    f1 = 2 * num_right / (len(found) + len(true))
    return 100 * num_right / len(found), 100 * num_right / len(true), 100 * f1


def _labelled_tokens(texts: Sequence[AnnotatedText]) -> Set[Tuple[int, int, str]]:
    return {
        (row, number, label)
        for row, text in enumerate(texts)
        for number, labels in enumerate(label_sets_of(fit_to_tokens(text).text))
        for label in labels
    }


def read_noisebench(folder: Path) -> List[SourcedText]:
    """Reads the texts with the labels of the crowd, the language model and the clean ones."""
    names = {"crowd": "crowd", "llm": "llm", GOLD: "clean"}
    return join_sources([f"{name}={folder / each}.txt" for name, each in names.items()])


def without(texts: Sequence[SourcedText], source: str = GOLD) -> List[SourcedText]:
    """Returns the texts without what a source gave."""
    return [
        each._replace(annotations={k: v for k, v in each.annotations.items() if k != source})
        for each in texts
    ]


def with_gold(texts: Sequence[SourcedText]) -> List[AnnotatedText]:
    """Returns the texts with their gold entities."""
    return [each.text._replace(entities=each.annotations[GOLD]) for each in texts]


def with_soft_labels(config: Dict[str, Any], path: Path) -> Dict[str, Any]:
    """Returns a config that trains on soft labels in place of those of its training file."""
    reader, model = config["dataset_reader"], copy.deepcopy(config["model"])
    model["head"]["distillation_weight"] = 1.0
    return {
        **config,
        "model": model,
        "dataset_reader": {"type": "soft_labelled", "reader": reader, "soft_labels": str(path)},
    }


def report(texts: Sequence[SourcedText]) -> Dict[str, Merged]:
    """Prints the scores of all methods, and returns what they merged."""
    results = {}
    say(f"{'method':32}precision  recall      F1  token F1")
    for name in sorted({name for each in texts for name in each.annotations} - {GOLD}):
        own = [each for each in texts if name in each.annotations]
        alone = [each.text._replace(entities=each.annotations[name]) for each in own]
        if len(own) == len(texts):
            _say_scores(f"{name} alone", alone, own)
    for method, repeats in itertools.product(METHODS, (True, False)):
        merged = merge(without(texts), method, repeats=repeats)
        name = method + ("" if repeats else ", repeats as they are")
        results[name] = merged
        _say_scores(name, merged.texts, texts)
        if name == "hidden_chain":
            for source, found in merged.sources.items():
                if found.copy_of or found.is_chance:
                    say(f"  {source}: {found}")
    return results


def _say_scores(name: str, found: Sequence[AnnotatedText], texts: Sequence[SourcedText]) -> None:
    precision, recall, f1, of_tokens = score(found, texts)
    say(f"{name:32}{precision:9.1f}{recall:8.1f}{f1:8.1f}{of_tokens:10.1f}")


def train_taggers(texts: Sequence[SourcedText], folder: Path, seeds: Sequence[int]) -> None:
    """Trains taggers on labels merged in several ways, and prints their F1 on testb."""
    folder.mkdir(parents=True, exist_ok=True)
    corpus = Path("data/conll2003")
    dev = (corpus / "eng.testa").read_text(encoding="utf-8").split("\n\n")
    (folder / "dev.txt").write_text("\n\n".join(dev[:NUM_DEV]) + "\n", encoding="utf-8")
    own = without(texts)
    hidden = merge(own)
    hidden.soft_labels("BIOUL").save(folder / "soft.npz")
    labels = {
        "hidden_chain": hidden.texts,
        "partial": merge(own, min_probability=0.9).texts,
        "majority": merge(own, "majority").texts,
        "gold": with_gold(texts),
    }
    jobs: List[Job] = []
    for name, found in labels.items():
        path = folder / f"{name}.conll"
        if not path.exists():
            convert_texts(found, path, "columns")
    config = Params.from_file("training_config/conll2003_bilstm_crf_glove.jsonnet").as_dict(
        quiet=True
    )
    config |= {"validation_data_path": str(folder / "dev.txt"), "evaluate_on_test": True}
    config |= {"test_data_path": str(corpus / "eng.testb")}
    # Small and short: what counts is the difference between the labels.
    config["model"]["encoder"]["hidden_size"] = 100
    config["data_loader"]["batch_size"] = 32
    config["trainer"]["num_epochs"] = 6
    reader = config["dataset_reader"]
    config["validation_dataset_reader"] = reader
    variants = ("majority", "hidden_chain", "soft", "partial", "gold")
    for seed in seeds:
        for name in variants:
            own_reader = {**reader, "source_encoding": "BIO", "unknown_tag": "?"}
            path = folder / f"{name if name in labels else 'hidden_chain'}.conll"
            job = {
                **copy.deepcopy(config),
                "train_data_path": str(path),
                "dataset_reader": own_reader,
            }
            if name == "soft":
                job = with_soft_labels(job, folder / "soft.npz")
            jobs += seeded_jobs({"labels": name}, job, [seed])
    run_jobs(jobs, folder, 1)
    for name in variants:
        paths = [job.folder(folder) / METRICS_FILE for job in jobs if job.factors["labels"] == name]
        scores = [json.loads(path.read_text())["test_f1-measure-overall"] for path in paths]
        say(f"{name:16}{100 * np.mean(scores):6.1f} ± {100 * np.std(scores):.1f}")


def main(arguments: Optional[Sequence[str]] = None) -> None:
    """Runs the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("corpus", choices=("crowd", "noisebench"))
    parser.add_argument("path", type=Path)
    parser.add_argument("--parts", nargs="+", default=["val", "test"])
    parser.add_argument("--equal", action="store_true", help="only sentences with equal tokens")
    parser.add_argument("--train", type=Path, metavar="FOLDER")
    parser.add_argument("--seeds", nargs="+", type=int, default=[1, 2, 3])
    args = parser.parse_args(arguments)
    if args.corpus == "noisebench":
        report(read_noisebench(args.path))
        return
    if args.train:
        texts = [text for part in args.parts for text in read_crowd(args.path, part)]
        train_taggers(texts, args.train, args.seeds)
        return
    for part in args.parts:
        texts = read_crowd(args.path, part, args.equal)
        say(f"{part}: {len(texts)} texts")
        report(texts)


if __name__ == "__main__":
    main()
