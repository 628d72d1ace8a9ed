"""After `train`, evaluates the tagger on raw text and compares F1 with that on gold tokens."""

import json
import logging
from pathlib import Path
from typing import Any, Dict, Optional

from allennlp.common import Params

from tagger.common.files import write_atomically
from tagger.training.run_folder import TEXT_METRICS_FILE
from tagger.transformers.feature_store import own_cache_settings

logger = logging.getLogger(__name__)

#: Warn if F1 on text is lower by more than this. Tokenization always costs a little.
_LEAST_LOSS = 0.02
_F1 = "f1-measure-overall"


def measure_on_text(folder: str, params: Params) -> None:
    """Writes a run's metrics on the text of its development data; warns if F1 on gold tokens is higher.

    Does nothing without such data, or if the tags spell no entities.
    """
    archive, metrics = Path(folder, "model.tar.gz"), Path(folder, "metrics.json")
    data = params.get("validation_data_path")
    if not (archive.is_file() and metrics.is_file() and isinstance(data, str)):
        return
    expected = json.loads(metrics.read_text(encoding="utf-8")).get(f"best_validation_{_F1}")
    own = own_cache_settings(params.as_dict(quiet=True))
    found = None if expected is None else _metrics_of_text(archive, data, own)
    if found is None:
        return
    with write_atomically(Path(folder, TEXT_METRICS_FILE), overwrite=True) as path:
        path.write_text(json.dumps(found, indent=2), encoding="utf-8")
    if expected - found[_F1] > _LEAST_LOSS:
        logger.warning(
            "On the text of %s, which the tagger splits into tokens itself, F1 is %.4f; on its gold "
            "tokens it is %.4f. `allennlp evaluate --from-text` shows the figures by label; if tokens "
            "are the reason, `allennlp start` finds a better `tokenizer`",
            data,
            found[_F1],
            expected,
        )


def _metrics_of_text(
    archive_file: Path, data: str, overrides: Dict[str, Any]
) -> Optional[Dict[str, float]]:
    from allennlp.common.checks import ConfigurationError
    from allennlp.models import load_archive

    from tagger.predictors.saved_tagger import SavedTagger
    from tagger.predictors.text_evaluation import evaluate_file

    try:
        archive = load_archive(archive_file, overrides=overrides)
        tagger = SavedTagger.of(archive, str(archive_file))
        return evaluate_file(tagger, archive.validation_dataset_reader, data)
    except ConfigurationError:  # The tagger finds no entities, or some gold tags are unknown.
        return None
