"""Takes a Hugging Face token classifier apart."""

import json
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Iterator, NamedTuple, Optional

import torch
from allennlp.common.checks import ConfigurationError

from tagger.integrations.huggingface.crf_for_token_classification import CrfForTokenClassification
from tagger.integrations.huggingface.folder_guard import (
    check_folder,
    check_tokenizer_rules,
    guarded,
)
from tagger.modules.conditional_random_field import ConditionalRandomField
from tagger_compat import outside_transformers


class Parts(NamedTuple):
    """The parts of a token classifier."""

    backbone: Any
    # ModernBERT's layer between the transformer and the classifier; None for other models
    head: Any
    # The layer that computes the logits
    linear: torch.nn.Linear
    # None for a plain classifier
    crf: Optional[ConditionalRandomField]


@contextmanager
def quiet_library() -> Iterator[None]:
    """Hides the library's progress bars and its warning about an unused pooler."""
    from transformers.utils import logging

    verbosity, with_bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(verbosity)
        if with_bars:
            logging.enable_progress_bar()


def loaded_classifier(name_or_path: str) -> Any:
    """Loads the model, in float32 and evaluation mode, and its tokenizer; downloads nothing."""
    from transformers import AutoModelForTokenClassification, AutoTokenizer

    is_folder = Path(name_or_path, "config.json").is_file()
    cached = None if is_folder else outside_transformers.in_hub_cache(name_or_path)
    if not is_folder and (cached is None or not Path(cached, "config.json").is_file()):
        raise ConfigurationError(
            f"{name_or_path}: expected a folder with a `config.json`, as `save_pretrained` writes it, "
            "or a name in the local cache of the Hugging Face hub; got neither"
        )
    folder = name_or_path if cached is None else cached
    options = {"local_files_only": True, "trust_remote_code": outside_transformers.may_run_code()}
    check_folder(folder, name_or_path)
    with outside_transformers.transformer_loaded(name_or_path), guarded(folder, name_or_path):
        try:
            model, loading = AutoModelForTokenClassification.from_pretrained(
                folder, dtype=torch.float32, output_loading_info=True, **options
            )
            tokenizer = AutoTokenizer.from_pretrained(folder, add_prefix_space=True, **options)
        except (OSError, ValueError) as error:
            reason = " ".join(str(error).split())
            raise ConfigurationError(
                f"{name_or_path}: expected a model for token classification; {reason:.300}"
            ) from error
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is None:
        raise ConfigurationError(
            f"{name_or_path}: expected a tokenizer of the library `tokenizers`, which knows the word of "
            f"each piece; got {type(tokenizer).__name__}, which has none"
        )
    check_tokenizer_rules(json.loads(backend.to_str()), f"{name_or_path}: the tokenizer")
    missing = sorted(loading["missing_keys"])
    if missing:
        raise ConfigurationError(
            f"{name_or_path}: expected a trained model for token classification, but its weights lack "
            f"{', '.join(missing[:3])}; is this a transformer without a classifier?"
        )
    return model.eval(), tokenizer


def parts_of(classifier: Any) -> Parts:
    """Takes a classifier apart; accepts only a transformer with one linear layer above it."""
    crf = None
    if isinstance(classifier, CrfForTokenClassification):
        crf, classifier = classifier.crf, classifier.token_classifier
    backbone = classifier.base_model
    head = linear = None
    for name, module in classifier.named_children():
        if module is backbone or isinstance(module, (torch.nn.Dropout, torch.nn.Identity)):
            continue
        if isinstance(module, torch.nn.Linear) and linear is None:
            linear = module
        elif type(module).__name__ == "ModernBertPredictionHead" and linear is None:
            head = module
        elif list(module.parameters()) or list(module.children()):
            raise ConfigurationError(
                f"{type(classifier).__name__} has the part `{name}` ({type(module).__name__}) above its "
                "transformer; only models with a single linear layer there can be imported"
            )
    if linear is None or backbone is classifier:
        raise ConfigurationError(
            f"{type(classifier).__name__} has no linear layer above a transformer; only models with a "
            "single one can be imported"
        )
    return Parts(backbone, head, linear, crf)
