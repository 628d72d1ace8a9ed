#!/usr/bin/env bash
# Makes .venv in the root of the project and installs the package (editable) with tested versions of its
# dependencies. You may interrupt and repeat it. If nothing has changed, it returns at once.
#
#   scripts/install.sh
#   PYTHON=python3.12 scripts/install.sh    # another Python, 3.10 or newer
#   TORCH=2.12.0 scripts/install.sh         # another torch than the tested one
set -euo pipefail
cd "$(dirname "$0")/.."

fits() { "$1" -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null; }
version() { "$1" -c 'import sys; print(*sys.version_info[:3], sep=".")' 2>/dev/null; }

candidates=(python3.11 python3 python3.12 python3.13 python3.10)
if [ -n "${PYTHON:-}" ]; then candidates=("$PYTHON"); fi
for python in "${candidates[@]}"; do
    if fits "$python"; then break; fi
done
if ! fits "$python"; then
    echo "install.sh: expected Python 3.10 or newer, got ${PYTHON:-none on the PATH};" \
        "name one: PYTHON=/path/to/python3.11 scripts/install.sh" >&2
    exit 1
fi

version=$(version "$python")
tested_torch=$(sed -n 's/^torch==//p' constraints.txt)
torch=${TORCH:-$tested_torch}
stamp="Python $version, torch $torch, $(cat pyproject.toml setup.py constraints.txt scripts/install.sh | cksum)"
if [ "$(cat .venv/installed 2>/dev/null)" = "$stamp" ]; then
    echo "install.sh: .venv is up to date (Python $version, torch $torch)"
    exit
fi

echo "install.sh: making .venv with Python $version and torch $torch; a few minutes the first time" >&2
rm -f .venv/installed

# On a terminal one line shows what a command says; if it fails, all that it has said is printed.
quietly() {
    local step=$1 line width
    width=$(($(tput cols 2>/dev/null || echo 80) - 1))
    shift
    if ! "$@" 2>&1 | tee .venv/install.log | while IFS= read -r line; do
        if [ -t 2 ]; then printf '\r\033[K%.*s' "$width" "$step: $line" >&2; fi
    done; then
        if [ -t 2 ]; then printf '\r\033[K' >&2; fi
        cat .venv/install.log >&2
        echo "install.sh: $step failed, as shown above; mend the cause and repeat the command" >&2
        exit 1
    fi
    if [ -t 2 ]; then printf '\r\033[K' >&2; fi
}

clear=$([ "$(version .venv/bin/python || true)" = "$version" ] || echo --clear)
"$python" -m venv $clear .venv
changes=(-e "s/^torch==.*/torch==$torch/")
# Torch for GPUs asks for one release of Triton.
if [ "$torch" != "$tested_torch" ]; then changes+=(-e '/^triton==/d'); fi
sed "${changes[@]}" constraints.txt >.venv/constraints.txt
pip=(.venv/bin/python -m pip install --progress-bar off)
# --use-pep517: seqeval comes as source, which pip 23.0 of Python 3.10 builds in a way that fails.
quietly "step 1 of 3" "${pip[@]}" --use-pep517 -c .venv/constraints.txt -e '.[dev,docs,export,huggingface,lexicons,report,serve]'
# The pins of AllenNLP refuse everything above, hence --no-deps.
quietly "step 2 of 3" "${pip[@]}" --no-deps allennlp==2.10.1
# Only tests use this. It is outside the environment, in which every `allennlp` command would import it.
quietly "step 3 of 3" "${pip[@]}" --no-deps --upgrade --target .venv/downstream allennlp-models==2.10.1
echo "$stamp" >.venv/installed
echo "install.sh: done; try: .venv/bin/allennlp --help"
