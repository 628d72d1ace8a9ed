#!/usr/bin/env bash
# Sets up and runs every check: format, lint, types, tests. Arguments go to pytest: scripts/test.sh -k crf
# Tests that need a GPU, or corpora that may not be distributed, are skipped with a reason.
set -euo pipefail
cd "$(dirname "$0")/.."
# Without it, two torch threads beside any other busy process can become 200 times slower.
export OMP_WAIT_POLICY=PASSIVE

scripts/install.sh
export PATH=$PWD/.venv/bin:$PATH
ruff format --check .
ruff check .
mypy
pytest "$@"
