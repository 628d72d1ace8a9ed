"""Settings fitted to labelled data, without gradients, and comparisons of texts with such data.

Pages in `docs/how_to`: `decoding`, `promises`, `new_data`, `distillation`.
"""
