"""Features of words: the hidden states of a frozen transformer, pooled over the pieces of each word.

Letters: `P` pieces, `W` words of a passage, `H` the chosen layers, `D` features of a layer.
"""

import copy
import hashlib
import json
import threading
import weakref
from itertools import chain
from typing import Any, Callable, Dict, List, Optional, Sequence, Tuple

import numpy as np
import torch
from allennlp.common.checks import ConfigurationError

from tagger.common.ranges import check_is_one_of
from tagger.common.threads import run_side_by_side
from tagger.data.data_loaders.batch_order import batches_of_equal
from tagger.transformers.precision import PRECISIONS, precision_of_frozen
from tagger.transformers.transformer import Transformer
from tagger.transformers.windows import (
    POOLINGS,
    Passage,
    Window,
    check_windows,
    kept_states,
    longest_window,
    overlapping_windows,
    padded_lengths,
    pool_pieces,
)
from tagger.transformers.word_pieces import WordPieces
from tagger_compat import archive_guard

# Pieces in a call of the transformer, padding included: more need more padding, fewer more calls.
_BATCH_PIECES = {"cpu": 1024, "cuda": 32768}

_models: weakref.WeakValueDictionary[str, Any] = weakref.WeakValueDictionary()
_lock = threading.Lock()


class WordFeatures:
    """Computes the features of the words of passages.

    The arguments are those of `FrozenTransformerEmbedder`.

    Attributes:
        layers: The indices of the layers, from 0 for the embeddings.
        size: `D`.
        pooling: That of the arguments.
        max_pieces: That of the arguments.
    """

    def __init__(
        self,
        transformer: Transformer,
        layers: Optional[Sequence[int]],
        pooling: str,
        max_pieces: int,
        overlap: int,
        precision: str = "auto",
    ) -> None:
        config = transformer.config()
        self._pieces = WordPieces(transformer.tokenizer())
        check_is_one_of("pooling", pooling, POOLINGS)
        check_is_one_of("precision", precision, PRECISIONS)
        check_windows(max_pieces, overlap)
        self._num_special = len(self._pieces.start_pieces) + len(self._pieces.end_pieces)
        self._longest = longest_window(config)
        if self._longest is not None and max_pieces + self._num_special > self._longest:
            raise ConfigurationError(
                f"`max_pieces` must be at most {self._longest - self._num_special} for this "
                f"transformer; got {max_pieces}"
            )
        self._transformer = transformer
        # Loaded now, because an unpacked archive is removed as soon as it is read.
        self._loaded = _shared(f"{transformer.digest} as saved", transformer.model)
        self._model: Any = None
        self.layers = _chosen(layers, config.num_hidden_layers + 1)
        self.size: int = config.hidden_size
        self.pooling = pooling
        self.max_pieces = max_pieces
        self._overlap = overlap
        self._precision = precision
        archive_guard.before_use(self._try)

    @property
    def saved_model(self) -> Any:
        """The transformer in float32."""
        return self._loaded

    def _try(self) -> None:
        """Reads two pieces, to check that the transformer of an archive works at all."""
        pieces, mask = torch.zeros(1, 2, dtype=torch.long), torch.ones(1, 2, dtype=torch.bool)
        with torch.inference_mode():
            output = self._loaded(input_ids=pieces, attention_mask=mask, output_hidden_states=True)
        assert len(output.hidden_states) > max(self.layers)

    def __deepcopy__(self, memo: Dict[int, Any]) -> "WordFeatures":
        return self  # It never changes.

    def __getstate__(self) -> Dict[str, Any]:
        # The library leaves hooks in a used model, which cannot be pickled.
        model = self._loaded
        loaded = type(model), model.config, model.state_dict()
        return {**vars(self), "_loaded": loaded, "_model": None}

    def __setstate__(self, state: Dict[str, Any]) -> None:
        vars(self).update(state)
        make, config, weights = state["_loaded"]

        def build() -> Any:
            model = make(config).float()
            model.load_state_dict(weights)
            return model.eval()

        self._loaded = _shared(f"{self._transformer.digest} as saved", build)

    def settings(self, device: torch.device) -> str:
        """Returns a digest of all that determines the features of a passage, in hexadecimal."""
        precision = precision_of_frozen(self._precision, device)
        settings: List[Any] = [self._transformer.digest, self.layers, self.pooling]
        settings += [self.max_pieces, self._overlap, f"torch.{precision}"]
        return hashlib.sha256(json.dumps(settings).encode()).hexdigest()

    @torch.inference_mode()
    def compute(
        self,
        passages: Sequence[Passage],
        device: torch.device,
        mix: Optional[torch.Tensor] = None,
        batches_at_once: int = 1,
    ) -> List[Tuple[int, torch.Tensor]]:
        """Computes the features of passages, in batches of equal padded length.

        On a CPU with MKL, they do not depend on the other passages. `mix`, (H,) float32, are weights
        for a sum of the layers. `batches_at_once` share PyTorch's threads; it is 1 on a GPU, or if
        several threads call this. Returns the index of each passage, and its features, float32 on
        `device`: (W, D) with `mix`, else (W, H, D). Passages of equal length are adjacent.
        """
        if not passages:
            return []
        precision = precision_of_frozen(self._precision, device)
        model = self._model = _frozen_model(
            self._loaded, self._transformer.digest, device, precision
        )
        sizes = self.max_pieces, self._overlap
        windows = [overlapping_windows(len(each.pieces), *sizes) for each in passages]
        at_once = _BATCH_PIECES[device.type]

        def pooled(indices: Sequence[int], states: torch.Tensor) -> List[Tuple[int, torch.Tensor]]:
            own = [passages[index].num_pieces for index in indices]
            num_pieces = torch.from_numpy(np.concatenate(own)).long()
            words = pool_pieces(states, num_pieces, self.pooling)
            return list(zip(indices, words.split(list(map(len, own)))))

        def together(indices: Sequence[int]) -> List[Tuple[int, torch.Tensor]]:
            own = [(passages[index], windows[index][0]) for index in indices]
            return pooled(indices, self._states(model, own, mix))

        def in_several(index: int) -> List[Tuple[int, torch.Tensor]]:
            own = [(passages[index], each) for each in windows[index]]
            number = max(1, at_once // self.max_pieces)
            batches = [own[at : at + number] for at in range(0, len(own), number)]
            states = [self._states(model, batch, mix) for batch in batches]
            return pooled([index], torch.cat(states))

        single = np.array([index for index, own in enumerate(windows) if len(own) == 1], np.int64)
        lengths = self._padded([len(passages[index].pieces) for index in single])
        batches = [(single[batch].tolist(),) for batch in batches_of_equal(lengths, at_once)]
        computed = run_side_by_side(together, batches, batches_at_once)
        computed += [in_several(index) for index, own in enumerate(windows) if len(own) > 1]
        return list(chain.from_iterable(computed))

    def _states(
        self, model: Any, windows: Sequence[Tuple[Passage, Window]], mix: Optional[torch.Tensor]
    ) -> torch.Tensor:
        """Returns the states of the pieces that windows keep, (P, D) with `mix`, else (P, H, D)."""
        own_pieces = [passage.pieces[each.start : each.end].tolist() for passage, each in windows]
        length = self._padded([max(map(len, own_pieces))])
        pieces, mask = self._pieces.padded(own_pieces, int(length[0]))
        output = model(
            input_ids=pieces.to(model.device),
            attention_mask=mask.to(model.device),
            output_hidden_states=True,
        )
        layers = [output.hidden_states[layer] for layer in self.layers]
        # (N, L, D) or (N, L, H, D)
        if mix is None:
            states = torch.stack(layers, 2)
        else:
            states = torch.zeros(layers[0].shape, device=model.device)
            for weight, layer in zip(mix.tolist(), layers):
                states.add_(layer, alpha=weight)
        own = [each for _, each in windows]
        return kept_states(states, own, len(self._pieces.start_pieces)).float()

    def _padded(self, lengths: Sequence[int]) -> np.ndarray:
        """Returns the lengths with special pieces and padding, (N,)."""
        return padded_lengths(np.array(lengths, np.int64) + self._num_special, self._longest)


def _frozen_model(loaded: Any, digest: str, device: torch.device, precision: str) -> Any:
    """Returns the model that computes on a device in a precision."""
    if device.type == "cpu" and precision == "float32":
        return loaded

    def convert() -> Any:
        with torch.inference_mode(False):
            if precision == "int8":
                # Imported here for its kernels: bfloat16 and float32 need none.
                from tagger.transformers.int8_linear import with_int8_matrices

                return with_int8_matrices(loaded)
            dtype = torch.bfloat16 if precision == "bfloat16" else torch.float32
            return copy.deepcopy(loaded).to(device, dtype).requires_grad_(False)

    return _shared(f"{digest} {device} {precision}", convert)


def _shared(name: str, make: Callable[[], Any]) -> Any:
    """Returns a model that is shared within this process."""
    with _lock:
        model = _models.get(name)
        if model is None:
            model = _models[name] = make()
        return model


def _chosen(layers: Optional[Sequence[int]], number: int) -> List[int]:
    if layers is None:
        return list(range(number))
    if not layers or not all(-number <= layer < number for layer in layers):
        raise ConfigurationError(
            f"`layers` must be from 0, the embeddings, to {number - 1}, or negative to count from the "
            f"end; got {list(layers)}"
        )
    return [layer % number for layer in layers]
