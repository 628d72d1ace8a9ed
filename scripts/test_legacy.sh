#!/usr/bin/env bash
# Runs the tests and a training with the libraries that AllenNLP 2.10.1 pins: Python 3.10, torch 1.12. It first
# installs them in .venv-legacy. You may interrupt and repeat it. scripts/test.sh and CI do not run it.
#
#   scripts/test_legacy.sh -k crf                  arguments go to pytest
#   PYTHON=/path/to/python3.10 scripts/test_legacy.sh
set -euo pipefail
cd "$(dirname "$0")/.."

python=${PYTHON:-python3.10}
version=$("$python" -c 'import platform; print(platform.python_version())' 2>/dev/null || true)
if [[ $version != 3.10.* ]]; then
    echo "test_legacy.sh: expected Python 3.10, the last that has torch 1.12, got ${version:-none} as \`$python\`;" \
        "install it, or name one: PYTHON=/path/to/python3.10 scripts/test_legacy.sh" >&2
    exit 1
fi

stamp="Python $version, $(cat pyproject.toml setup.py scripts/test_legacy.sh | cksum)"
if [ "$(cat .venv-legacy/installed 2>/dev/null)" != "$stamp" ]; then
    echo "test_legacy.sh: making .venv-legacy with Python $version; a few minutes the first time"
    rm -f .venv-legacy/installed
    "$python" -m venv .venv-legacy
    # All at once, so that pip keeps AllenNLP's pins. They allow numpy 2, which torch 1.12 cannot use.
    # --use-pep517: as in install.sh.
    .venv-legacy/bin/python -m pip install --use-pep517 allennlp==2.10.1 'numpy<2' pytest seqeval -e .
    # install.sh puts it in the same folder, and pytest looks for it there.
    .venv-legacy/bin/python -m pip install --no-deps --upgrade --target .venv/downstream allennlp-models==2.10.1
    echo "$stamp" >.venv-legacy/installed
fi

export PATH=$PWD/.venv-legacy/bin:$PATH
export OMP_WAIT_POLICY=PASSIVE
# Warnings of the old libraries are not errors.
warnings=(
    ignore::DeprecationWarning
    ignore::FutureWarning
    "ignore:User provided device_type of 'cuda':UserWarning"
    "ignore:unclosed file:ResourceWarning" # AllenNLP's log, where one process trains twice
)
export PYTHONWARNINGS=$(IFS=,; echo "${warnings[*]}")
pytest "${warnings[@]/#/-W}" "$@"

run=$(mktemp -d)
trap 'rm -rf "$run"' EXIT
export ALLENNLP_LOG_LEVEL=${ALLENNLP_LOG_LEVEL:-WARNING}
echo "== Training the toy config =="
allennlp train training_config/toy_bilstm_crf.jsonnet -s "$run/toy" >/dev/null
allennlp evaluate "$run/toy/model.tar.gz" data/toy/test.txt --output-file "$run/scores.json" >/dev/null
allennlp show-scores "$run/scores.json"
