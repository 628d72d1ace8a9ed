import argparse
import json
import shutil

import pytest
import torch
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError
from allennlp.data import Instance, Token, Vocabulary
from allennlp.data.fields import TextField
from allennlp.data.token_indexers import SingleIdTokenIndexer
from allennlp.models import Model, load_archive
from allennlp.nn.util import get_text_field_mask

from tagger.data import LabelSetsField, TagField
from tagger.data.fields.label_chains_field import LabelChainsField
from tagger.models import SequenceTaggerEnsemble
from tagger.models.sequence_tagger_ensemble import AVERAGES
from tagger.modules.heads import LabelChainsHead, TaggingHead
from tagger.modules.heads.chain_head import MixtureHead
from tagger.tools.studies.commands.ensemble import Ensemble
from tests.conftest import CONFIGS, ROOT
from tests.models.batches import small_tagger, tensors
from tests.oracles.all_paths import AllPaths

TOY = CONFIGS / "toy_bilstm_crf.jsonnet"
#: Every registered head, so that a new one is tried, too.
HEADS = {name: {"type": name} for name in TaggingHead.list_available()}
HEADS["softmax"]["constrain_decoding"] = True
#: Settings after training, for the heads that take them.
SETTINGS = {
    "decode_bias": {"PER": 0.3},
    "entity_thresholds": {"LOC": 0.2},
    "recalibration": {"PER": [0.6, 0.4, -0.8], "LOC": [1.5, 0.7, 0.2]},
}
SENTENCES = [(["Ada", "Lovelace", "left"], ["B-PER", "I-PER", "O"]), (["Rome"], ["B-LOC"])]


def instance(words, tags, head):
    text = TextField([Token(word) for word in words], {"tokens": SingleIdTokenIndexer()})
    if head == "sigmoid":
        labels = LabelSetsField([[] if tag == "O" else [tag[2:]] for tag in tags], text)
        return Instance({"tokens": text, "tags": labels})
    if head == "label_chains":
        sets = [[] if tag == "O" else [tag] for tag in tags]
        return Instance({"tokens": text, "tags": LabelChainsField(sets, text)})
    return Instance({"tokens": text, "tags": TagField(tags, text)})


@pytest.fixture(params=HEADS)
def head(request):
    return request.param


@pytest.fixture
def instances(head):
    return [instance(words, tags, head) for words, tags in SENTENCES]


def build(instances, head_type, seed=0, **head_changes):
    """A tagger with scores so large that members differ."""
    torch.manual_seed(seed)
    params = small_tagger({**HEADS[head_type], **head_changes}, embedding_dim=4)
    params["initializer"] = {"regexes": [["projection.weight", {"type": "normal", "std": 3.0}]]}
    vocab = Vocabulary.from_instances(instances)
    if head_type == "label_chains":
        for tag in ("O", "I-LOC"):
            vocab.add_token_to_namespace(tag, "labels")
    return Model.from_params(Params(params), vocab=vocab).eval()


def ensemble(members, average):
    return SequenceTaggerEnsemble(members[0].vocab, members, average).eval()


def is_of_label(model, predicted, label):
    """Whether each predicted tag is of a label, in the shape of the predicted tags."""
    if isinstance(model.head, LabelChainsHead):
        return (predicted > 0) & torch.tensor([each == label for each in model.head.labels])
    return torch.tensor([tag.endswith(label) for tag in model.tags])[predicted]


def chains(member, batch):
    """Returns all paths of each sentence."""
    mask = get_text_field_mask(batch["tokens"])
    scores = member.head.crf.decoding_scores(member.emissions(batch["tokens"], mask).detach())
    return [AllPaths(scores, row, range(int(mask[row].sum()))) for row in range(len(mask))]


@pytest.mark.parametrize("average", AVERAGES)
@pytest.mark.parametrize("settings", [{}, SETTINGS])
@pytest.mark.parametrize("seed", range(3))
def test_an_ensemble_of_copies_predicts_like_one_tagger(seed, settings, average, head, instances):
    if head == "sigmoid":
        settings = {}  # It has none of them.
    if average == "marginals" and head != "sigmoid":
        # Averaged marginals are decoded so.
        settings = {**settings, "decoding": "minimum_risk"}
    tagger = build(instances, head, seed, **settings)
    both = ensemble([tagger, tagger], average)
    batch = tensors(tagger, instances)
    mask = get_text_field_mask(batch["tokens"])
    marginals = [m.head.marginals(m.emissions(batch["tokens"], mask), mask) for m in (tagger, both)]
    torch.testing.assert_close(marginals[1][mask], marginals[0][mask])
    expected, actual = tagger(**batch), both(**batch)
    assert actual.keys() == expected.keys()
    names = set(expected)
    if average == "marginals" and head != "sigmoid":
        # The loss is another one, and the probabilities of entities are approximate.
        names -= {"loss", "entity_probabilities"}
        if not settings.get("entity_thresholds"):
            assert actual["entity_lengths"].any()
    else:
        assert both.get_metrics(reset=True) == pytest.approx(tagger.get_metrics(reset=True))
    for name in names:
        torch.testing.assert_close(actual[name], expected[name])


@pytest.mark.parametrize("head", ["crf", "softmax", "label_chains"])
@pytest.mark.parametrize("average", AVERAGES)
def test_the_first_members_recalibration_corrects_the_probabilities(average, head, instances):
    plain, corrected = (
        ensemble([build(instances, head, seed, **settings) for seed in (1, 2)], average)
        for settings in ({}, {"recalibration": SETTINGS["recalibration"]})
    )
    batch = tensors(plain, instances)
    before, after = plain(**batch), corrected(**batch)
    assert torch.equal(before["predicted_tags"], after["predicted_tags"])
    is_entity = before["entity_lengths"] > 0
    assert is_entity.any()
    (old, new) = (each["entity_probabilities"] for each in (before, after))
    for label, (a, b, c) in SETTINGS["recalibration"].items():
        of_label = is_entity & is_of_label(plain, before["predicted_tags"], label)
        p = old[of_label].double()
        wanted = (a * p.log() - b * (1 - p).log() + c).sigmoid()
        assert new[of_label].tolist() == pytest.approx(wanted.tolist(), abs=1e-5)


@pytest.mark.parametrize("head", ["softmax", "sigmoid"])
@pytest.mark.parametrize("average", AVERAGES)
def test_scores_of_different_taggers_are_averaged(average, head, instances):
    members = [build(instances, head, seed) for seed in (1, 2)]
    both = ensemble(members, average)
    batch = tensors(both, instances)
    mask = get_text_field_mask(batch["tokens"])
    emissions = [member.emissions(batch["tokens"], mask) for member in members]
    assert not torch.allclose(*emissions)
    if average == "emissions":
        expected = both.head.marginals((emissions[0] + emissions[1]) / 2, mask)
    else:
        expected = sum(m.head.marginals(e, mask) for m, e in zip(members, emissions)) / 2
    actual = both.head.marginals(both.emissions(batch["tokens"], mask), mask)
    torch.testing.assert_close(actual[mask], expected[mask])
    assert both(**batch)["loss"].isfinite()


@pytest.mark.parametrize("head", ["crf"])
@pytest.mark.parametrize("average", AVERAGES)
@pytest.mark.parametrize("seed", range(5))
def test_geometric_means_rank_sequences_and_averaged_marginals_minimise_the_risk(
    seed, average, head, instances
):
    members = [build(instances, head, 2 * seed + each) for each in (1, 2)]
    both = ensemble(members, average)
    batch = tensors(both, instances)
    predicted = both(**batch)["predicted_tags"].tolist()
    for row, *of_members in zip(predicted, *(chains(member, batch) for member in members)):
        first = of_members[0]
        if average == "emissions":
            values = sum(chain.path_scores.log_softmax(0) for chain in of_members) / 2
        else:
            mixture = sum(chain.path_scores.softmax(0) for chain in of_members) / 2
            # (P, P): the number of tokens in which two paths agree.
            num_right = (first.tags.unsqueeze(0) == first.tags.unsqueeze(1)).double().sum(2)
            values = torch.where(first.path_scores > -torch.inf, num_right @ mixture, -1.0)
        best = first.paths[int(values.argmax())]
        assert row[: len(best)] == list(best)


@pytest.mark.parametrize("head", ["crf"])
def test_marginals_of_different_heads_and_weightings_are_averaged(head, instances):
    weighting = {"type": "chain", "label_weights": {"PER": 3.0}}
    members = [
        build(instances, "crf", 1),
        build(instances, "softmax", 2),
        build(instances, "crf", 3, weighting=weighting),
    ]
    joined = ensemble(members, "marginals")
    batch = tensors(joined, instances)
    mask = get_text_field_mask(batch["tokens"])
    emissions = [member.emissions(batch["tokens"], mask) for member in members]
    expected = sum(m.head.marginals(e, mask) for m, e in zip(members, emissions)) / 3
    actual = joined.head.marginals(joined.emissions(batch["tokens"], mask), mask)
    torch.testing.assert_close(actual[mask], expected[mask])


def test_minimum_risk_does_not_mean_the_most_probable_sequence():
    tags = ["O", "B-X", "I-X", "B-Y", "I-Y"]
    head = MixtureHead(Vocabulary({"labels": dict.fromkeys(tags, 1)}), "labels", "BIO")
    probabilities = torch.tensor([[[0.9, 0.1, 0, 0, 0], [0.06, 0.05, 0.8, 0.05, 0.04]]])
    # Expected correct tags: 0.96 for O O, 0.9 for B-X I-X. The products are 0.054 and 0.08.
    mask = torch.ones(1, 2, dtype=torch.bool)
    assert head.decode(probabilities.log(), mask).tolist() == [[0, 0]]


@pytest.mark.parametrize("head", ["crf", "softmax"])
@pytest.mark.parametrize("average", AVERAGES)
def test_the_ensemble_uses_its_members_decoding_settings(average, head, instances):
    for settings, expected in (
        ({"decode_bias": {"PER": 200.0}}, {"B-PER"}),
        ({"entity_thresholds": {"PER": 1.0, "LOC": 1.0}}, {"O"}),
    ):
        members = [build(instances, head, seed, **settings) for seed in (1, 2)]
        both = ensemble(members, average)
        outputs = both.forward_on_instances(instances)
        assert {tag for output in outputs for tag in output["tags"]} == expected


@pytest.mark.parametrize("head", ["sigmoid"])
def test_thresholds_are_averaged(head, instances):
    members = [build(instances, head, seed) for seed in (1, 2)]
    for member, threshold in zip(members, (0.2, 0.6)):
        member.head.thresholds.thresholds.fill_(threshold)
    assert ensemble(members, "marginals").head.thresholds.thresholds.tolist() == pytest.approx(
        [0.4, 0.4]
    )


@pytest.mark.parametrize(
    ("members", "average", "message"),
    [
        (["crf"], "mean", "`average` must be one of.*got 'mean'"),
        ([], "emissions", "`members` must hold at least one"),
        (["crf", "softmax"], "emissions", "number 1 has a `SoftmaxHead`, .*average `marginals`"),
        (["crf", "label_chains"], "marginals", "number 1 has a `LabelChainsHead`, which differs"),
        (["model"], "emissions", "got number 0, a `Model`"),
    ],
)
@pytest.mark.parametrize("head", ["crf"])
def test_incompatible_members_are_refused(members, average, message, instances):
    vocab = Vocabulary.from_instances(instances)
    models = [Model(vocab) if each == "model" else build(instances, each) for each in members]
    with pytest.raises(ConfigurationError, match=message):
        SequenceTaggerEnsemble(vocab, models, average)


@pytest.mark.slow
@pytest.mark.parametrize("average", AVERAGES)
def test_an_archive_of_archives_is_evaluated_and_predicts(
    average, trained, trained_otherwise, allennlp, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    paths = []
    for name, folder in {"a": trained, "b": trained_otherwise}.items():
        paths.append(tmp_path / f"{name}.tar.gz")
        shutil.copy(folder / "model.tar.gz", paths[-1])
    members = [load_archive(path).model for path in paths]
    output = tmp_path / "both.tar.gz"
    allennlp("ensemble", *paths, "-o", output, "--average", average)
    # The archive contains everything it needs.
    for path in paths:
        path.unlink()
    test_file = ROOT / "data/toy/test.txt"
    allennlp("evaluate", output, test_file, "--output-file", "metrics.json")
    options = ["--use-dataset-reader", "--silent", "--output-file", "predictions.jsonl"]
    allennlp("predict", output, test_file, *options)
    both = ensemble(members, average)
    reader = load_archive(trained / "model.tar.gz").dataset_reader
    expected = both.forward_on_instances(list(reader.read(test_file)))
    lines = (tmp_path / "predictions.jsonl").read_text().splitlines()
    assert [json.loads(line)["tags"] for line in lines] == [each["tags"] for each in expected]
    metrics = json.loads((tmp_path / "metrics.json").read_text())
    expected_metrics = both.get_metrics(reset=True)
    assert {name: metrics[name] for name in expected_metrics} == pytest.approx(expected_metrics)


@pytest.mark.slow
def test_another_vocabulary_is_refused_and_nothing_is_overwritten(trained, allennlp, tmp_path):
    folder = tmp_path / "other"
    shutil.copytree(trained, folder)
    words = folder / "vocabulary/tokens.txt"
    words.write_text(words.read_text().replace("Nordbank", "Southbank"))
    output = tmp_path / "both.tar.gz"
    with pytest.raises(
        SystemExit, match="other and .* differ in the vocabulary's namespace `tokens`"
    ):
        allennlp("ensemble", trained / "model.tar.gz", folder, "-o", output)
    output.write_text("mine")
    with pytest.raises(SystemExit, match="both.tar.gz already exists"):
        allennlp("ensemble", trained / "model.tar.gz", "-o", output)
    assert output.read_text() == "mine"


@pytest.mark.slow
def test_the_files_used_in_training_are_not_needed(trained, allennlp, tmp_path):
    folder = tmp_path / "member"
    shutil.copytree(trained, folder)
    config = json.loads((folder / "config.json").read_text())
    embedders = config["model"]["text_field_embedder"]["token_embedders"]
    embedders["tokens"]["pretrained_file"] = "no such file"
    (folder / "config.json").write_text(json.dumps(config))
    allennlp("ensemble", folder, trained / "model.tar.gz", "-o", tmp_path / "both.tar.gz")
    assert len(load_archive(tmp_path / "both.tar.gz").model.members) == 2


@pytest.mark.slow
@pytest.mark.usefixtures("warm_python")
def test_the_command_trains_members_on_bags_and_joins_them(allennlp, at_root, tmp_path, capfd):
    output, runs = tmp_path / "both.tar.gz", tmp_path / "runs"
    config = json.loads(json.dumps(Params.from_file(TOY).as_dict(quiet=True)))
    config["trainer"]["num_epochs"] = 1
    (tmp_path / "small.json").write_text(json.dumps(config))
    command = ("ensemble", tmp_path / "small.json", "-s", runs, "-o", output, "--bagging")
    allennlp(*command, "--seeds", 1, 2, "--average", "marginals")
    assert "2 runs, of which 0 are finished" in capfd.readouterr().out
    archive = load_archive(output)
    assert len(archive.model.members) == 2
    loaders = [
        json.loads((runs / f"runs/small/{seed}/config.json").read_text())["data_loader"]
        for seed in (1, 2)
    ]
    sampler = {"type": "bagging", "batch_size": config["data_loader"]["batch_size"]}
    assert loaders == 2 * [{"type": "bucketed", "batch_sampler": sampler}]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["a.jsonnet"], "a.jsonnet is a config to train; give `-s FOLDER`"),
        (["a.tar.gz", "b.tar.gz", "--bagging"], "`--bagging` and `-s` are for training"),
        (["a.jsonnet", "x/a.json", "-s", "runs"], "two configs have the name a; rename one"),
        (["sampled.json", "-s", "runs", "--bagging"], "needs a data loader `bucketed` with"),
    ],
)
def test_what_cannot_be_trained_is_refused(arguments, message, allennlp, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x").mkdir()
    loader = {"type": "bucketed", "batch_sampler": {"type": "bucket", "batch_size": 4}}
    for name in ("a.jsonnet", "x/a.json", "sampled.json"):
        (tmp_path / name).write_text(json.dumps({"data_loader": loader}))
    with pytest.raises(SystemExit, match=message):
        allennlp("ensemble", *arguments, "-o", "out.tar.gz")


def test_the_command_offers_every_average():
    parser = argparse.ArgumentParser().add_subparsers()
    subparser = Ensemble().add_subparser(parser)
    (option,) = (each for each in subparser._actions if each.dest == "average")
    assert (*option.choices, option.default) == (*AVERAGES, AVERAGES[0])
