#!/usr/bin/env bash
# Makes .venv at the project's root, with the tested versions of everything. Safe to repeat.
#   PYTHON=python3.12 scripts/install.sh    another Python (3.10 or newer)
#   TORCH=2.12.0 scripts/install.sh         another torch than the tested one
set -euo pipefail
cd "$(dirname "$0")/.."

python=${PYTHON:-$(command -v python3.11 || command -v python3)}
[ -x .venv/bin/python ] || "$python" -m venv .venv
constraints=constraints.txt
.venv/bin/python -m pip install -c "$constraints" -e '.[dev,glove]'
.venv/bin/python -m pip install --no-deps allennlp==2.10.1
