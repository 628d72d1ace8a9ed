"""Trains taggers on folds of a corpus and scores the sentences held out.

Letters: `S` rows (sentences, or a row for each sentence and label), `T` tokens, `K` tags, `C` labels.
"""

import shutil
from pathlib import Path
from typing import Any, List, Mapping, NamedTuple, Sequence, Tuple

import numpy as np
import torch
from allennlp.common.checks import ConfigurationError
from allennlp.common.util import lazy_groups_of
from allennlp.data import DatasetReader
from allennlp.models import Model
from scipy.special import logit

from tagger.models import ClassifyingModel, TaggingModel
from tagger.models.measured_model import MeasuredModel
from tagger.models.tagging_model import chain_of, spell_model
from tagger.spans import AMBIGUOUS
from tagger.tools.labels.cells import RUN
from tagger.tools.labels.corpus import make_folds
from tagger.tools.labels.document_corpus import AnyCorpus
from tagger.tools.runs.configs import config_for
from tagger.tools.runs.jobs import run_jobs, seeded_jobs
from tagger.tools.runs.work import train
from tagger.tools.tuning.labelled_file import encoded, read_instances

_SCORES = "scores.npz"
#: How far probabilities of labels stay from 0 and 1.
_MARGIN = 1e-6


class SentenceScores(NamedTuple):
    """The chains of S rows under one tagger, or the mean over several taggers.

    The mean of the scores gives the normalised geometric mean of their distributions over sequences, as
    in `SequenceTaggerEnsemble`.
    """

    # (K,) and (S,) int64
    tags: np.ndarray
    lengths: np.ndarray
    # (tokens, K): all sentences concatenated
    emissions: np.ndarray
    # (K, K), (K,), (K,)
    transitions: np.ndarray
    start: np.ndarray
    end: np.ndarray
    # (C,), the labels of a sentence's rows; empty if the rows are the sentences
    row_labels: np.ndarray = np.empty(0, dtype=str)

    def ordered(self, tags: Sequence[str]) -> "SentenceScores":
        """Returns the scores with the tags in this order; raises an error if these are other tags."""
        own = self.tags.tolist()
        if sorted(own) != sorted(tags):
            different = sorted(set(own) ^ set(tags))
            raise ConfigurationError(
                f"taggers must have the same tags; these differ in {different}"
            )
        order = [own.index(tag) for tag in tags]
        return SentenceScores(
            np.array(tags),
            self.lengths,
            self.emissions[:, order],
            self.transitions[np.ix_(order, order)],
            self.start[order],
            self.end[order],
            self.row_labels,
        )


def mean_scores(several: Sequence[SentenceScores]) -> SentenceScores:
    """Returns the mean of several taggers' scores of the same sentences, with the tags of the first."""
    tags, lengths = several[0][:2]
    row_labels = several[0].row_labels
    if any(each.row_labels.tolist() != row_labels.tolist() for each in several):
        raise ConfigurationError("taggers must have the same labels; these have others")
    ordered = [each.ordered(tags.tolist())[2:6] for each in several]
    means = (np.mean(parts, axis=0) for parts in zip(*ordered))
    return SentenceScores(tags, lengths, *means)._replace(row_labels=row_labels)


def out_of_fold(
    corpus: AnyCorpus,
    folder: Path,
    config: Mapping[str, Any],
    num_folds: int,
    seeds: Sequence[int],
    num_workers: int,
) -> List[Tuple[List[int], SentenceScores]]:
    """Trains taggers on folds of a corpus and lets each score the sentences held out from it.

    For each fold, one tagger is trained with each seed, and their scores are averaged. `config` must be
    complete; its file names are replaced. Returns the held-out rows of each fold and their scores.
    """
    folds, jobs = make_folds(corpus, num_folds), []
    for number, fold in enumerate(folds):
        place = folder / "folds" / str(number)
        place.mkdir(parents=True, exist_ok=True)
        paths = [place / f"{name}.txt" for name in fold._fields]
        for path, sentences in zip(paths, fold):
            corpus.write(path, sentences)
        own = config_for(config, corpus.labels, corpus.encoding, *paths[:2])
        for job in seeded_jobs({"fold": number}, own, seeds):
            settings = {"held_out": str(paths[2]), "config": job.config}
            jobs.append(job._replace(config=settings))
    failed = run_jobs(jobs, folder, num_workers, train_and_score)
    if failed:
        raise ConfigurationError(
            f"{len(failed)} of {len(jobs)} taggers failed; see {failed[0].log(folder)}, then repeat the "
            "command, which keeps the others"
        )
    of_folds: List[List[SentenceScores]] = [[] for _ in folds]
    for job in jobs:
        with np.load(job.folder(folder) / _SCORES, allow_pickle=False) as arrays:
            of_folds[job.factors["fold"]].append(SentenceScores(**arrays))
    width = max(1, len(corpus.labels_of_rows))
    rows = [[width * s + c for s in fold.held_out for c in range(width)] for fold in folds]
    return [(own, mean_scores(scores)) for own, scores in zip(rows, of_folds)]


def train_and_score(config: Mapping[str, Any], folder: Path) -> None:
    """Trains a tagger and saves its scores of the held-out sentences; this is the work of each job."""
    from allennlp.models import load_archive

    train(config["config"], folder)
    archive = load_archive(folder / "model.tar.gz")
    scores = score_file(archive.model, archive.validation_dataset_reader, config["held_out"])
    np.savez_compressed(folder / _SCORES, **scores._asdict())
    # A tagger trained on part of the corpus is not used for anything else.
    (folder / "model.tar.gz").unlink()
    for name in ("vocabulary", "transformers"):
        shutil.rmtree(folder / name, ignore_errors=True)


@torch.no_grad()
def score_file(model: Model, reader: DatasetReader, path: str) -> SentenceScores:
    """Returns a model's scores of the rows of a file, in order."""
    if isinstance(model, ClassifyingModel) or (
        isinstance(model, TaggingModel) and model.head.describe().has_label_sets
    ):
        return scores_of_label_sets(model, reader, path)
    chain = chain_of(model)
    if (
        not isinstance(model, TaggingModel)
        or chain is None
        or model.tag_encoding in (None, *AMBIGUOUS)
    ):
        raise ConfigurationError(
            "label errors can only be found with a `document_classifier`, or a `sequence_tagger` that "
            "has the head `sigmoid`, or `crf`, `softmax` or `label_chains` and tags that spell "
            f"entities in BIO, BIOUL, BMES or IOBES; got {spell_model(model)}"
        )
    batches = [batch for batch, _, _ in encoded(model, read_instances(reader, path), 64)]
    chains = [chain.chain_scores(batch.emissions) for batch in batches]
    return SentenceScores(
        np.array(model.tags),
        np.concatenate([batch.mask.sum(1).cpu().numpy() for batch in batches]),
        np.concatenate([c.emissions[b.mask].cpu().numpy() for c, b in zip(chains, batches)]),
        *(each.cpu().numpy() for each in chains[0][1:]),
    )._replace(row_labels=np.array(list(chain.labels_of_rows), dtype=str))


def scores_of_label_sets(model: MeasuredModel, reader: DatasetReader, path: str) -> SentenceScores:
    """Returns scores of rows for labels that are independent: of a token, or of a document.

    The chain of a label has its log-odds at each token. A run of tokens with the label begins with `B-`
    and goes on with `I-`, and no run follows another, so each sequence of tags is one set of tokens.
    """
    model.eval()
    lengths, log_odds = [], []
    labels: List[str] = []
    for group in lazy_groups_of(iter(read_instances(reader, path)), 64):
        for found in model.predict_instances(group):
            by_token = found.probabilities or []
            labels = labels or sorted(by_token[0])
            # (C, T)
            own = np.array([[each[label] for each in by_token] for label in labels])
            log_odds.append(logit(own.astype(np.float64).clip(_MARGIN, 1 - _MARGIN)).reshape(-1))
            lengths += len(labels) * [len(by_token)]
    scores = np.concatenate(log_odds)
    transitions = np.array([[0, 0, -np.inf], [0, -np.inf, 0], [0, -np.inf, 0]])
    return SentenceScores(
        np.array(["O", f"B-{RUN}", f"I-{RUN}"]),
        np.array(lengths),
        np.stack([np.zeros(len(scores)), scores, scores], axis=1),
        transitions,
        np.array([0, 0, -np.inf]),
        np.zeros(3),
        np.array(labels),
    )
