"""The config and the tokenizer of a fine-tuned transformer, as an archive stores them.

The transformer's weights are part of the model's, so an archive needs no other file, not even the
weights that training started from.
"""

from pathlib import Path
from typing import Any, Optional

from allennlp.common.checks import ConfigurationError

from tagger.transformers.carried import CarriedTransformer, description_of, write_carried
from tagger.transformers.pretrained import find_transformer
from tagger.transformers.transformer import Transformer
from tagger_compat import archive_guard

#: The folder for them in a training run and in its archive.
FINE_TUNED = "fine_tuned"


def fine_tuned_tokenizer(name: str, run_folder: Optional[str]) -> Any:
    """Loads a transformer's tokenizer, from the archive if there is one."""
    return (_archived(name, run_folder) or _outside(name)).tokenizer()


def fine_tuned_model(name: str, run_folder: Optional[str]) -> Any:
    """Loads a transformer for training, in float32, or creates that of an archive, without weights.

    In a training run, the config and tokenizer are saved where the archive takes them from.
    """
    archived = _archived(name, run_folder)
    if archived is not None and archive_guard.archive_file() is not None:
        return archived.model_without_weights()
    try:
        transformer = _outside(name)
    except ConfigurationError:
        if archived is None:
            raise
    else:
        if archived is None and run_folder is not None:
            folder = Path(run_folder, FINE_TUNED, Path(name).name)
            write_carried(transformer, folder, with_weights=False)
        # A run that is resumed before its first checkpoint has no other weights.
        if archived is None or archived.description() == description_of(transformer):
            return transformer.model()
    return archived.model_without_weights()


def _outside(name: str) -> Transformer:
    state = archive_guard.current()
    if state is not None and not state.is_named_by_user(name):
        archive_guard.refuse(
            f"the archive lacks the folder `{FINE_TUNED}/{Path(name).name}` of its transformer",
            "name a transformer's folder with --overrides, or copy the archive again",
        )
    return find_transformer(name)


def _archived(name: str, run_folder: Optional[str]) -> Optional[CarriedTransformer]:
    folder = Path(run_folder or "", FINE_TUNED, Path(name).name)
    return CarriedTransformer(folder, "") if run_folder and folder.is_dir() else None
