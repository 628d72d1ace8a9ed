#!/usr/bin/env python
"""Measures how well a label is added to a tagger without its training data.

    python scripts/experiments/measure_added_labels.py conll2003 -s runs/added --labels ORG MISC PER LOC
    python scripts/experiments/measure_added_labels.py crossner_music -s runs/added_music \
        --labels band award

Each label in turn is the new one. A base tagger is trained on old sentences without it. Then new
sentences are labelled with the new label only, and it is added to the tagger in these ways:

- add-label: like `allennlp add-label`, with and without its bias;
- pseudo-labels: from the same start, with all weights trained, on the new labels and on the base
  tagger's entities where they do not overlap any;
- fine-tuning: the same, treating everything that is not labelled as outside;
- joint: no addition, but a tagger trained on the old sentences, with the new label left unknown, and on
  the new sentences with all labels.

With `--label-chains`, taggers have the head of that name; only the base tagger and add-label are
measured.

All are evaluated on development data; test data are not read. Each run's F1 is in results.csv: `new`
for the new label, `old` for the others together. Finished runs are kept.
"""

import argparse
import json
import random
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Optional, cast

from allennlp.common import Params
from allennlp.data import DatasetReader, Instance
from allennlp.models import load_archive

from tagger.common.console import say
from tagger.data.fields.tag_sets_field import TagSetsField
from tagger.models import SequenceTagger
from tagger.spans import TagSet, spans_to_tags
from tagger.tools.labels.addition import MOST_LOST, add_labels
from tagger.tools.labels.corpus import Corpus
from tagger.tools.labels.new_label_bias import is_opened, with_old_entities
from tagger.tools.labels.student import Prepare, keep_what_is_known, open_outside
from tagger.tools.runs.jobs import Job, run_jobs
from tagger.tools.runs.results import Column, format_summary, read_results, tabulate, write_results
from tagger.tools.runs.work import measure, train


class Study(NamedTuple):
    """The settings of the measurements on a corpus.

    Attributes:
        config: The config of the base tagger.
        overrides: Changes to that config.
        train: The file with the old sentences, and with the new ones if there are enough.
        dev: The file to evaluate on; if there are too few old sentences, it also provides the new ones.
        num_old: The smallest number of old sentences; None for all.
        num_new: The number of new sentences.
    """

    config: str
    overrides: Mapping[str, Any]
    train: str
    dev: str
    num_old: Optional[int]
    num_new: int


STUDIES = {
    # A small tagger on part of the data, since only the differences between ways matter.
    "conll2003": Study(
        "training_config/conll2003_frozen_minilm_crf.jsonnet",
        {"model.encoder.hidden_size": 150, "trainer.num_epochs": 5},
        "data/conll2003/eng.train",
        "data/conll2003/eng.testa",
        3000,
        300,
    ),
    "crossner_music": Study(
        "training_config/crossner_music_bilstm_crf.jsonnet",
        {},
        "data/crossner_music/train.txt",
        "data/crossner_music/dev.txt",
        None,
        190,
    ),
}
#: A chain for each label, and how a label is added to them.
CHAINS = {"dataset_reader.label_chains": True, "model.head": {"type": "label_chains"}}
METHODS_OF_CHAINS = ("base", "add-label")
METHODS = (
    *("base", "add-label", "add-label without bias"),
    *("pseudo-labels", "fine-tuning", "joint"),
)
SEEDS = ("random_seed", "numpy_seed", "pytorch_seed")


def write(corpus: Corpus, path: Path, sentences: Iterable[int], labels: Sequence[str]) -> None:
    """Writes sentences with only the entities of these labels."""
    spelling = "BIO" if corpus.encoding == "IOB1" else corpus.encoding or "BIO"
    parts, before = [], None
    for number in sentences:
        sentence = corpus.sentences[number]
        if corpus.documents and sentence.document != before:
            parts.append("-DOCSTART-\n\n")
            before = sentence.document
        kept = [span for span in sentence.spans if span[0] in labels]
        tags = spans_to_tags(kept, len(sentence.rows), spelling)
        parts += [f"{token} {tag}\n" for token, tag in zip(sentence.tokens, tags)] + ["\n"]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(parts), encoding="utf-8")


def in_random_order(corpus: Corpus, seed: int) -> list[int]:
    """Returns the indices of the sentences in random order, with documents kept together."""
    documents = [sentence.document for sentence in corpus.sentences]
    if not corpus.documents:
        documents = list(range(len(documents)))
    order = list(range(documents[-1] + 1))
    random.Random(seed).shuffle(order)
    rank = {document: place for place, document in enumerate(order)}
    return sorted(range(len(documents)), key=lambda number: (rank[documents[number]], number))


def write_files(study: Study, folder: Path, seed: int, label: str) -> None:
    """Writes the files for a seed and a label."""
    reader = Params.from_file(study.config)["dataset_reader"].as_dict(quiet=True)
    corpus, dev = (Corpus(Path(path), reader) for path in (study.train, study.dev))
    others = [each for each in dev.labels if each != label]
    if study.num_old is None:
        order = in_random_order(dev, seed)
        source, new, measured = dev, order[: study.num_new], order[study.num_new :]
        old: Sequence[int] = range(len(corpus.sentences))
    else:
        order = in_random_order(corpus, seed)
        source, new, measured = corpus, order[: study.num_new], list(range(len(dev.sentences)))
        begun = {corpus.sentences[number].document for number in new}
        rest = [number for number in order if corpus.sentences[number].document not in begun]
        last = corpus.sentences[rest[study.num_old - 1]].document
        ends = [place for place, n in enumerate(rest) if corpus.sentences[n].document == last]
        old = rest[: ends[-1] + 1]
    write(corpus, folder / "old.txt", old, others)
    write(source, folder / "new.txt", new, [label])
    write(source, folder / "full.txt", new, dev.labels)
    write(dev, folder / "dev.txt", measured, dev.labels)
    write(dev, folder / "dev_old.txt", measured, others)


@DatasetReader.register("old_and_new", exist_ok=True)
class OldAndNewReader(DatasetReader):
    """Reads old sentences, with only some labels known, and new ones with all labels."""

    def __init__(
        self, reader: DatasetReader, old: str, known: list[str], tag_encoding: str
    ) -> None:
        super().__init__()
        self._reader, self._old, self._known, self._encoding = reader, old, known, tag_encoding

    def _read(self, file_path: Any) -> Iterable[Instance]:
        for instance in self._reader.read(self._old):
            opened = open_outside(cast(TagSetsField, instance["tags"]), self._known, self._encoding)
            instance.fields["tags"] = opened
            yield instance
        yield from self._reader.read(file_path)

    def apply_token_indexers(self, instance: Instance) -> None:
        self._reader.apply_token_indexers(instance)


def label_nothing(_teacher: Any, _student: Any, instances: Sequence[Instance]) -> None:
    """Treats everything unlabelled as outside, which is plain fine-tuning."""
    for instance in instances:
        field = cast(TagSetsField, instance["tags"])
        field.tag_sets = [
            TagSet(frozenset("O")) if is_opened(each) else each for each in field.tag_sets
        ]


def label_best(teacher: SequenceTagger, _student: Any, instances: Sequence[Instance]) -> None:
    """Adds the entities that the teacher finds as pseudo-labels, unless they contradict labels."""
    for instance, completed in zip(instances, with_old_entities(teacher, instances)):
        instance.fields["tags"] = completed["tags"]


#: Slows the learning of all weights to a third of the rate used from scratch.
SLOWER = '{"trainer.optimizer.lr": 0.001}'
ADDITIONS: dict[str, tuple[Prepare, str, Optional[float]]] = {
    "add-label": (keep_what_is_known, "", MOST_LOST),
    "add-label without bias": (keep_what_is_known, "", None),
    "pseudo-labels": (label_best, SLOWER, None),
    "fine-tuning": (label_nothing, SLOWER, None),
}


def job_of(study: Study, files: Path, folder: Path, label: str, method: str, seed: int) -> Job:
    """Returns the job of a method."""
    factors = {"label": label, "method": method, "seed": seed}
    base = Job({**factors, "method": "base"}, {}).folder(folder)
    settings: dict[str, Any] = {"method": method, "dev": str(files / "dev.txt"), "label": label}
    if method in ADDITIONS:
        settings |= {"archive": str(base / "model.tar.gz"), "new": str(files / "new.txt")}
        return Job(factors, settings)
    config = Params.from_file(study.config, json.dumps(study.overrides)).as_dict(quiet=True)
    config.pop("validation_data_path")
    config |= dict.fromkeys(SEEDS, seed)
    config["train_data_path"] = str(files / "old.txt")
    if method == "base":
        settings["dev"] = str(files / "dev_old.txt")
    else:
        plain = config["dataset_reader"]
        labels = Corpus(files / "dev_old.txt", {}).labels
        config["validation_dataset_reader"] = plain
        config["dataset_reader"] = {
            "type": "old_and_new",
            "reader": {**plain, "unknown_tag": "?"},
            "old": str(files / "old.txt"),
            "known": labels,
            "encoding": plain["tag_encoding"],
        }
        config["train_data_path"] = str(files / "full.txt")
    return Job(factors, {**settings, "config": config})


def work(settings: Mapping[str, Any], folder: Path) -> None:
    """Trains a tagger in one of the ways and evaluates it; the work of a job."""
    if "config" in settings:
        train(settings["config"], folder)
    else:
        prepare, overrides, most_lost = ADDITIONS[settings["method"]]
        add_labels(settings["archive"], settings["new"], folder, overrides, prepare, most_lost)
        for checkpoint in folder.glob("*.th"):
            checkpoint.unlink()
    found = measure(load_archive(folder / "model.tar.gz"), settings["dev"], "dev")
    metrics = {"old": f1_of_others(found, settings["dev"], settings["label"])}
    if settings["method"] != "base":
        metrics["new"] = found[f"dev_f1-measure-{settings['label']}"]
    file = folder / "metrics.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), **metrics, **found}, indent=2))


def f1_of_others(metrics: Mapping[str, float], dev: str, label: str) -> float:
    """Returns the micro F1 of all labels but one."""
    spans = [span for sentence in Corpus(Path(dev), {}).sentences for span in sentence.spans]
    gold = [name for name, _ in spans if name != label]
    right = {each: metrics[f"dev_recall-{each}"] * gold.count(each) for each in set(gold)}
    precisions = {each: metrics[f"dev_precision-{each}"] for each in right}
    found = sum(right[each] / precisions[each] for each in right if precisions[each])
    return 2 * sum(right.values()) / (len(gold) + found)


def main(arguments: Optional[Sequence[str]] = None) -> None:
    """Runs the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("study", choices=STUDIES)
    parser.add_argument("-s", dest="folder", type=Path, required=True, help="for all results")
    parser.add_argument("--labels", nargs="+", required=True, help="each in turn is the new one")
    parser.add_argument("--seeds", nargs="+", type=int, default=[1])
    parser.add_argument("--label-chains", action="store_true", help="use the head of that name")
    args = parser.parse_args(arguments)
    study, jobs, all_methods = STUDIES[args.study], list[Job](), list(METHODS)
    if args.label_chains:
        study = study._replace(overrides={**study.overrides, **CHAINS})
        all_methods = list(METHODS_OF_CHAINS)
    for seed in args.seeds:
        for label in args.labels:
            files = args.folder / "data" / str(seed) / label
            if not files.exists():
                write_files(study, files, seed, label)
            # The base tagger must exist before the others start.
            for methods in (all_methods[:1], all_methods[1:]):
                own = [job_of(study, files, args.folder, label, name, seed) for name in methods]
                jobs += own
                run_jobs(own, args.folder, 1, work)
    results = read_results(jobs, args.folder)
    write_results(results, args.folder / "results.csv")
    columns = [Column("old labels", ["old"]), Column("new label", ["new"])]
    for name in all_methods:
        of_method = [each for each in results if each.factors["method"] == name]
        if of_method:
            say(format_summary(tabulate(of_method, columns[: 1 if name == "base" else 2])))


if __name__ == "__main__":
    main()
