"""Leaves our features out of every interpreter that starts, if `TAGGER_FEATURES=0`.

What remains are the library patches, and the deferred imports that these need. Python imports this file
at its start if its folder is on `PYTHONPATH`, after the hook of `tagger_compat` is installed and before
anything imports AllenNLP. So it reaches the workers that tests start, too.
"""

import os

if os.environ.get("TAGGER_FEATURES") == "0":
    from tagger_compat import deferral, patches

    patches.PATCHES = patches.LIBRARY_PATCHES
    for library in deferral.LIBRARIES.keys() - {"huggingface_hub", "transformers"}:
        del deferral.LIBRARIES[library]
