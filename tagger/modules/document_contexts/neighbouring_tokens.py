"""Tokens of the neighbouring sentences, which the encoder reads too."""

from allennlp.common.checks import ConfigurationError

from tagger.modules.document_contexts.document_context import DocumentContext


@DocumentContext.register("neighbouring_tokens")
class NeighbouringTokens(DocumentContext):
    """Lets the encoder read on beyond the borders of a sentence (Schweter & Akbik 2020, section 2.2).

    The encoder gets each sentence with so many tokens of the document on either side; its states of
    these tokens are dropped. Training time grows with the number of tokens.

    Args:
        input_size: The features of a state; supplied by the model in a config.
        num_tokens: How many tokens on either side, across any number of sentences.

    Raises:
        ConfigurationError: If `num_tokens` is not positive.
    """

    def __init__(self, input_size: int, num_tokens: int = 32) -> None:
        super().__init__()
        if num_tokens < 1:
            raise ConfigurationError(f"`num_tokens` must be at least 1; got {num_tokens}")
        self.margin = num_tokens
