"""Runs many trainings and reads their results; used by studies and the search for label errors."""
