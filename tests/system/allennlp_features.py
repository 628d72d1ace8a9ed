"""A plugin of pytest for AllenNLP's own tests: with our features, or with the library mends alone.

`TAGGER_FEATURES=0` leaves out the features, and the deferred imports that no library mend needs.
"""

import os

import pytest

from tagger_compat import deferral, mends


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests():
    """Runs before anything of the tests imports AllenNLP; importing this module changes nothing."""
    if os.environ["TAGGER_FEATURES"] == "0":
        mends.MENDS = mends.LIBRARY_MENDS
        for library in deferral.LIBRARIES.keys() - {"huggingface_hub", "transformers"}:
            del deferral.LIBRARIES[library]
    else:
        import allennlp.training

        import tagger.components  # noqa: F401  (registers them)
        from tagger.training import RecoverableTrainer

        # The tests name AllenNLP's trainer, and are to try ours.
        allennlp.training.GradientDescentTrainer = RecoverableTrainer
