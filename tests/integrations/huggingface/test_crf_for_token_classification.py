import pytest
import torch
from transformers import (
    AutoConfig,
    AutoModelForTokenClassification,
    DataCollatorForTokenClassification,
)

from tagger.common.from_allennlp import ConfigurationError
from tagger.integrations.huggingface import CrfConfig, CrfForTokenClassification, encode_words
from tagger.integrations.huggingface.crf_for_token_classification import resolved_weighting
from tagger.linear_chain import viterbi_decode
from tagger.modules import ConditionalRandomField, TagWeighting
from tests.integrations.huggingface.backbones import SIZE, TAGS, load_tokenizer, random_model

SENTENCES = [
    (["ada", "lovelace", "lived", "in", "london", "."], [1, 2, 0, 0, 3, 0]),
    (["london"], [3]),
    (["ada", "in", "ada"], [1, -1, 1]),
]
WEIGHTINGS = [
    {"type": "emission", "label_weights": {"PER": 2}},
    {"type": "emission_transition", "label_weights": {"PER": 2}, "transition_weight": "from"},
    {"type": "lannoy", "label_weights": {"PER": 2}},
    {"type": "chain", "weight_rule": {"type": "effective_number", "beta": 0.9}},
    {"type": "marginal", "weight_rule": "balanced", "gamma": 1.0},
    {"type": "softmax_margin", "missing": {"PER": 2.0}, "inventing": 0.5},
]
COUNTS = {"O": 60, "B-PER": 10, "I-PER": 5, "B-LOC": 20}


@pytest.fixture
def batch(backbone):
    tokenizer = load_tokenizer(backbone)
    items = [
        window.inputs
        for words, labels in SENTENCES
        for window in encode_words(tokenizer, words, 40, labels)
    ]
    return DataCollatorForTokenClassification(tokenizer)(items)


def test_only_the_words_count_in_the_loss(backbone, batch):
    weighting = {"type": "chain", "label_weights": {"PER": 3.0}}
    model = random_model(backbone, weighting=weighting)
    short = {name: each[:, :SIZE] for name, each in batch.items()}
    output = model(**short)
    crf = ConditionalRandomField(
        5, weighting=TagWeighting.by_name("chain")(tag_weights=[1.0, 3.0, 3.0, 1.0, 1.0])
    )
    names = ("transitions", "start_transitions", "end_transitions")
    crf.load_state_dict({name: getattr(model.crf, name) for name in names}, strict=False)
    losses = []
    for row, labels in zip(output.logits, short["labels"]):
        words = labels != -100
        losses.append(-crf(row[words].unsqueeze(0), labels[words].unsqueeze(0)))
    torch.testing.assert_close(output.loss, torch.stack(losses).mean())
    output.loss.backward()
    without = [n for n, p in model.named_parameters() if p.requires_grad and p.grad is None]
    assert without == []


@pytest.mark.parametrize("weighting", WEIGHTINGS, ids=lambda weighting: weighting["type"])
def test_each_weighting_is_saved_and_gives_the_same_loss(bert, weighting, tmp_path):
    model = random_model(bert, weighting=weighting, tag_counts=COUNTS)
    model.save_pretrained(tmp_path)
    loaded = AutoModelForTokenClassification.from_pretrained(tmp_path)
    assert isinstance(loaded, CrfForTokenClassification)
    inputs = {
        "input_ids": torch.randint(5, 20, (2, 7), generator=torch.manual_seed(0)),
        "labels": torch.tensor([[-100, 1, 2, -100, 0, 3, -100], [-100, 0, -100, 0, 1, 2, 0]]),
    }
    assert torch.equal(loaded(**inputs).loss, model(**inputs).loss)
    plain = random_model(bert)
    assert not torch.equal(plain(**inputs).loss, model(**inputs).loss)
    state = model.state_dict()
    assert loaded.state_dict().keys() == state.keys()
    for name, tensor in loaded.state_dict().items():
        assert torch.equal(tensor, state[name]), name


def test_pretrained_weights_are_kept(backbone):
    from transformers import AutoModel

    pretrained = AutoModel.from_pretrained(backbone).state_dict()
    model = CrfForTokenClassification.from_backbone(backbone, TAGS)
    prefix = f"{model.token_classifier.base_model_prefix}."
    state = model.token_classifier.state_dict()
    kept = [name for name in pretrained if prefix + name in state]
    assert len(kept) > 10
    for name in kept:
        assert torch.equal(state[prefix + name], pretrained[name]), name


def test_a_model_with_more_embeddings_is_saved_and_loaded(backbone, tmp_path):
    model = random_model(backbone)
    size = model.get_input_embeddings().num_embeddings + 3
    model.resize_token_embeddings(size)
    model.save_pretrained(tmp_path)
    loaded = AutoModelForTokenClassification.from_pretrained(tmp_path)
    assert loaded.get_input_embeddings().num_embeddings == size
    assert loaded.config.get_text_config().vocab_size == size
    ids = torch.tensor([[2, size - 1, 3]])
    assert torch.equal(loaded(ids).logits, model(ids).logits)
    assert AutoConfig.from_pretrained(tmp_path).to_diff_dict() == loaded.config.to_diff_dict()
    # A change to one appears in the other and is saved.
    for each in (model, loaded):
        assert each.config.backbone is each.token_classifier.config


@pytest.mark.parametrize("attention", ["eager", "sdpa"])
def test_the_backbone_uses_the_requested_attention(backbone, attention, tmp_path):
    random_model(backbone).save_pretrained(tmp_path)
    arguments = {"attn_implementation": attention}
    loaded = CrfForTokenClassification.from_pretrained(tmp_path, **arguments)
    fresh = CrfForTokenClassification.from_backbone(backbone, TAGS, **arguments)
    for model in (loaded, fresh):
        assert model.token_classifier.base_model.config._attn_implementation == attention
    other = "sdpa" if attention == "eager" else "eager"
    loaded.set_attn_implementation(other)
    assert loaded.token_classifier.base_model.config._attn_implementation == other


def test_labels_are_renamed_for_the_backbone_too(bert, tmp_path):
    random_model(bert).save_pretrained(tmp_path)
    tags = ["O", "B-X", "I-X", "B-Y", "I-Y"]
    loaded = CrfForTokenClassification.from_pretrained(tmp_path, id2label=dict(enumerate(tags)))
    assert loaded.config.tags == tags
    assert loaded.token_classifier.config.id2label == dict(enumerate(tags))
    fewer = {"id2label": dict(enumerate(tags[:3])), "ignore_mismatched_sizes": True}
    assert CrfForTokenClassification.from_pretrained(tmp_path, **fewer).crf.num_tags == 3


def test_decoding_obeys_the_encoding_and_skips_positions_that_are_not_words(bert):
    logits = torch.zeros(1, 5, 5)
    # Without constraints, the best tags would be O and I-PER, with B-PER at the piece in between.
    logits[0, 1, 0] = logits[0, 2, 1] = logits[0, 3, 2] = 9
    mask = torch.tensor([[False, True, False, True, False]])
    model = random_model(bert)
    model.crf.transitions.data.zero_()
    path = model.decode(logits, mask)[0].tolist()
    assert path[0] == path[2] == path[4] == -100
    assert path[3] != 2 or path[1] in (1, 2)
    free = random_model(bert, constrain_decoding=False)
    free.crf.transitions.data.zero_()
    assert free.decode(logits, mask)[0].tolist() == [-100, 0, -100, 2, -100]
    best, _ = viterbi_decode(model.chain_scores(logits), mask)
    assert best[0, 3] == path[3]


def test_plain_labels_have_no_constraints(bert):
    model = CrfForTokenClassification.from_backbone(bert, ["NOUN", "VERB"])
    assert model.config.tag_encoding is None
    assert bool((model.crf._constraint_mask == 1).all())


def test_gradient_checkpointing_changes_no_gradient(bert):
    inputs = {
        "input_ids": torch.randint(5, 20, (1, 6), generator=torch.manual_seed(0)),
        "labels": torch.tensor([[-100, 1, 2, -100, 0, 3]]),
    }
    gradients = []
    for is_on in (False, True):
        model = random_model(bert)
        if is_on:
            model.activation_checkpointing_enable()
            assert model.is_activation_checkpointing
        model.train()
        for module in model.modules():
            if isinstance(module, torch.nn.Dropout):
                module.p = 0.0
        model(**inputs).loss.backward()
        gradients.append(model.token_classifier.bert.embeddings.word_embeddings.weight.grad)
    torch.testing.assert_close(*gradients)


def test_without_labels_there_is_no_loss(bert):
    model, ids = random_model(bert), torch.tensor([[2, 5, 3]])
    output = model(input_ids=ids)
    assert output.loss is None
    assert output.logits.shape == (1, 3, 5)
    loss, logits = model(input_ids=ids, labels=torch.tensor([[-100, 1, -100]]), return_dict=False)
    assert loss.dim() == 0
    torch.testing.assert_close(logits, output.logits)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"weighting": {"label_weights": {"PER": 2}}}, "`weighting` must name its `type`, one of"),
        ({"weighting": {"type": "chian", "tag_weights": [1] * 5}}, "did you mean"),
        (
            {"weighting": {"type": "chain", "label_weights": {"PRE": 2}}},
            "`label_weights` names `PRE`.*did you mean `PER`",
        ),
        (
            {"weighting": {"type": "chain", "weight_rule": {"type": "balanced"}}},
            "`weight_rule` needs the tags of the training data; give `tag_counts`",
        ),
        ({"tags": ["O", "O"]}, "`tags` must be distinct; got O, O"),
        ({"tags": ["N", "V"], "constrain_training": True}, "`constrain_training` needs tags"),
    ],
)
def test_user_errors_have_clear_messages(bert, arguments, message):
    with pytest.raises(ConfigurationError, match=message):
        CrfForTokenClassification.from_backbone(bert, **{"tags": TAGS, **arguments})


def test_rules_give_the_weights_of_the_registered_classes():
    resolved = resolved_weighting(
        {"type": "chain", "weight_rule": {"type": "balanced"}},
        ["O", "B-PER", "I-PER"],
        {"O": 6, "B-PER": 3},
    )
    assert resolved == {"type": "chain", "tag_weights": [0.75, 1.5, 1.0]}
    assert CrfConfig(weighting=resolved).make_weighting().tag_weights.tolist() == [0.75, 1.5, 1.0]


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
@pytest.mark.parametrize("weighting", WEIGHTINGS, ids=lambda weighting: weighting["type"])
def test_half_precision_trains_and_tags(bert, weighting, dtype, tmp_path):
    random_model(bert, weighting=weighting, tag_counts=COUNTS).save_pretrained(tmp_path)
    model = CrfForTokenClassification.from_pretrained(tmp_path, dtype=dtype)
    assert {str(p.dtype) for p in model.crf.parameters()} == {f"torch.{dtype}"}
    inputs = torch.randint(5, 20, (1, 7), generator=torch.manual_seed(0))
    labels = torch.tensor([[-100, 1, 2, -100, -1, 3, -100]])
    output = model(input_ids=inputs, labels=labels)
    output.loss.backward()
    assert all(p.grad.isfinite().all() for p in model.crf.parameters() if p.requires_grad)
    exact = model.crf.float().log_likelihood(output.logits.float(), labels, labels != -100)
    torch.testing.assert_close(output.loss, -exact.mean())
    assert model.half().decode(output.logits, labels != -100)[0, 0] == -100
