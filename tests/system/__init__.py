"""Attacks and endurance tests of whole commands, too slow for the default run."""
