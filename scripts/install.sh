#!/usr/bin/env bash
# Makes .venv in the root of the project and installs the package (editable) with tested versions of its
# dependencies. You may interrupt and repeat it. An existing environment is kept: if it is complete, the script returns
# at once; otherwise it installs what is missing.
#
#   scripts/install.sh                      # everything the commands need: about 2 GB, 6 GB with torch for GPUs
#   scripts/install.sh --dev                # also what scripts/test.sh needs: 2 GB more
#   PYTHON=python3.12 scripts/install.sh    # with this Python, 3.11 or newer
#   TORCH=2.12.0 scripts/install.sh         # with another torch than the tested one
#
# On Linux, torch brings CUDA libraries of several GB unless pip finds a CPU build. To get one, set PIP_EXTRA_INDEX_URL
# to the index of CPU builds, which pytorch.org's install page shows.
set -euo pipefail
cd "$(dirname "$0")/.."

kind=lean
case ${1:-} in
'') ;;
--dev) kind=dev ;;
*) echo "install.sh: unknown argument $1; expected --dev or nothing" >&2 && exit 2 ;;
esac

version() { "$1" -c 'import sys; print(*sys.version_info[:3], sep=".")'; }
fits() { "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; }
stop() { echo "install.sh: $*" >&2 && exit 1; }

existing=$(version .venv/bin/python 2>/dev/null || true)
if [ -n "${PYTHON:-}" ]; then
    python=$PYTHON
    if ! said=$(version "$python" 2>&1); then stop "PYTHON=$python does not run: $(head -1 <<<"${said:-it prints nothing}")"; fi
    fits "$python" || stop "PYTHON=$python is Python $said; expected 3.11 or newer"
elif [ -n "$existing" ] && fits .venv/bin/python; then
    python=.venv/bin/python
else
    for python in python3.11 python3 python3.12 python3.13 ''; do
        if [ -n "$python" ] && fits "$python"; then break; fi
    done
    [ -n "$python" ] || stop "expected Python 3.11 or newer, found none on the PATH;" \
        "name one: PYTHON=/path/to/python3.11 scripts/install.sh"
fi

# The stamp records what is installed: kind, Python, torch, and a checksum of everything else.
version=$(version "$python")
tested_torch=$(sed -n 's/^torch==//p' constraints.txt)
sum=$(cat pyproject.toml setup.py constraints.txt scripts/install.sh | cksum)
stamp=$(cat .venv/installed 2>/dev/null || true)
torch=${TORCH:-}
if [[ -z $torch && $stamp == *", $sum" ]]; then torch=$(sed -n 's/.*, torch \([^,]*\),.*/\1/p' <<<"$stamp"); fi
torch=${torch:-$tested_torch}
rest="Python $version, torch $torch, $sum"
if [ "$stamp" = "dev, $rest" ] || [ "$stamp" = "$kind, $rest" ]; then
    echo "install.sh: .venv is up to date (Python $version, torch $torch)"
    exit
fi
# An environment with the tools for contributors keeps them.
if [[ $existing == "$version" && $stamp == dev,* ]]; then kind=dev; fi

if [ "$existing" = "$version" ]; then
    echo "install.sh: completing .venv, which has Python $version; a few minutes" >&2
else
    size=$([ $kind = lean ] && echo '2 GB, or 6 GB' || echo '4 GB, or 8 GB')
    echo "install.sh: making .venv with Python $version and torch $torch; it takes 2 to 12 minutes and about $size if pip" \
        "finds torch for CUDA (scripts/install.sh says how to choose a CPU build)" >&2
fi
rm -f .venv/installed

# On a terminal, one line shows a command's progress; if the command fails, its full output is printed.
quietly() {
    local step=$1 line width
    width=$(($(tput cols 2>/dev/null || echo 80) - 1))
    shift
    if [ ! -t 2 ]; then echo "install.sh: $step" >&2; fi
    if ! "$@" 2>&1 | tee .venv/install.log | while IFS= read -r line; do
        if [ -t 2 ]; then printf '\r\033[K%.*s' "$width" "$step: $line" >&2; fi
    done; then
        if [ -t 2 ]; then printf '\r\033[K' >&2; fi
        cat .venv/install.log >&2
        stop "$step failed, as shown above; remove the cause and repeat the command"
    fi
    if [ -t 2 ]; then printf '\r\033[K' >&2; fi
}

if [ "$existing" != "$version" ]; then
    clear=$([ -e .venv/pyvenv.cfg ] && echo --clear || true)
    "$python" -m venv $clear .venv
fi
# It may be missing after an interruption.
.venv/bin/python -m pip --version >/dev/null 2>&1 || .venv/bin/python -m ensurepip >/dev/null
changes=(-e "s/^torch==.*/torch==$torch/")
# Each torch for GPUs requires one release of Triton.
if [ "$torch" != "$tested_torch" ]; then changes+=(-e '/^triton==/d'); fi
sed "${changes[@]}" constraints.txt >.venv/constraints.txt
extras=export,huggingface,report,search,serve steps=2
if [ $kind = dev ]; then extras=dev,docs,$extras,lexicons steps=3; fi
pip=(.venv/bin/python -m pip install --progress-bar off)
# --use-pep517: seqeval is only available as source, and old releases of pip fail to build it otherwise.
quietly "step 1 of $steps, this project and its dependencies" \
    "${pip[@]}" --use-pep517 -c .venv/constraints.txt -e ".[$extras]"
# AllenNLP's pins reject everything above, hence --no-deps.
quietly "step 2 of $steps, AllenNLP" "${pip[@]}" --no-deps allennlp==2.10.1
# Only tests use this. It is outside the environment because otherwise every `allennlp` command would import it.
if [ $kind = dev ]; then
    quietly "step 3 of $steps, a model of allennlp-models for tests" \
        "${pip[@]}" --no-deps --upgrade --target .venv/downstream allennlp-models==2.10.1
fi
echo "$kind, $rest" >.venv/installed
echo "install.sh: done; try: .venv/bin/allennlp --help"
