"""A field for the labels of a document."""

from allennlp.data import Vocabulary
from allennlp.data.fields import MultiLabelField

from tagger.data.fields.tag_field import check_vocabulary_holds


class DocumentLabelsField(MultiLabelField):
    """AllenNLP's `MultiLabelField`, which says what to do about a label that training has not seen.

    Example:
        >>> field = DocumentLabelsField(["wheat"])
        >>> field.index(Vocabulary({"labels": {"corn": 2, "wheat": 1}}))
        >>> field.as_tensor(field.get_padding_lengths())
        tensor([0, 1])
    """

    def index(self, vocab: Vocabulary) -> None:
        """Looks the labels up."""
        check_vocabulary_holds(
            map(str, self.labels), vocab, self._label_namespace, "labels", ("document", "documents")
        )
        super().index(vocab)
