#!/usr/bin/env bash
# Sets up and runs every check: format, lint, directions of imports, types, the site, tests. Arguments go to pytest: scripts/test.sh -k crf
# Two processes share the tests; `-n 8` uses eight, and `-n 0` only pytest itself.
# Corpora that may not be distributed are searched in $TAGGER_CORPORA, then in ../shared/data, then in data.
# Tests without their corpus, or without a GPU that they need, are skipped with a reason.
set -euo pipefail
cd "$(dirname "$0")/.."
# Without it, two torch threads can become 200 times slower if another process is busy.
export OMP_WAIT_POLICY=PASSIVE
# Lets the processes that tests start reuse the compiled sources of this project.
unset PYTHONDONTWRITEBYTECODE
if [ -z "${TAGGER_CORPORA:-}" ] && [ -d ../shared/data ]; then
    TAGGER_CORPORA=$(cd ../shared/data && pwd)
    export TAGGER_CORPORA
fi

scripts/install.sh --dev
export PATH=$PWD/.venv/bin:$PATH

# Types are checked and the site is built while the rest runs.
out=$(mktemp -d)
mypy >"$out/types" 2>&1 &
mypy=$!
NO_MKDOCS_2_WARNING=1 mkdocs build --quiet --strict --site-dir "$out/site" >"$out/mkdocs" 2>&1 &
mkdocs=$!
trap 'kill "$mypy" "$mkdocs" 2>/dev/null || true; rm -rf "$out"' EXIT
ruff format --check .
ruff check .
lint-imports
status=0
pytest -n 2 --dist worksteal -rs "$@" || status=$?
wait "$mypy" || status=$?
wait "$mkdocs" || status=$?
cat "$out/types" "$out/mkdocs"
exit "$status"
