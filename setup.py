"""What pyproject.toml cannot say: a file of the wheels, and the text for a package index."""

import os
import re
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

ROOT = Path(__file__).resolve().parent
LINK = re.compile(r"(!?)\[([^\]]*)\]\((?!\w+:|#)([^)\s]+)\)")


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


def text_for_index(readme: str, files: str) -> str:
    """Returns the README for a package index, where relative links would lead nowhere.

    Args:
        readme: The text of the README.
        files: The address of the release's files, in which `{}` is `blob` for pages and `raw` for
            images. If it is empty, links become plain text, and images are left out.
    """

    def absolute(link: "re.Match[str]") -> str:
        mark, text, path = link.groups()
        if not files:
            return "" if mark else text
        return f"{mark}[{text}]({files.format('raw' if mark else 'blob')}/{path})"

    return LINK.sub(absolute, readme)


def home() -> str:
    """Returns the address of the repository; empty if the package is not built by its workflow."""
    repository = os.environ.get("GITHUB_REPOSITORY")
    return f"{os.environ['GITHUB_SERVER_URL']}/{repository}" if repository else ""


if __name__ == "__main__":
    source = (ROOT / "tagger" / "common" / "version.py").read_text(encoding="utf-8")
    version = re.findall(r'^__version__ = "(.*)"', source, re.MULTILINE)[0]
    setup(
        cmdclass={"build_py": BuildWithHook},
        long_description=text_for_index(
            (ROOT / "README.md").read_text(encoding="utf-8"),
            f"{home()}/{{}}/v{version}" if home() else "",
        ),
        long_description_content_type="text/markdown",
        project_urls={"Source": home()} if home() else {},
    )
