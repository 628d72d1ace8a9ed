#!/usr/bin/env bash
# Measures on a GPU all that this project claims or hopes of one, and writes gpu/report.md and gpu/report.json.
#
#   usage: scripts/check_gpu.sh [PART ...] [--again] [--output FOLDER]     (--help lists the parts and options)
#
# Parts that have results are not run again, so that an interrupted check goes on where it stopped.
# It needs no network. docs/gpu.md describes parts and goals.
set -euo pipefail
cd "$(dirname "$0")/.."
export OMP_WAIT_POLICY=PASSIVE
if [ -d .venv/bin ]; then
    PATH=$PWD/.venv/bin:$PATH
fi
exec python3 -m scripts.check_gpu "$@"
