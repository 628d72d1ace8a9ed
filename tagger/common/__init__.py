"""Helpers that several packages share: files, threads, messages."""
