"""Batch samplers."""
