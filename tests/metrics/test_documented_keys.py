"""The page of metric keys names every key of a run."""

import json
import re

from tests.pages import DOCS


def test_every_key_of_a_run_is_documented(trained):
    documented = set(re.findall(r"`([\w>-]+)`", DOCS["metrics"]))
    labels = {"PER", "LOC", "ORG", "EVENT"}
    for key in json.loads((trained / "metrics.json").read_text()):
        name = re.sub(r"^(best_)?(training|validation)_(?!share|duration|worker)", "", key)
        name = re.sub(r"^(token-)?confusion-.*", "confusion-LABEL>LABEL", name)
        name = re.sub(
            rf"^token-|({'|'.join(labels)})$", lambda each: "LABEL" if each[1] else "", name
        )
        assert name in documented or "memory_MB" in name, key
