"""Splits of labelled data that divide no document, and what they show of new texts."""
