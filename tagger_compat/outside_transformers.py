"""Transformers outside of archives, on this machine.

Code that comes with a transformer runs only if the user has set TAGGER_TRUST_REMOTE_CODE.
"""

import os
import sys
from contextlib import contextmanager
from typing import Any, Iterator, NoReturn, Optional

from tagger_compat.archive_guard import current, is_set, may_read, refuse, suspended


def may_run_code() -> bool:
    """Whether code that comes with a transformer may run; code in archives is never read."""
    return is_set("TAGGER_TRUST_REMOTE_CODE")


@contextmanager
def transformer_loaded(name: Any) -> Iterator[None]:
    """If transformers rejects a transformer's own code, reports that in one line."""
    try:
        yield
    except ValueError as error:
        if "trust_remote_code" not in str(error):
            raise
        refuse(
            f"the transformer {name} comes with its own code, which is not run",
            "set TAGGER_TRUST_REMOTE_CODE=1 if you trust it and it is not part of an archive",
        )


def transformer_on_this_machine(name: str) -> str:
    """Returns the folder of a transformer that an archive names, and allows it to be read.

    The name is one on the hub, and the transformer in the hub's cache; or it is a folder's that the
    user names, too.
    """
    state = current()
    is_own = state is None or state.is_named_by_user(name)
    is_folder = is_own and os.path.isfile(os.path.join(name, "config.json"))
    folder = name if is_folder else in_hub_cache(name)
    if folder is None or (state is not None and state.holds(folder)):
        refuse(
            f"the archive needs the transformer {name[:80]!r}, which is neither in the cache of the "
            f"Hugging Face hub nor a folder that you name",
            "download it first, name its folder with --overrides, or set TAGGER_TRANSFORMERS to it",
        )
    may_read(folder)
    return folder


def in_hub_cache(name: str) -> Optional[str]:
    """Returns a transformer's folder in the cache of the Hugging Face hub; None if there is none."""
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HFValidationError, LocalEntryNotFoundError

    try:
        with suspended():
            return str(snapshot_download(name, local_files_only=True))
    except (HFValidationError, LocalEntryNotFoundError):
        return None


def _never_ask(*_: Any) -> NoReturn:
    raise EOFError("standard input is the user's data")


def let_transformers_never_ask() -> None:
    """Keeps transformers from asking on standard input whether to run code."""
    from tagger_compat import after_import

    def replace() -> None:
        sys.modules["transformers.dynamic_module_utils"].input = _never_ask  # type: ignore[attr-defined]

    after_import("transformers.dynamic_module_utils", replace)
