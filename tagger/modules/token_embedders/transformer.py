"""A token embedder over a pretrained transformer that is fine-tuned."""

from typing import Any, Optional

import numpy as np
import torch
from allennlp.common.checks import ConfigurationError
from allennlp.modules import TokenEmbedder
from torch.nn.utils.rnn import pad_sequence

from tagger.common.ranges import check_dropouts, check_is_one_of, check_number
from tagger.modules.dropout import Dropout
from tagger.modules.sentence_rows import SentenceRows
from tagger.transformers.archived import fine_tuned_model
from tagger.transformers.memory import Memory
from tagger.transformers.precision import PRECISIONS, computing_in
from tagger.transformers.upper_layers import UpperLayers
from tagger.transformers.windows import POOLINGS, longest_window, padded_lengths, pool_pieces
from tagger_compat import archive_guard


@TokenEmbedder.register("transformer")
class TransformerEmbedder(TokenEmbedder):
    """Embeds words with a pretrained transformer, which is fine-tuned; the indexer is `transformer`.

    A word's vector is pooled from the last layer's states of its word pieces. With `num_frozen_layers`,
    only the layers above these are trained. The states of the frozen layers are computed once for each
    text of the training and development data, and kept in memory.

    Letters: `B` batch, `T` tokens, `P` pieces of all windows of a text, `N` windows of a text, `S`
    windows of the batch, `L` pieces of the longest window, `D` features.

    Args:
        model_name: The transformer: a folder, or a name in the cache of the Hugging Face hub.
        pooling: How the states of a word's pieces become its vector: `"mean"`, `"first"` or `"last"`.
        dropout: The probability, in training, that a feature of a word's vector is dropped.
        num_frozen_layers: How many of the lower layers are frozen, and the embeddings below them.
        gradient_checkpointing: Whether to keep only the states between layers for the backward pass,
            and recompute the others: less memory, more time.
        precision: The precision of matrix products in training: `"float32"`, `"bfloat16"`, or `"auto"`
            for bfloat16 where that is faster. `"float32"` leaves it to the trainer's `use_amp`.
            Evaluation and prediction are in float32.
        max_cache_gb: The most memory for states of the frozen layers, in gigabytes.
        serialization_dir: The folder of the training run, or of an archive; supplied by AllenNLP.

    Raises:
        ConfigurationError: If there is no such transformer, or a setting does not fit it.
    """

    # The library's types lack much of what its models have.
    transformer_model: Any

    def __init__(
        self,
        model_name: str,
        pooling: str = "mean",
        dropout: float = 0.0,
        num_frozen_layers: int = 0,
        gradient_checkpointing: bool = False,
        precision: str = "float32",
        max_cache_gb: float = 4.0,
        serialization_dir: Optional[str] = None,
    ) -> None:
        super().__init__()
        check_is_one_of("pooling", pooling, POOLINGS)
        check_is_one_of("precision", precision, PRECISIONS)
        check_dropouts(dropout=dropout)
        check_number("max_cache_gb", max_cache_gb, max_cache_gb >= 0, "at least 0")
        self.pooling = pooling
        self.precision = precision
        self.transformer_model = _reader(fine_tuned_model(model_name, serialization_dir))
        if gradient_checkpointing:
            _checkpoint_gradients(self.transformer_model)
        self.dropout = Dropout(dropout)
        self._upper_layers: Optional[UpperLayers] = None
        if num_frozen_layers:
            self._upper_layers = UpperLayers(self.transformer_model, num_frozen_layers)
        self._cache = Memory(
            max_cache_gb * 1e9,
            f"The states of the frozen layers fill the {max_cache_gb:g} GB of `max_cache_gb`; those of "
            f"further texts are computed in each epoch; raise it if there is memory",
        )
        self._has_trained = False
        archive_guard.before_use(self._try)

    def get_output_dim(self) -> int:
        return int(self.transformer_model.config.hidden_size)

    def train(self, mode: bool = True) -> "TransformerEmbedder":
        """Sets the mode; frozen parts never use dropout."""
        super().train(mode)
        if self._upper_layers is not None:
            self.transformer_model.eval()
            for layer in self._upper_layers.upper:
                layer.train(mode)
        return self

    def forward(
        self,
        pieces: torch.Tensor,
        is_kept: torch.Tensor,
        window_lengths: torch.Tensor,
        num_pieces: torch.Tensor,
        mask: torch.Tensor,
    ) -> torch.Tensor:
        """Embeds words, (B, T, D), 0 in the padding.

        Args:
            pieces: (B, P) int64, the windows of each text, one after the other.
            is_kept: (B, P) bool, the pieces with states that are used.
            window_lengths: (B, N) int64, the number of pieces of each window, 0 in the padding.
            num_pieces: (B, T) int64, how many kept pieces each word has, 0 in the padding.
            mask: (B, T) bool.
        """
        places = torch.arange(pieces.size(1), device=pieces.device)
        windows = SentenceRows(places < window_lengths.sum(1, keepdim=True), window_lengths)
        # (S, L)
        rows, row_mask = windows.split(pieces), windows.mask
        longest = longest_window(self.transformer_model.config)
        # The transformer's own error would not say what to do.
        if longest is not None and rows.size(1) > longest:
            raise ValueError(
                f"a window has {rows.size(1)} word pieces, special ones included, but the transformer "
                f"takes at most {longest}; lower `max_pieces` of the indexer `transformer`"
            )
        padding = self.transformer_model.config.pad_token_id
        rows = torch.where(row_mask, rows, padding or 0)
        # While it is trained, states of the lower layers are kept, and differ by their last digits.
        is_trained = self.training or (self._upper_layers is not None and self._has_trained)
        compute = self._states if is_trained else self._states_by_length
        states = compute(rows, row_mask)
        # (all kept pieces, D), (all words, D)
        kept = states[windows.split(is_kept) & row_mask]
        words = pool_pieces(kept, num_pieces[mask], self.pooling)
        embedded = words.new_zeros(*mask.shape, words.size(1))
        embedded[mask] = self.dropout(words)
        return embedded

    @torch.no_grad()
    def _try(self) -> None:
        """Reads two pieces, to check that the transformer of an archive works at all."""
        pieces = torch.zeros(1, 2, dtype=torch.int64, device=self.transformer_model.device)
        self._states(pieces, torch.ones_like(pieces, dtype=torch.bool))

    def _states(self, pieces: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """Returns the states of windows, (S, L, D) float32."""
        precision = self.precision if self.training else "float32"
        self._has_trained = self._has_trained or self.training
        with computing_in(precision, pieces.device):
            # New text of a saved tagger is not kept.
            if self._upper_layers is not None and self._has_trained:
                lower = self._lower_states(self._upper_layers, pieces, mask)
                states = self._upper_layers.states(pieces, mask, lower)
            else:
                # XLNet subtracts masks.
                output = self.transformer_model(input_ids=pieces, attention_mask=mask.long())
                states = output.last_hidden_state
        return states.float()

    def _lower_states(
        self, layers: UpperLayers, pieces: torch.Tensor, mask: torch.Tensor
    ) -> torch.Tensor:
        """Returns the states of the frozen layers, (S, L, D) float32; those kept are float16."""
        lengths = mask.sum(1).tolist()
        rows = pieces.cpu().numpy()
        keys = [row[:length].tobytes() for row, length in zip(rows, lengths)]
        found = self._cache.get(keys)
        missing = [row for row, key in enumerate(keys) if key not in found]
        if missing:
            width = max(lengths[row] for row in missing)
            chosen = torch.tensor(missing, device=pieces.device)
            computed = layers.lower_states(pieces[chosen, :width], mask[chosen, :width])
            # Copies, so that the batch is not kept.
            new = {
                keys[row]: states[: lengths[row]].clone()
                for row, states in zip(missing, computed.half().cpu())
            }
            self._cache.put(new)
            found.update(new)
        padded = pad_sequence([found[key] for key in keys], batch_first=True)
        return padded.to(pieces.device).float()

    def _states_by_length(self, pieces: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        """Like `_states`, but the states of a window do not depend on the other windows."""
        lengths = mask.sum(1)
        padded = padded_lengths(
            lengths.cpu().numpy(), longest_window(self.transformer_model.config)
        )
        states = pieces.new_zeros(*pieces.shape, self.get_output_dim(), dtype=torch.float32)
        for length in np.unique(padded).tolist():
            # (s,), (s, length)
            chosen = torch.from_numpy(np.flatnonzero(padded == length)).to(pieces.device)
            missing = max(0, length - pieces.size(1))
            pads = (pieces, self.transformer_model.config.pad_token_id or 0), (mask, False)
            own_pieces, own_mask = (
                torch.nn.functional.pad(each[chosen, :length], (0, missing), value=value)
                for each, value in pads
            )
            states[chosen, :length] = self._states(own_pieces, own_mask)[:, : pieces.size(1)]
        return states


def _reader(model: Any) -> Any:
    """Returns the encoder of a transformer, with its unused pooler frozen."""
    if model.config.is_encoder_decoder:
        model = model.get_encoder()
    pooler = getattr(model, "pooler", None)
    if pooler is not None:
        pooler.requires_grad_(False)
    return model


def _checkpoint_gradients(model: Any) -> None:
    if not model.supports_gradient_checkpointing:
        raise ConfigurationError(
            f"the transformer `{type(model).__name__}` has no gradient checkpointing; set "
            f"`gradient_checkpointing` to false"
        )
    # Newer versions have another name for it.
    for name in ("activation_checkpointing_enable", "gradient_checkpointing_enable"):
        if hasattr(model, name):
            getattr(model, name)()
            # Only adapters over frozen embeddings need this hook, and an export cannot have it.
            if hasattr(model, "disable_input_require_grads"):
                model.disable_input_require_grads()
            return
