import numpy as np
import pytest

from tagger.data.soft_labels import SoftLabels

SENTENCES = [["Ada", "left"], ["Zoë"], ["Ada", "left"]]


def random_labels():
    generator = np.random.default_rng(0)
    tags = generator.dirichlet([0.3] * 3, size=5)
    transitions = generator.dirichlet([0.3] * 9, size=3).reshape(3, 3, 3)
    # A single token has no transitions.
    transitions *= np.array([1, 0, 1])[:, None, None]
    labels = SoftLabels(["O", "B-PER", "I-PER"], SENTENCES, tags, transitions, [2, 1])
    return labels, tags, transitions


def test_marginals_are_looked_up_by_words_and_sum_to_one():
    labels, tags, transitions = random_labels()
    found = labels.find(["Ada", "left"])
    np.testing.assert_allclose(found.tags, tags[:2], atol=1e-3)
    np.testing.assert_allclose(found.transitions, transitions[0], atol=1e-3)
    np.testing.assert_allclose(found.tags.sum(1), 1, rtol=1e-6)
    np.testing.assert_allclose(found.transitions.sum(), 1, rtol=1e-6)
    single = labels.find(("Zoë",))
    np.testing.assert_allclose(single.tags, tags[2:3], atol=1e-3)
    assert single.transitions.sum() == 0
    assert labels.find(["left", "Ada"]) is None


def test_a_file_preserves_everything(tmp_path):
    labels, _, _ = random_labels()
    labels.save(tmp_path / "soft.npz")
    loaded = SoftLabels.load(tmp_path / "soft.npz")
    assert loaded.tags == labels.tags
    assert loaded.sentences == labels.sentences
    ada, zoe = ("Ada", "left"), ("Zoë",)
    assert list(loaded.documents()) == list(labels.documents()) == [[ada, zoe], [ada]]
    for words in SENTENCES:
        for ours, theirs in zip(loaded.find(words), labels.find(words)):
            assert np.array_equal(ours, theirs)


def test_other_files_are_refused(tmp_path):
    missing = "soft.npz: expected a file of soft labels, got none"
    with pytest.raises(FileNotFoundError, match=missing):
        SoftLabels.load(tmp_path / "soft.npz")
    (tmp_path / "soft.npz").write_bytes(b"no archive")
    with pytest.raises(ValueError, match="soft.npz: expected a file of `allennlp soft-labels`"):
        SoftLabels.load(tmp_path / "soft.npz")
    np.savez(tmp_path / "other.npz", numbers=np.arange(3))
    with pytest.raises(ValueError, match="with format 2, got another; write it again"):
        SoftLabels.load(tmp_path / "other.npz")
    np.savez(tmp_path / "objects.npz", format=np.array([object()], dtype=object))
    with pytest.raises(ValueError, match="with format 2, got another"):
        SoftLabels.load(tmp_path / "objects.npz")
