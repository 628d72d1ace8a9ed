"""Settings fitted to labelled data, without gradients, and comparisons of texts with such data."""
