"""Adds a file to the wheels of the package, which pyproject.toml describes."""

from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py


class BuildWithHook(build_py):
    """Adds `tagger_compat.pth` beside the packages, where `site` reads it at interpreter start.

    An editable wheel takes nothing from `build_lib`; its file goes into the wheel's own folder.
    """

    def run(self) -> None:
        """Builds the packages, then writes the file."""
        super().run()
        editable = getattr(self, "editable_mode", False)
        folder = self.get_finalized_command("install").install_lib if editable else self.build_lib
        Path(folder, "tagger_compat.pth").write_text(
            "import tagger_compat; tagger_compat.install()\n"
        )


setup(cmdclass={"build_py": BuildWithHook})
