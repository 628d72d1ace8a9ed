"""Token indexers."""
