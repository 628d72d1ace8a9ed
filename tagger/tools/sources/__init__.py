"""Labels from several sources: annotators, models, rules and lists become one training set.

Pages in `docs/how_to`: `several_annotators`, `rules_and_lists`.
"""
