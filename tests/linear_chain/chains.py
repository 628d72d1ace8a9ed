"""Random chains for tests."""

import torch

from tagger.linear_chain import ChainScores


def random_chains(
    batch_size, num_tokens, num_tags, seed=0, scale=1.0, dtype=torch.float64, requires_grad=False
):
    """Normally distributed scores with standard deviation `scale`."""
    generator = torch.Generator().manual_seed(seed)

    def scores(*shape):
        values = torch.randn(*shape, generator=generator, dtype=torch.float64) * scale
        return values.to(dtype).requires_grad_(requires_grad)

    shapes = (batch_size, num_tokens, num_tags), (num_tags, num_tags), (num_tags,), (num_tags,)
    return ChainScores(*(scores(*shape) for shape in shapes))


def random_tags(batch_size, num_tokens, num_tags, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(num_tags, (batch_size, num_tokens), generator=generator)


def mask_of(lengths, num_tokens=None):
    """(B, T) bool, right-padded."""
    width = max(lengths) if num_tokens is None else num_tokens
    return torch.arange(width) < torch.tensor(lengths).unsqueeze(1)
