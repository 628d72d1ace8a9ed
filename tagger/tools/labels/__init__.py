"""Label quality: finding wrong labels in a corpus, choosing what to label next, and adding new labels.

Pages in `docs/how_to`: `label_errors`, `what_to_label`, `new_labels`.
"""
