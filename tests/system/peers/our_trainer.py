"""A pytest plugin that runs AllenNLP's own tests with our trainer instead of AllenNLP's."""

import pytest


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests():
    """Runs before the tests import AllenNLP. Importing this module changes nothing."""
    import allennlp.training

    import tagger.commands.components  # noqa: F401  (registers them)
    from tagger.training import RecoverableTrainer

    allennlp.training.GradientDescentTrainer = RecoverableTrainer
