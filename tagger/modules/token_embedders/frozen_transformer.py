"""A token embedder that takes the features of words from a frozen transformer."""

import logging
from pathlib import Path
from typing import Any, Dict, List, NamedTuple, Optional, Sequence

import numpy as np
import torch
from allennlp.common.checks import ConfigurationError
from allennlp.common.tqdm import Tqdm
from allennlp.modules import TokenEmbedder

from tagger.common.files import spell_bytes
from tagger.common.ranges import check_dropouts, check_is_one_of, check_number, check_sizes
from tagger.common.threads import BATCHES_AT_ONCE
from tagger.data.data_loaders.batch_order import in_chunks
from tagger.modules.dropout import Dropout
from tagger.modules.linear import Linear
from tagger.transformers.feature_store import FeatureStore, default_root
from tagger.transformers.memory import Memory
from tagger.transformers.pretrained import FOLDER_VARIABLE, carry_transformer, find_transformer
from tagger.transformers.windows import Passage, passages_of
from tagger.transformers.word_features import WordFeatures

logger = logging.getLogger(__name__)

# Bytes of a file of features.
_CHUNK = 2**27
# Bytes of embedded passages that evaluation keeps, since other batches may have their sentences.
_MEMORY = 2**29
_LARGEST_HALF = torch.finfo(torch.float16).max
#: How layers are combined: into a weighted sum, or all of them side by side.
COMBINATIONS = ("mix", "concatenate")


class _Place(NamedTuple):
    """Words of a batch: `start` up to `end`, exclusive, of the passage with this key."""

    key: bytes
    start: int
    end: int


@TokenEmbedder.register("frozen_transformer")
class FrozenTransformerEmbedder(TokenEmbedder):
    """Embeds words by the hidden states of a frozen transformer: a learnt mix, or several side by side.

    The mix of layers is that of Peters et al. (2018), equation 1: softmax weights and a scale. The
    indexer is `frozen_transformer`, which decides what the transformer reads together. The trainer's
    callback `frozen_features` computes the features of all training and validation data before the
    first epoch, and keeps them on disk for later runs. Features of other texts are computed when they
    are needed, and not kept. The transformer is not part of the model's weights; an archive stores its
    digest, and refuses any other transformer.

    Letters: `B` batch, `T` tokens, `H` layers, `D` features of a layer, `E` features of a word.

    Args:
        model_name: The transformer: a folder, or a name in the cache of the Hugging Face hub.
        layers: The hidden states to use, from 0 for the embeddings; negative ones count from the end.
            None uses all.
        combination: `"mix"`, or `"concatenate"`: each layer is normalised, to mean 0 and variance 1 over
            its features (Ba et al. 2016), and a word's features are those of all layers, `H * D`.
        pooling: How the states of a word's pieces become its own: `"mean"`, or only the `"first"` or
            the `"last"` piece.
        max_pieces: The most pieces that the transformer reads together. A longer sentence is read in
            windows that overlap.
        overlap: The least number of pieces that two such windows share.
        projection_dim: The features of a word after a linear layer; None for no such layer.
        dropout: The dropout of the combined features, before the linear layer.
        precision: The precision of the transformer: `"float32"`; `"bfloat16"`; or `"auto"` for the
            fastest on the device: bfloat16 if it has matrix units for it, else 8-bit integers on a CPU
            with instructions for them, else float32.
        cache_folder: Where features are kept; by default `tagger/features` in the user's cache directory
            (`XDG_CACHE_HOME`, or `~/.cache`).
        max_cache_gb: The maximum size of this folder. The least recently used files are removed to make
            room; if that is not enough, nothing is written. 0 keeps no features.
        max_carried_mb: The largest transformer that is copied into the archive, in megabytes; 0 for
            none. With `include_in_archive: ['transformers']` in the config, one of any size is copied.
        serialization_dir: The folder of the training run, or of an archive; supplied by AllenNLP.

    Attributes:
        word_features: What computes features; it is not a submodule.
        transformer_name: The name under which an archive carries the transformer.
        transformer_folder: Where the transformer is.
        transformer_digest: The SHA-256 of its files.
    """

    digest: torch.Tensor

    def __init__(
        self,
        model_name: str,
        layers: Optional[List[int]] = None,
        combination: str = "mix",
        pooling: str = "mean",
        max_pieces: int = 250,
        overlap: int = 64,
        projection_dim: Optional[int] = None,
        dropout: float = 0.0,
        precision: str = "auto",
        cache_folder: Optional[str] = None,
        max_cache_gb: float = 20.0,
        max_carried_mb: float = 0.0,
        serialization_dir: Optional[str] = None,
    ) -> None:
        super().__init__()
        check_dropouts(dropout=dropout)
        check_is_one_of("combination", combination, COMBINATIONS)
        check_number("max_cache_gb", max_cache_gb, max_cache_gb >= 0, "at least 0")
        check_number("max_carried_mb", max_carried_mb, max_carried_mb >= 0, "at least 0")
        if projection_dim is not None:
            check_sizes(projection_dim=projection_dim)
        transformer = find_transformer(model_name, serialization_dir)
        if serialization_dir is not None:
            carry_transformer(transformer, model_name, serialization_dir, max_carried_mb)
        # Not a submodule: its weights are neither trained nor saved.
        self.word_features = WordFeatures(
            transformer, layers, pooling, max_pieces, overlap, precision
        )
        self.transformer_name = Path(model_name).name
        self.transformer_folder = transformer.folder
        self.transformer_digest = transformer.digest
        num_layers = len(self.word_features.layers)
        self._is_mix = combination == "mix"
        if self._is_mix:
            self.layer_scores = torch.nn.Parameter(torch.zeros(num_layers))
            self.scale = torch.nn.Parameter(torch.ones(()))
        self.dropout = Dropout(dropout)
        size = self._size = self.word_features.size * (1 if self._is_mix else num_layers)
        self.projection = Linear(size, projection_dim) if projection_dim else None
        self.register_buffer(
            "digest", torch.tensor(list(bytes.fromhex(transformer.source)), dtype=torch.uint8)
        )
        self._cache_folder = Path(cache_folder).expanduser() if cache_folder else default_root()
        self._max_bytes = max_cache_gb * 1e9
        self._store: Optional[FeatureStore] = None
        self._recent = Memory(_MEMORY)
        self._has_warned = False

    def get_output_dim(self) -> int:
        return self._size if self.projection is None else self.projection.out_features

    def forward(
        self,
        pieces: torch.Tensor,
        num_pieces: torch.Tensor,
        passage_lengths: torch.Tensor,
        first_word: torch.Tensor,
        mask: torch.Tensor,
    ) -> torch.Tensor:
        """Embeds words, (B, T, E), undefined in the padding.

        Args:
            pieces: (B, 1, P) int64, the pieces of the passages of each instance, 0 in the padding.
            num_pieces: (B, 1, words of the passages) int64, the pieces of each word, 0 in the padding.
            passage_lengths: (B, 1, passages) int64, the words of each passage, 0 in the padding.
            first_word: (B, 1) int64, where the instance begins in its first passage.
            mask: (B, T) bool, false in the padding.
        """
        pieces_of, words_of = (
            tensor.squeeze(1).cpu().numpy().astype(np.int32) for tensor in (pieces, num_pieces)
        )
        skipped, wanted = first_word.squeeze(1).tolist(), mask.sum(1).tolist()
        passages: Dict[bytes, Passage] = {}
        places: List[_Place] = []
        for row, lengths in enumerate(passage_lengths.squeeze(1).tolist()):
            # Of the instance's words, in its passages.
            start, left = skipped[row], wanted[row]
            for passage in passages_of(pieces_of[row], words_of[row], lengths):
                taken = min(len(passage.num_pieces) - start, left)
                key = passage.key()
                passages.setdefault(key, passage)
                places.append(_Place(key, start, start + taken))
                start, left = 0, left - taken
        combined = self._combined(passages, places)
        # (B, T, D), or (B, T, H D) if layers are concatenated
        embedded = combined.new_zeros(*mask.shape, combined.size(1))
        embedded[mask] = combined
        embedded = self.dropout(embedded)
        return embedded if self.projection is None else self.projection(embedded)

    def prepare(self, passages: Sequence[Passage]) -> None:
        """Computes the features of passages, unless they are on disk, and keeps them for `forward`."""
        if self._max_bytes <= 0:
            return
        features, device = self.word_features, self.digest.device
        if self._store is None:
            shape = len(features.layers), features.size
            self._store = FeatureStore(
                self._cache_folder, features.settings(device), shape, self._max_bytes
            )
        store = self._store
        missing = {key: each for each in passages if (key := each.key()) not in store}
        if not missing:
            logger.info("Read the features of %d passages in %s", len(passages), self._cache_folder)
            return
        # Passages of equal length go through the transformer together.
        keys = sorted(missing, key=lambda key: len(missing[key].pieces))
        bytes_of_word = 2 * len(features.layers) * features.size
        sizes = [bytes_of_word * len(missing[key].num_pieces) for key in keys]
        logger.info(
            "Computing the features of %d of %d passages; they are kept for later runs, %s in %s, "
            "which may grow to %s (`max_cache_gb`) and can be deleted at any time",
            *(len(missing), len(passages), spell_bytes(sum(sizes))),
            *(self._cache_folder, spell_bytes(self._max_bytes)),
        )
        num_pieces = sum(len(each.pieces) for each in missing.values())
        with Tqdm.tqdm(total=num_pieces, desc="computing features", unit=" pieces") as progress:
            for chunk in in_chunks(sizes, _CHUNK):
                own = {keys[index]: missing[keys[index]] for index in chunk}
                with store.turn():
                    new = {k: each for k, each in own.items() if k not in store}
                    if new and not self._add(store, new):
                        break
                progress.update(sum(len(each.pieces) for each in own.values()))

    def mix(self) -> Optional[torch.Tensor]:
        """Returns the weights of the layers in their sum, (H,); None if they are concatenated."""
        return self.scale * self.layer_scores.softmax(0) if self._is_mix else None

    def train(self, mode: bool = True) -> "FrozenTransformerEmbedder":
        self._recent.clear()
        return super().train(mode)

    def _add(self, store: FeatureStore, missing: Dict[bytes, Passage]) -> bool:
        """Computes the features of passages and puts them into the store; returns whether it did."""
        keys = list(missing)
        device = self.digest.device
        at_once = BATCHES_AT_ONCE if device.type == "cpu" else 1
        computed = self.word_features.compute(
            list(missing.values()), device, batches_at_once=at_once
        )
        return store.add([(keys[index], _half(states)) for index, states in computed])

    def _combined(self, passages: Dict[bytes, Passage], places: Sequence[_Place]) -> torch.Tensor:
        """The combined features of all words of a batch, (N, D), or (N, H D) if concatenated."""
        device = self.digest.device
        mix = self.mix()
        store = self._store
        found: Dict[bytes, Any] = {
            key: None if store is None else store.get(key) for key in passages
        }
        missing = [key for key, features in found.items() if features is None]
        if self.training and missing and store is None and not self._has_warned:
            self._has_warned = True
            logger.warning(
                "Features of training data are computed in every epoch; add 'frozen_features' to the "
                "trainer's `callbacks` to have them computed once"
            )
        if torch.is_grad_enabled() or not missing:
            if missing:
                wanted = [passages[key] for key in missing]
                for index, states in self.word_features.compute(wanted, device):
                    found[missing[index]] = _half(states)
            words = np.concatenate([found[at.key][at.start : at.end] for at in places])
            # (N, H, D)
            layers = torch.from_numpy(words).to(device, non_blocking=True).float()
            return _side_by_side(layers) if mix is None else torch.matmul(mix, layers)
        # The mix depends on the weights.
        prefix = b"" if mix is None else mix.cpu().numpy().tobytes()
        combined = self._recent.get(prefix + key for key in passages)
        new = [key for key in passages if prefix + key not in combined]
        wanted = [passages[key] for key in new]
        for index, states in self.word_features.compute(wanted, device, mix):
            combined[prefix + new[index]] = _side_by_side(states) if mix is None else states
        self._recent.put(combined)
        return torch.cat([combined[prefix + at.key][at.start : at.end] for at in places])

    def _load_from_state_dict(self, state_dict: Dict[str, Any], prefix: str, *rest: Any) -> None:
        """Refuses the weights of a model that was trained with another transformer."""
        stored = state_dict.get(prefix + "digest")
        if stored is not None and not torch.equal(stored.cpu(), self.digest.cpu()):
            wanted, got = (bytes(each.tolist()).hex()[:12] for each in (stored, self.digest))
            folder = self.transformer_folder.absolute()
            raise ConfigurationError(
                f"`model_name` is a transformer with the digest {got}..., in {folder}, but the model "
                f"was trained over {wanted}...; put that one there, or set {FOLDER_VARIABLE} to the "
                f"folder that holds it, or name its folder with --overrides, as `model_name` of the "
                f"token indexer and of the token embedder"
            )
        super()._load_from_state_dict(state_dict, prefix, *rest)


def _half(states: torch.Tensor) -> np.ndarray:
    # Infinity would make every mix NaN.
    return states.clamp(-_LARGEST_HALF, _LARGEST_HALF).to(torch.float16).cpu().numpy()


def _side_by_side(layers: torch.Tensor) -> torch.Tensor:
    """Normalises each layer of each word, (N, H, D), and puts them side by side, (N, H D)."""
    return torch.nn.functional.layer_norm(layers, layers.shape[-1:]).flatten(1)
