#!/usr/bin/env bash
# Sets up, trains a tagger of US addresses in a few minutes, prints its metrics, and tags addresses.
#   scripts/quickstart.sh                                    tags two example addresses
#   scripts/quickstart.sh '12 Elm Street, Salem, MA 01970'   tags yours; it trains only the first time
# An interrupted training continues where it stopped.
set -euo pipefail
cd "$(dirname "$0")/.."
run=runs/us_addresses
export OMP_WAIT_POLICY=PASSIVE

scripts/install.sh
export PATH=$PWD/.venv/bin:$PATH
python scripts/prepare_us_addresses.py

if [ ! -e $run/model.tar.gz ]; then
  echo "== Training (config: training_config/us_addresses_bilstm_crf.jsonnet, run: $run) =="
  recover=$([ -e $run/config.json ] && echo --recover || echo --force)
  allennlp train training_config/us_addresses_bilstm_crf.jsonnet -s $run "$recover" |
    sed -u '/^Metrics on/,$d' # one line for each epoch
fi

echo "== Metrics on the test addresses =="
[ -e $run/test_metrics.json ] ||
  allennlp evaluate $run/model.tar.gz data/us_addresses/test.txt --output-file $run/test_metrics.json >/dev/null
python scripts/show_metrics.py $run/test_metrics.json

echo "== Tagged addresses =="
[ $# -gt 0 ] || set -- '1600 Pennsylvania Avenue NW, Washington, DC 20500' 'PO Box 77, 4 Old Mill Rd Apt 2B, Salem MA'
printf '%s\n' "$@" | allennlp predict $run/model.tar.gz - --silent --output-file $run/predictions.jsonl
python scripts/show_entities.py $run/predictions.jsonl
