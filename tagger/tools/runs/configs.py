"""Changes a config for a part of its data."""

import json
from pathlib import Path
from typing import Any, Dict, Iterable, Mapping, Optional

from tagger.spans import spans_to_tags


def config_for(
    config: Mapping[str, Any],
    labels: Iterable[str],
    tag_encoding: Optional[str],
    train_path: Path,
    dev_path: Path,
) -> Dict[str, Any]:
    """Returns a config with other files, and with all labels of the corpus in its vocabulary.

    `tag_encoding` is that of the corpus, None for plain labels. Test data are left out.
    """
    reader = config.get("dataset_reader", {})
    params: Dict[str, Any] = json.loads(json.dumps(config))
    added = params.setdefault("vocabulary", {}).setdefault("tokens_to_add", {})
    opening = list(labels)
    if tag_encoding is not None:
        tag_encoding = reader.get("tag_encoding") or {"IOB1": "BIO"}.get(tag_encoding, tag_encoding)
        opening = [spans_to_tags([(label, (0, 0))], 1, tag_encoding)[0] for label in opening]
    of_labels = added.setdefault(reader.get("label_namespace", "labels"), [])
    of_labels.extend(each for each in opening if each not in of_labels)
    for name in ("test_data_path", "evaluate_on_test"):
        params.pop(name, None)
    return {**params, "train_data_path": str(train_path), "validation_data_path": str(dev_path)}
