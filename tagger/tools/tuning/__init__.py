"""Fits decoding settings to labelled data without training, and compares texts with such data.

Pages in `docs/how_to`: `decoding`, `promises`, `answer_sets`, `new_data`, `distillation`.
"""
