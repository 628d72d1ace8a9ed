"""Attacks and endurance tests of whole commands; too long for the default run."""
