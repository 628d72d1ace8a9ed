"""Disables our features in every new interpreter if `TAGGER_FEATURES=0`.

Only the library patches remain, with the deferred imports that they need. Python imports this file at
start-up if its folder is on `PYTHONPATH`, after installing the hook of `tagger_compat` and before
anything imports AllenNLP. So it also applies to workers started by tests.
"""

import os

if os.environ.get("TAGGER_FEATURES") == "0":
    from tagger_compat import deferral, patches

    patches.PATCHES = patches.LIBRARY_PATCHES
    for library in deferral.LIBRARIES.keys() - {"huggingface_hub", "transformers"}:
        del deferral.LIBRARIES[library]
