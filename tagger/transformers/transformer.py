"""A transformer in a folder; the library `transformers` loads its parts."""

import json
from pathlib import Path
from typing import Any, Callable, NamedTuple

import torch

from tagger_compat import outside_transformers


class Transformer(NamedTuple):
    """A folder as `save_pretrained` writes it, and the SHA-256 of its files, in hexadecimal."""

    folder: Path
    digest: str

    @property
    def source(self) -> str:
        """The digest of this transformer, or of the one that it is a copy of."""
        return self.digest

    def tokenizer(self) -> Any:
        """Loads the tokenizer; if it recognises words by a blank before them, it is made to add one."""
        from transformers import AutoTokenizer

        tokenizer = self._loaded(AutoTokenizer.from_pretrained, add_prefix_space=True)
        _put_blank_before(tokenizer)
        return tokenizer

    def config(self) -> Any:
        """Loads the config of the model."""
        from transformers import AutoConfig

        return self._loaded(AutoConfig.from_pretrained)

    def model(self, dtype: Any = torch.float32) -> Any:
        """Loads the model, in float32 or as it is stored (`"auto"`), in evaluation mode."""
        from transformers import AutoModel
        from transformers.utils import logging

        with_bars = logging.is_progress_bar_enabled()
        logging.disable_progress_bar()
        try:
            return self._loaded(AutoModel.from_pretrained, dtype=dtype).eval()
        finally:
            if with_bars:
                logging.enable_progress_bar()

    def _loaded(self, load: Callable[..., Any], **options: Any) -> Any:
        """Loads a part; the transformer's own code runs only if the user allows it."""
        may_run_code = outside_transformers.may_run_code()
        with outside_transformers.transformer_loaded(self.folder):
            return load(str(self.folder), trust_remote_code=may_run_code, **options)


def _put_blank_before(tokenizer: Any) -> None:
    """Adds the blank before a text that the general class for byte tokenizers leaves out."""
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is None:
        return
    settings = json.dumps(json.loads(backend.to_str())["pre_tokenizer"])
    if '"ByteLevel"' in settings and '"add_prefix_space": true' not in settings:
        from tokenizers import normalizers

        own = [backend.normalizer] if backend.normalizer else []
        backend.normalizer = normalizers.Sequence([*own, normalizers.Prepend(" ")])
