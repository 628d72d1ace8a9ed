"""Archives of every head with weights set by hand, and what they predict, by enumeration.

Each word has its own emissions, so that nothing of the models is needed to know the predictions.
"""

import contextlib
import functools
import json
from typing import List, NamedTuple, Optional

import torch
from allennlp.common import Params
from allennlp.common.meta import META_NAME, Meta
from allennlp.data import Vocabulary
from allennlp.models import Model, load_archive
from allennlp.models.archival import archive_model

from tagger.common.vocabulary import tags_in_order
from tagger.linear_chain import ChainScores, log_likelihood
from tagger.models.sequence_tagger_ensemble import AVERAGES
from tagger.modules.heads import ChainHead, TaggingHead
from tagger.modules.heads.chain import legal_transitions
from tagger.tools.studies.ensemble_archive import write_ensemble
from tagger_texts.prediction import Prediction
from tagger_texts.tagged_text import NO_EXTRAS
from tests.oracles.all_paths import AllPaths

TEXT = "the Bank of York Trust closed today"
WORDS = TEXT.split()
TAGS = ["O", "B-LOC", "B-ORG", "I-LOC", "I-ORG"]
LABELS = ["LOC", "ORG"]
#: The emissions of each word, for the tags in their order.
EMISSIONS = {
    "the": [3.0, 0, 0.5, 0, 0],
    "Bank": [0.5, 0, 2.5, 0.25, 0.5],
    "of": [1.0, 0, 0.2, 0.1, 2.2],
    "York": [0.25, 3.0, 0.5, 0.3, 2.6],
    "Trust": [0.4, 0.3, 0.8, 0.2, 2.1],
    "closed": [3.5, 0, 0, 0.1, 0],
    "today": [4.0, 0, 0.1, 0, 0.3],
}
#: How the emissions of an ensemble's second member differ.
OTHER = {"York": [0, -1.5, 0.3, 0, 0.5], "Bank": [0.4, 0, -0.6, 0, 0]}
TRANSITIONS = [[0.3 * ((3 * i + 2 * j) % 5) - 0.5 for j in range(5)] for i in range(5)]
START, END = [0.2, -0.1, 0.1, 0, 0], [0.1, 0, -0.2, 0.3, 0]
#: Scores of plain labels, for the head `sigmoid` and for documents.
SCORES = {word: [row[1] - 1.5, row[2] + row[4] - 1.5] for word, row in EMISSIONS.items()}
#: The steps of a recording, and the label of each.
NUMBERS = [[2.0, 0.0], [1.0, 0.5], [-2.0, 1.0]]
ACTIVITIES = ["rest", "run", "walk"]

#: The heads of taggers of text, which come from the registry; one of ours needs an entry in `_config`.
HEADS = sorted(TaggingHead.list_available())
ENSEMBLES = [f"{head}, averaged {average}" for head in HEADS for average in AVERAGES]
#: Those without scores of transitions.
PLAIN = ("softmax", "foreign_chain")
KINDS = [*HEADS, *ENSEMBLES, "documents", "numbers", "document_classifier"]
#: Those of heads that the package knows nothing of.
FOREIGN = ["foreign_chain", "foreign_tags"]


class Found(NamedTuple):
    """An entity, by its tokens."""

    label: str
    first: int
    last: int
    probability: Optional[float]


class ForeignChain(ChainHead):
    """All sequences that spell entities, with no scores of transitions."""

    def __init__(self, vocab, label_namespace="labels", tag_encoding=None, **kwargs):
        super().__init__(vocab, label_namespace, tag_encoding, **kwargs)
        allowed = legal_transitions(tag_encoding, self.tags)
        scores = torch.zeros(allowed.shape).masked_fill(~allowed, -torch.inf)
        self.register_buffer("scores", scores, persistent=False)

    def sequence_loss(self, emissions, gold_tags, mask):
        return -log_likelihood(self.chain_scores(emissions), gold_tags, mask)

    def chain_scores(self, emissions):
        inner, start, end = self.scores[:-2, :-2], self.scores[-2, :-2], self.scores[:-2, -1]
        return ChainScores(emissions, inner, start, end)


class ForeignTags(TaggingHead):
    """The best tag of each token, with no chain behind it."""

    def __init__(self, vocab, label_namespace="labels", tag_encoding=None):
        super().__init__()
        self.tags = tags_in_order(vocab, label_namespace)

    def sequence_loss(self, emissions, gold_tags, mask):
        of_gold = self.marginals(emissions, mask).gather(2, gold_tags.clamp(min=0).unsqueeze(2))
        return -(of_gold.squeeze(2).log() * mask).sum(1)

    def marginals(self, emissions, mask):
        return emissions.softmax(2)

    def predict(self, emissions, mask, extras=NO_EXTRAS):
        return {"predicted_tags": emissions.argmax(2)}

    def predictions(self, output, lengths):
        rows = output.pop("predicted_tags").tolist()
        return [
            Prediction(tags=[self.tags[k] for k in row[:length]])
            for row, length in zip(rows, lengths)
        ]

    def measure(self, predictions, gold_tags, mask):
        pass

    def get_metrics(self, reset=False):
        return {}


@contextlib.contextmanager
def foreign_heads():
    """Registers `FOREIGN`, as another package would."""
    heads = TaggingHead._registry[TaggingHead]
    for name, head in zip(FOREIGN, (ForeignChain, ForeignTags)):
        TaggingHead.register(name)(head)
    yield
    for name in FOREIGN:
        del heads[name]


def write_archive(folder, config, vocab, weights, name="model.tar.gz"):
    """Writes an archive, of which `weights` sets some of the weights."""
    folder.mkdir(parents=True, exist_ok=True)
    Params(json.loads(json.dumps(config))).to_file(str(folder / "config.json"))
    vocab.save_to_files(str(folder / "vocabulary"))
    Meta.new().to_file(folder / META_NAME)
    model = Model.from_params(Params(json.loads(json.dumps(config["model"]))), vocab=vocab)
    with torch.no_grad():
        state = model.state_dict()
        for key, value in weights(model).items():
            state[key].copy_(torch.as_tensor(value))
    torch.save(state, folder / "best.th")
    archive_model(folder, weights="best.th", archive_path=folder / name)
    return folder / name


def _config(kind):
    labels, reader = LABELS, {"type": "column", "tokenizer": {"type": "blanks"}}
    model = {"type": "sequence_tagger", "encoder": {"type": "pass_through"}, "head": {"type": kind}}
    if kind in ("crf", "documents", "label_chains", "softmax", *FOREIGN):
        labels = TAGS
        reader["tag_encoding"] = model["tag_encoding"] = "BIO"
    if kind == "sigmoid":
        reader.update(source_encoding=None, label_separator="|")
    elif kind == "softmax":
        model["head"]["constrain_decoding"] = True
    elif kind == "label_chains":
        reader["label_chains"] = True
    elif kind == "documents":
        model["head"], model["document_contexts"] = {"type": "crf"}, ["same_words"]
        reader["documents"] = "docstart"
    embedder = {"tokens": {"type": "embedding", "embedding_dim": len(labels)}}
    if kind == "numbers":
        labels, model["head"] = ACTIVITIES, {"type": "crf"}
        reader = {"type": "numeric_sequences", "number_columns": ["x", "y"]}
        reader["label_columns"] = "activity"
        embedder = {"numbers": {"type": "numbers", "size": 2}}
    elif kind == "document_classifier":
        encoder = {"type": "boe", "embedding_dim": len(labels)}
        model, reader = {"type": kind, "encoder": encoder}, {"type": "document"}
    model["text_field_embedder"] = {"token_embedders": embedder}
    data = {"train_data_path": "train.txt", "validation_data_path": "dev.txt"}
    loader = {"type": "bucketed", "batch_size": 4}
    trainer = {"num_epochs": 1, "optimizer": {"type": "adam", "lr": 0.01}}
    config = {"dataset_reader": reader, "model": model, "data_loader": loader, "trainer": trainer}
    return {**config, **data}, labels


def write_tagger(kind, folder, changes=None):
    """Writes an archive of a kind that is no ensemble; `changes` are added to emissions of words."""
    config, labels = _config(kind)
    vocab = Vocabulary(non_padded_namespaces=["labels"])
    for label in labels:
        vocab.add_token_to_namespace(label, "labels")
    if kind != "numbers":
        for word in WORDS:
            vocab.add_token_to_namespace(word, "tokens")

    def weights(model):
        own = {name: torch.zeros_like(value) for name, value in model.state_dict().items()}
        own = {name: value for name, value in own.items() if "projection" in name}
        projection = own["projection.weight"]
        size = len(labels) if kind != "numbers" else 2
        projection[:, :size] = torch.eye(len(labels))[:, :size]
        if kind == "numbers":
            embedder = next(name for name in model.state_dict() if name.endswith("means"))
            own[embedder] = torch.zeros(2)
            own[embedder.replace("means", "scales")] = torch.ones(2)
        else:
            rows = torch.tensor([rows_of(kind, changes)[word] for word in WORDS])
            name = next(name for name in model.state_dict() if "token_embedder_tokens" in name)
            unknown = torch.zeros(2, len(labels))
            own[name] = torch.cat([unknown, rows])
        return {**own, **_scores_of(model.state_dict())}

    return write_archive(folder, config, vocab, weights)


def rows_of(kind, changes=None):
    """The emissions by word."""
    rows = SCORES if kind in ("sigmoid", "document_classifier") else EMISSIONS
    added = changes or {}
    return {
        word: [a + b for a, b in zip(row, added.get(word, [0.0] * 5))] for word, row in rows.items()
    }


def _scores_of(state):
    """The scores of transitions in a model's state, from the tables of all tags."""
    transitions, start, end = map(torch.tensor, (TRANSITIONS, START, END))
    found = {}
    for name, value in state.items():
        at = list(range(value.shape[-1])) if value.dim() else []
        if "chains." in name:
            at = [0, 1, 3] if "chains.0" in name else [0, 2, 4]
        if name.endswith("crf.transitions"):
            found[name] = transitions[at][:, at]
        elif name.endswith("crf.start_transitions"):
            found[name] = start[at]
        elif name.endswith("crf.end_transitions"):
            found[name] = end[at]
    return found


def write_kind(kind, folder):
    """Writes the archive of a kind, once."""
    path = folder / "model.tar.gz"
    if path.exists():
        return path
    head, _, average = kind.partition(", averaged ")
    if not average:
        return write_tagger(kind, folder)
    paths = [write_tagger(head, folder / "a"), write_tagger(head, folder / "b", OTHER)]
    write_ensemble(paths, [load_archive(each) for each in paths], path, average)
    return path


@functools.cache
def predictions(kind):
    """The entities that a kind of tagger finds in `TEXT`, by place, by enumeration of all paths."""
    head, _, average = kind.partition(", averaged ")
    members = [rows_of(head), rows_of(head, OTHER)] if average else [rows_of(head)]
    members = [[rows[word] for word in WORDS] for rows in members]
    if kind == "foreign_tags":
        best = [TAGS[torch.tensor(row).argmax()] for row in members[0]]
        return [Found(*span, None) for span in _spans(best)]
    chains = [[0, 1, 3], [0, 2, 4]] if head == "label_chains" else [range(len(TAGS))]
    found = [each for at in chains for each in _of_chain(members, list(at), average, head)]
    return sorted(found, key=lambda each: (each.first, -each.last))


def label_probabilities(kind):
    """The probability of each label at each token of `TEXT`, (T, C), for the head `sigmoid`."""
    head, _, average = kind.partition(", averaged ")
    members = [rows_of(head), rows_of(head, OTHER)] if average else [rows_of(head)]
    scores = torch.tensor([[rows[word] for word in WORDS] for rows in members])
    return scores.sigmoid().mean(0) if average == "marginals" else scores.mean(0).sigmoid()


def _of_chain(members: List, at: List[int], average: str, head: str) -> List[Found]:
    if average != "marginals":
        members = [[[sum(each) / len(members) for each in zip(*rows)] for rows in zip(*members)]]
    tables = [_paths(rows, at, head) for rows in members]
    is_legal = tables[0].path_scores > -torch.inf
    tags = tables[0].tags[is_legal]
    probabilities = tables[0].probabilities()[is_legal]
    best = probabilities.argmax()
    if average == "marginals":
        marginals = sum(table.tag_marginals() for table in tables) / len(tables)
        of_tags = marginals[torch.arange(len(WORDS)), tags]
        best = of_tags.sum(1).argmax()
        probabilities = of_tags.log().sum(1).softmax(0)
    of_paths = [_spans([TAGS[at[k]] for k in path]) for path in tags.tolist()]
    return [
        Found(*span, sum(p for p, own in zip(probabilities.tolist(), of_paths) if span in own))
        for span in of_paths[best]
    ]


def _paths(rows, at, head):
    """All paths through words with these emissions; illegal ones have the score -inf."""
    tags = [TAGS[k] for k in at]
    is_legal = [[tag[0] != "I" or before[1:] == tag[1:] for tag in tags] for before in ["O", *tags]]
    start, *inner = torch.tensor(
        [[0.0 if each else -torch.inf for each in row] for row in is_legal]
    )
    scores = [torch.tensor(each, dtype=torch.float64) for each in (TRANSITIONS, START, END)]
    transitions, own_start, end = [0 * each for each in scores] if head in PLAIN else scores
    emissions = torch.tensor([rows], dtype=torch.float64)[:, :, at]
    transitions = transitions[at][:, at] + torch.stack(inner)
    return AllPaths((emissions, transitions, own_start[at] + start, end[at]), 0, range(len(rows)))


def _spans(tags):
    """The spans of BIO tags; an `I` that continues no span begins one."""
    spans = []
    for t, tag in enumerate(tags):
        before = tags[t - 1][1:] if t else ""
        if tag[0] == "B" or (tag[0] == "I" and before != tag[1:]):
            spans.append((tag[2:], t, t))
        elif tag[0] == "I":
            spans[-1] = (*spans[-1][:2], t)
    return spans


def best_steps():
    """The best labels of `NUMBERS`."""
    emissions = torch.tensor([[[*row, 0.0] for row in NUMBERS]])
    transitions, start, end = map(torch.tensor, (TRANSITIONS, START, END))
    of_labels = slice(len(ACTIVITIES))
    scores = emissions, transitions[of_labels, of_labels], start[of_labels], end[of_labels]
    paths = AllPaths(scores, 0, range(len(NUMBERS)))
    return [ACTIVITIES[k] for k in paths.paths[paths.path_scores.argmax()]]
