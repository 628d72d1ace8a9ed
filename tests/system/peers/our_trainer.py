"""A plugin of pytest with which AllenNLP's own tests try our trainer, though they name AllenNLP's."""

import pytest


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests():
    """Runs before anything of the tests imports AllenNLP; importing this module changes nothing."""
    import allennlp.training

    import tagger.commands.components  # noqa: F401  (registers them)
    from tagger.training import RecoverableTrainer

    allennlp.training.GradientDescentTrainer = RecoverableTrainer
