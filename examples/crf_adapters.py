"""Adapters for several CRFs, to test with `tagger.linear_chain.conformance`.

    python -m tagger.linear_chain.conformance examples.crf_adapters:pytorch_crf

Each function needs the package that it names: `pip install pytorch-crf`, `TorchCRF`, `pytorchcrf`,
`torch-struct`, `transformers-crf`, `flair`, `flash-semicrf`, `allennlp`. On case-insensitive file
systems, the folders of pytorch-crf and TorchCRF collide.
"""

from typing import Any, Callable, List, Tuple

import torch
from torch.func import functional_call

from tagger.linear_chain import ChainScores
from tagger.linear_chain.conformance import Adapter
from tagger.modules import ConditionalRandomField, TagWeighting


def ours(weighting: str = "chain") -> Adapter:
    """`tagger.modules.ConditionalRandomField`."""

    def crf(scores: ChainScores) -> ConditionalRandomField:
        return ConditionalRandomField(len(scores.start))

    def weighted(
        scores: ChainScores, tags: torch.Tensor, mask: torch.Tensor, weights: torch.Tensor
    ) -> torch.Tensor:
        strategy = TagWeighting.by_name(weighting)(tag_weights=weights.tolist())
        model = ConditionalRandomField(len(scores.start), weighting=strategy)
        return _called(model, scores, tags, mask)

    def k_best(scores: ChainScores, mask: torch.Tensor, k: int) -> List[List[List[int]]]:
        found = _called(_Method(crf(scores), "viterbi_tags"), scores, mask, k)
        return [[path for path, _ in row] for row in found]

    return Adapter(
        f"tagger, weighting `{weighting}`",
        lambda scores, tags, mask: _called(crf(scores), scores, tags, mask),
        lambda scores, mask: [best[0] for best in k_best(scores, mask, 1)],
        k_best,
        weighted,
    )


def ours_as_torchcrf() -> Adapter:
    """`tagger.modules.torchcrf.CRF`."""
    from tagger.modules.torchcrf import CRF

    return _like_pytorch_crf(
        "tagger.modules.torchcrf", lambda num_tags: CRF(num_tags, batch_first=True)
    )


def pytorch_crf() -> Adapter:
    """pytorch-crf's class."""
    from torchcrf import CRF

    return _like_pytorch_crf("pytorch-crf", lambda num_tags: CRF(num_tags, batch_first=True))


def pytorchcrf() -> Adapter:
    """pytorchcrf's class, which also returns the k best paths."""
    from pytorchcrf import CRF

    return _with_n_best("pytorchcrf", lambda num_tags: CRF(num_tags, batch_first=True))


def transformers_crf() -> Adapter:
    """The class of transformers-crf."""
    from transformers_crf.crf import CRF

    return _with_n_best("transformers-crf", lambda num_tags: CRF(num_tags, batch_first=True))


def torchcrf_of_tags() -> Adapter:
    """TorchCRF's class."""
    from TorchCRF import CRF

    names = ("trans_matrix", "start_trans", "end_trans")
    return Adapter(
        "TorchCRF",
        lambda scores, tags, mask: _called(
            CRF(len(scores.start), use_gpu=False), scores, tags, mask, names=names
        ),
        lambda scores, mask: _called(
            _Method(CRF(len(scores.start), use_gpu=False), "viterbi_decode"),
            scores,
            mask,
            names=names,
        ),
    )


def allennlp(weighting: str = "Emission") -> Adapter:
    """AllenNLP 2.10.1's classes, by weighting: `Emission`, `Trans` or `Lannoy`."""
    from allennlp.modules import ConditionalRandomField as AllenNlpCrf, conditional_random_field

    weighted_crf = getattr(conditional_random_field, f"ConditionalRandomFieldWeight{weighting}")

    def k_best(scores: ChainScores, mask: torch.Tensor, k: int) -> List[List[List[int]]]:
        crf = _Method(AllenNlpCrf(len(scores.start)), "viterbi_tags")
        return [[path for path, _ in row] for row in _called(crf, scores, mask, top_k=k)]

    return Adapter(
        f"AllenNLP, weighting `{weighting}`",
        lambda scores, tags, mask: _called(AllenNlpCrf(len(scores.start)), scores, tags, mask),
        lambda scores, mask: [best[0] for best in k_best(scores, mask, 1)],
        k_best,
        lambda scores, tags, mask, weights: _called(
            weighted_crf(len(scores.start), label_weights=weights.tolist()),
            scores,
            tags,
            mask,
        ),
    )


def allennlp_lannoy() -> Adapter:
    """AllenNLP's class for the strategy of Lannoy et al."""
    return allennlp("Lannoy")


def ours_lannoy() -> Adapter:
    """Ours with the strategy of Lannoy et al."""
    return ours("lannoy")


def torch_struct() -> Adapter:
    """torch-struct's `LinearChainCRF`, which takes lengths instead of masks."""
    from torch_struct import LinearChainCRF

    def chain(scores: ChainScores, mask: torch.Tensor) -> Any:
        lengths = mask.sum(1)
        # torch-struct requires the longest length to be T.
        scores = scores._replace(emissions=scores.emissions[:, : int(lengths.max())])
        if not torch.equal(mask, torch.arange(mask.shape[1]) < lengths.unsqueeze(1)):
            raise NotImplementedError("lengths have no holes")
        emissions, transitions, start, end = scores
        at_end = torch.zeros_like(emissions).index_put(
            (torch.arange(len(mask)), lengths - 1), end.expand(len(mask), -1)
        )
        emissions = emissions + at_end
        # potentials[b, t, to, from]: (B, T - 1, K, K)
        potentials = emissions[:, 1:].unsqueeze(3) + transitions.T
        first = (start + emissions[:, 0]).unsqueeze(1)
        potentials = torch.cat([potentials[:, :1] + first.unsqueeze(1), potentials[:, 1:]], 1)
        return LinearChainCRF(potentials, lengths=lengths)

    def log_likelihood(scores: ChainScores, tags: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        distribution = chain(scores, mask)
        tags = tags[:, : int(mask.sum(1).max())]
        parts = distribution.struct.to_parts(tags, len(scores.start), lengths=mask.sum(1))
        return distribution.log_prob(parts.type_as(scores.emissions))

    def k_best(scores: ChainScores, mask: torch.Tensor, k: int) -> List[List[List[int]]]:
        distribution = chain(scores, mask)
        parts = distribution.topk(k) if k > 1 else distribution.argmax.unsqueeze(0)
        rows = [distribution.struct.from_parts(each)[0].tolist() for each in parts]
        lengths = mask.sum(1).tolist()
        return [[row[b][: lengths[b]] for row in rows] for b in range(len(lengths))]

    return Adapter(
        "torch-struct",
        log_likelihood,
        lambda scores, mask: [best[0] for best in k_best(scores, mask, 1)],
        k_best,
    )


def flair() -> Adapter:
    """Flair's `CRF`, `ViterbiLoss` and `ViterbiDecoder`, which take lengths; one sentence at a time."""
    from flair.data import Dictionary
    from flair.models.sequence_tagger_utils.crf import CRF, START_TAG, STOP_TAG
    from flair.models.sequence_tagger_utils.viterbi import ViterbiDecoder, ViterbiLoss

    def tags_of(scores: ChainScores) -> Any:
        tags = Dictionary(add_unk=False)
        for tag in [*map(str, range(len(scores.start))), START_TAG, STOP_TAG]:
            tags.add_item(tag)
        return tags

    def features(scores: ChainScores, row: int, length: int) -> Any:
        num_tags = len(scores.start)
        # transitions[to, from], with the tags START and STOP last
        transitions = torch.full((num_tags + 2,) * 2, -10_000.0, dtype=scores.emissions.dtype)
        known = torch.cat([scores.transitions.T, scores.start.unsqueeze(1)], 1)
        end = torch.cat([scores.end, transitions[-1, num_tags:]])
        columns = torch.cat([known, transitions[:num_tags, -1:]], 1)
        transitions = torch.stack([*columns, transitions[num_tags], end])
        # Neither START nor STOP has an emission.
        emissions = torch.nn.functional.pad(scores.emissions[row : row + 1, :length], (0, 2))
        crf = CRF(tags_of(scores), num_tags + 2, init_from_state_dict=True)
        of_steps = functional_call(crf, {"transitions": transitions}, (emissions,))
        return of_steps, torch.tensor([length]), transitions

    def log_likelihood(scores: ChainScores, tags: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        loss = ViterbiLoss(tags_of(scores))
        lengths = _lengths(mask)
        rows = [
            -loss(features(scores, row, length), tags[row, :length])
            for row, length in enumerate(lengths)
        ]
        return torch.stack(rows)

    def decode(scores: ChainScores, mask: torch.Tensor) -> List[List[int]]:
        decoder = ViterbiDecoder(tags_of(scores))
        paths = []
        for row, length in enumerate(_lengths(mask)):
            # With each tag comes a confidence.
            ((path,), _) = decoder.decode(features(scores, row, length), False, [])
            paths.append([int(tag) for tag, _ in path])
        return paths

    return Adapter("Flair", log_likelihood, decode)


def flash_semicrf() -> Adapter:
    """flash-semicrf's head with segments of one token, which takes lengths."""
    from flash_semicrf import SemiMarkovCRFHead

    def log_likelihood(scores: ChainScores, tags: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        lengths = torch.tensor(_lengths(mask))
        # It requires the longest length to be T.
        longest = int(lengths.max())
        crf = SemiMarkovCRFHead(len(scores.start), 1, duration_distribution="uniform").double()
        # It has no start and end scores, so they go into the emissions.
        emissions = scores.emissions[:, :longest].clone()
        emissions[:, 0] += scores.start
        emissions[torch.arange(len(tags)), lengths - 1] += scores.end
        loss = functional_call(
            _Method(crf, "compute_loss"),
            {"module.transition": scores.transitions},
            (emissions, lengths, tags[:, :longest]),
            {"reduction": "none", "use_triton": False},
        )
        return -loss

    return Adapter("flash-semicrf", log_likelihood)


def _lengths(mask: torch.Tensor) -> List[int]:
    lengths = mask.sum(1)
    if not torch.equal(mask, torch.arange(mask.shape[1]) < lengths.unsqueeze(1)):
        raise NotImplementedError("lengths have no holes")
    return lengths.tolist()


#: The names of transitions, start and end scores in these packages.
_NAMES = ("transitions", "start_transitions", "end_transitions")


class _Method(torch.nn.Module):
    """Wraps a module so that `forward` calls another of its methods."""

    def __init__(self, module: torch.nn.Module, name: str) -> None:
        super().__init__()
        self.module = module
        self.name = name

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return getattr(self.module, self.name)(*args, **kwargs)


def _called(
    module: torch.nn.Module,
    scores: ChainScores,
    *args: Any,
    names: Tuple[str, str, str] = _NAMES,
    **kwargs: Any,
) -> Any:
    """Calls a module with the chain's scores instead of its parameters."""
    prefix = "module." if isinstance(module, _Method) else ""
    parameters = {f"{prefix}{name}": score for name, score in zip(names, scores[1:])}
    return functional_call(module, parameters, (scores.emissions, *args), kwargs)


def _like_pytorch_crf(name: str, crf: Callable[[int], torch.nn.Module]) -> Adapter:
    return Adapter(
        name,
        lambda scores, tags, mask: _called(
            crf(len(scores.start)), scores, tags, mask, reduction="none"
        ),
        lambda scores, mask: _called(_Method(crf(len(scores.start)), "decode"), scores, mask),
    )


def _with_n_best(name: str, crf: Callable[[int], torch.nn.Module]) -> Adapter:
    def k_best(scores: ChainScores, mask: torch.Tensor, k: int) -> List[List[List[int]]]:
        # (k, B, T)
        paths = _called(_Method(crf(len(scores.start)), "decode"), scores, mask, nbest=k)
        return [
            [[int(tag) for tag in path[row][: int(mask[row].sum())]] for path in paths]
            for row in range(len(mask))
        ]

    return _like_pytorch_crf(name, crf)._replace(
        decode=lambda scores, mask: [best[0] for best in k_best(scores, mask, 1)], k_best=k_best
    )
