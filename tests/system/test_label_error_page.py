"""The page of label errors in Chromium corrects as `accept` does in Python.

apt-get install -y chromium
pytest tests/system/test_label_error_page.py
"""

import html
import json
import re
import shutil
import subprocess

import numpy as np
import pytest

from tagger.tools.labels.corpus import Corpus
from tagger.tools.labels.errors import ErrorProbabilities
from tagger.tools.labels.issues import accept, list_issues, read_decisions, write_issues
from tagger.tools.labels.probabilities import Item

pytestmark = [
    pytest.mark.system,
    pytest.mark.skipif(not shutil.which("chromium"), reason="needs chromium"),
]
# Presses keys, then puts what would be saved into the page.
SCRIPT = """<script>
var saved = [], make = URL.createObjectURL;
URL.createObjectURL = function (blob) { saved.push(blob); return make(blob); };
"%s".split("").forEach(function (key) {
  document.dispatchEvent(new KeyboardEvent("keydown", {key: key}));
});
document.getElementById("save-corpus").click();
document.getElementById("save-decisions").click();
Promise.all(saved.map(function (blob) { return blob.text(); })).then(function (texts) {
  var output = document.createElement("pre");
  output.id = "saved";
  output.textContent = JSON.stringify(texts);
  document.body.appendChild(output);
});
</script>"""


@pytest.mark.parametrize(
    ("keys", "accepted"), [("aaaa", [1, 2, 3, 4]), ("araka", [1, 3]), ("jaku", []), ("rrra", [4])]
)
def test_keys_decide_and_what_is_saved_is_what_python_accepts(tmp_path, keys, accepted):
    (tmp_path / "corpus.txt").write_text("-DOCSTART- O\n\nA<b> B-X\nc I-X\nd O\n\n</script> B-Y\n")
    corpus = Corpus(tmp_path / "corpus.txt", {})
    items = [
        Item(0, ("X", (0, 1)), ("Y", (0, 1)), 0.1, 0.9, 0.9),
        Item(0, ("X", (0, 1)), ("X", (0, 2)), 0.2, 0.8, 0.9),
        Item(0, None, ("Y", (2, 2)), 0.3, 0.7, 0.7),
        Item(1, ("Y", (0, 0)), None, 0.4, 0.6, 0.4),
    ]
    probabilities = ErrorProbabilities(items, np.array([0.9, 0.8, 0.7, 0.6]), np.array([0.9, 0.6]))
    findings = list_issues(corpus, probabilities, 0.0)
    page = write_issues(corpus, probabilities, findings, tmp_path)[0]
    page.write_text(page.read_text().replace("</body>", SCRIPT % keys + "</body>"))
    command = ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom"]
    options = [f"--user-data-dir={tmp_path / 'chromium'}", "--virtual-time-budget=5000"]
    done = subprocess.run(
        [*command, *options, page.as_uri()], capture_output=True, text=True, timeout=120
    )
    (texts,) = re.findall(r'<pre id="saved">(.*?)</pre>', done.stdout, re.DOTALL)
    corrected, decisions = json.loads(html.unescape(texts))
    assert json.loads(decisions)["accepted"] == accepted
    (tmp_path / "decisions.json").write_text(decisions)
    chosen = read_decisions(tmp_path / "decisions.json", corpus, findings)
    assert corrected == "\n".join(accept(corpus.lines(), chosen)) + "\n"
