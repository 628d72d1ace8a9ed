"""A pytest plugin that runs AllenNLP's own tests with our trainer instead of AllenNLP's."""

import pytest


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests():
    """Runs before the tests import AllenNLP. Importing this module changes nothing."""
    import allennlp.training

    from tagger.commands.components import import_all
    from tagger.training import RecoverableTrainer

    import_all()
    allennlp.training.GradientDescentTrainer = RecoverableTrainer
