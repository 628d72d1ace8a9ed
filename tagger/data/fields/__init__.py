"""Fields for tags and labels, some of which may be unknown, and for sequences of numbers."""
