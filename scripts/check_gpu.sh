#!/usr/bin/env bash
# Measures everything that this project claims or hopes for on a GPU, and writes gpu/report.md and gpu/report.json.
#
#   usage: scripts/check_gpu.sh [PART ...] [--again] [--output FOLDER]     (--help lists the parts and options)
#
# Parts with results are not run again, so that an interrupted check resumes where it stopped.
# It needs no network, since it uses the archives that scripts/pack_site.py wrote to gpu/. docs/how_to/gpu.md describes parts and goals.
set -euo pipefail
cd "$(dirname "$0")/.."
export OMP_WAIT_POLICY=PASSIVE
if [ -d .venv/bin ]; then
    PATH=$PWD/.venv/bin:$PATH
fi
# Packages that this machine lacks.
if [ -f gpu/site.tar.xz ]; then
    if [ ! -d gpu/site ] || [ gpu/site.tar.xz -nt gpu/site ]; then
        rm -rf gpu/site gpu/unpacked
        mkdir gpu/unpacked
        tar xJf gpu/site.tar.xz -C gpu/unpacked
        touch gpu/unpacked/site
        mv gpu/unpacked/site gpu/site
        rmdir gpu/unpacked
    fi
    export PYTHONPATH=$PWD/gpu/site:$PWD${PYTHONPATH:+:$PYTHONPATH}
fi
for name in transformer data; do
    if [ -f "gpu/$name.tar.xz" ]; then
        mkdir -p data
        tar xJf "gpu/$name.tar.xz" -C data --skip-old-files
    fi
done
exec python3 -m scripts.experiments.check_gpu "$@"
