#!/usr/bin/env bash
# Builds the source archive and the wheel into dist/, checks how a package index would show them, installs the wheel and its
# dependencies into a fresh environment, and uses it there. It needs a package index, and takes a few minutes.
#   scripts/check_package.sh
#   scripts/check_package.sh --tests    also runs the tests of the source archive, in the environment of scripts/install.sh --dev
set -euo pipefail
cd "$(dirname "$0")/.."
python=${PYTHON:-python3}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

"$python" -m venv "$work/build"
"$work/build/bin/pip" install --quiet build twine
rm -rf dist
"$work/build/bin/python" -m build --outdir dist . >/dev/null
"$work/build/bin/twine" check --strict dist/*

# The wheel was made from the source archive.
"$python" -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet -c constraints.txt dist/*.whl
(
  cd "$work"
  # Relative links do not work on a package index.
  venv/bin/python -c "
import importlib.metadata, re
text = importlib.metadata.metadata('allennlp-tagger').json['description']
links = re.findall(r'\]\((?!https?:)[^)]*\)', text)
assert text and not links, f'these links lead nowhere on an index; see setup.py: {links}'"
  # The CRF works without AllenNLP.
  venv/bin/python -c "
import torch
from tagger.modules import ConditionalRandomField
from tagger.modules.torchcrf import CRF
print('the CRF:', ConditionalRandomField(3)(torch.zeros(1, 2, 3), torch.zeros(1, 2, dtype=torch.long)).item())
print('in place of pytorch-crf:', CRF(3, batch_first=True).decode(torch.zeros(1, 2, 3)))"
  venv/bin/pip install --quiet --no-deps allennlp==2.10.1
  venv/bin/allennlp describe crf >description.txt
  head -1 description.txt
)

if [ "${1-}" = --tests ]; then
  tar -xf dist/*.tar.gz -C "$work"
  cd "$work"/allennlp_tagger-*
  ln -s "$OLDPWD/.venv" .venv
  PYTHONPATH=$PWD .venv/bin/pytest -n 2 --dist worksteal
fi
