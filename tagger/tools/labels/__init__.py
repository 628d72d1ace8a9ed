"""Labels in doubt: which of a corpus are wrong, which of a text to ask for next, and new labels.

Pages in `docs/how_to`: `label_errors`, `what_to_label`, `new_labels`.
"""
