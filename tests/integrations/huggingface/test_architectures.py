"""Tiny taggers of many architectures are imported and give the logits of transformers itself."""

import re

import pytest
import torch
from allennlp.common.checks import ConfigurationError
from transformers import AutoModelForTokenClassification, AutoTokenizer, pipeline

import tagger
from tagger.integrations.huggingface.architectures import REASONS, reason_against
from tagger.integrations.huggingface.import_tagger import import_tagger
from tagger.transformers.carried import MODEL_TYPES
from tests.conftest import ROOT
from tests.integrations.huggingface.architectures import KINDS, save_tiny
from tests.integrations.huggingface.classifiers import make_tokenizer

TEXTS = ["Ada Lovelace met Bob in London .", "Paris", "Bob lived in Paris , not in London ."]
SAMPLE = ("gpt2", "mpt", "openai_privacy_filter", "qwen3_moe", "t5", "xlnet")
PAGE = ROOT / "docs/how_to/import_hf.md"


def check_kind(kind, tmp_path):
    """Imports a tiny tagger without encoding; compares its tags and probabilities with transformers'."""
    tags = ["N", "V", "P"]
    source = save_tiny(kind, tmp_path / "source", tags)
    found = import_tagger(source, tmp_path / "model.tar.gz")
    assert found.difference < 1e-4
    loaded = tagger.load(tmp_path / "model.tar.gz")
    tokenizer = AutoTokenizer.from_pretrained(source)
    model = AutoModelForTokenClassification.from_pretrained(source)
    find = pipeline("ner", model=model, tokenizer=tokenizer, ignore_labels=[])
    for text in TEXTS:
        [tagged] = loaded.tag([text.split()], probabilities=True)
        # A blank marks the first piece of each word; not all tokenizers put one before a text.
        pieces = [each for each in find(f" {text}") if each["word"].startswith("Ġ")]
        assert tagged.tags == [each["entity"] for each in pieces]
        encoded = tokenizer(f" {text}", return_tensors="pt")
        names = tokenizer.convert_ids_to_tokens(encoded["input_ids"][0])
        firsts = [place for place, name in enumerate(names) if name.startswith("Ġ")]
        with torch.no_grad():
            logits = model(encoded["input_ids"]).logits[0, firsts]
        found = torch.tensor([list(row.values()) for row in tagged.probabilities])
        torch.testing.assert_close(found, logits.softmax(1), atol=1e-4, rtol=0)
        assert len(logits) == 1 or logits.std(0).max() > 0.01


@pytest.mark.parametrize("kind", SAMPLE)
def test_an_imported_tagger_agrees_with_the_pipeline(kind, tmp_path):
    check_kind(kind, tmp_path)


def test_every_kind_that_transformers_knows_can_be_imported_or_has_a_reason():
    assert {kind for kind in KINDS if not reason_against(kind)} | set(REASONS) == set(KINDS)
    assert set(KINDS) - set(REASONS) <= set(MODEL_TYPES)


def test_the_page_lists_what_can_be_imported_and_the_reasons_against_the_others():
    text = PAGE.read_text()
    named = set(
        re.findall(r"`([\w-]+)`", text.partition("## Architectures")[2].partition("\n## ")[0])
    )
    assert named == set(KINDS)
    for kind, reason in REASONS.items():
        [line] = [
            line for line in text.splitlines() if f"`{kind}`" in line and line.startswith("| `")
        ]
        assert reason in line


def test_a_kind_that_cannot_be_imported_says_why(tmp_path):
    source = save_tiny("fnet", tmp_path / "source")
    with pytest.raises(
        ConfigurationError, match="because its logits depend on the padding of a text"
    ):
        import_tagger(source, tmp_path / "model.tar.gz")


def test_a_tokenizer_that_splits_as_privacy_filter_does_can_be_imported(tmp_path):
    from tokenizers import Regex, pre_tokenizers

    from tagger.transformers.tokenizer_rules import _PATTERNS

    [pattern] = [each for each in _PATTERNS if each.startswith(r"[^\r\n\p{L}\p{N}]?[\p{Lu}")]
    source = save_tiny(
        "openai_privacy_filter", tmp_path / "source", ["O", "S-A", "B-A", "I-A", "E-A"]
    )
    tokenizer = make_tokenizer("bytes")
    tokenizer.backend_tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(pattern), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.save_pretrained(source)
    found = import_tagger(source, tmp_path / "model.tar.gz")
    assert (found.encoding, found.difference < 1e-5) == ("IOBES", True)
