"""Splits labelled data without dividing documents, and measures the overlap between parts."""
