"""Our Dawid and Skene, without priors and without sequences, is that of crowd-kit."""

import numpy as np
import pytest

from tagger.tools.sources import hidden_chain
from tests.tools.sources.planted import LABELS, votes_of

NUM, NUM_SOURCES = 1500, 4


@pytest.mark.filterwarnings("ignore")
def test_probabilities_are_those_of_crowd_kit(monkeypatch):
    crowdkit = pytest.importorskip("crowdkit.aggregation", reason="needs crowd-kit")
    import pandas as pd

    monkeypatch.setattr(hidden_chain, "SOURCE_PRIOR", 1e-9)
    monkeypatch.setattr(hidden_chain, "_MAX_ITERATIONS", 300)
    monkeypatch.setattr(hidden_chain, "_TOLERANCE", 1e-10)
    # Crowd-kit may find an entity where nobody votes for one.
    monkeypatch.setattr(hidden_chain.HiddenChain, "possible", lambda self, scores, votes: scores)
    rng = np.random.default_rng(0)
    true = rng.choice(3, NUM, p=[0.4, 0.3, 0.3])
    is_wrong = rng.random((NUM_SOURCES, NUM)) < np.array([[0.1], [0.2], [0.25], [0.3]])
    given = np.where(is_wrong, rng.integers(0, 3, is_wrong.shape), true)
    given[rng.random(given.shape) < 0.1] = -1
    given[0, (given < 0).all(0)] = 0
    rows = [(n, s, given[s, n]) for s, n in zip(*np.nonzero(given >= 0))]
    data = pd.DataFrame(rows, columns=["task", "worker", "label"])
    expected = crowdkit.DawidSkene(n_iter=300, tol=1e-10).fit(data).probas_.sort_index()
    # Sentences of one token with the tags O, B-LOC and B-PER
    tags = np.array([0, 1, 3])
    sources = [[[int(tags[each])] if each >= 0 else None for each in own] for own in given]
    chain = hidden_chain.HiddenChain(LABELS, NUM_SOURCES, chained=False)
    _, probabilities = chain.fit(votes_of(*sources))
    found = probabilities[:, tags.tolist()].numpy()
    np.testing.assert_allclose(found, expected[[0, 1, 2]].to_numpy(), atol=1e-4)
