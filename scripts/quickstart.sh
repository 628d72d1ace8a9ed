#!/usr/bin/env bash
# Sets up, trains a tagger of US addresses in a few minutes, prints its metrics, and tags addresses.
#   scripts/quickstart.sh                                    tags two example addresses
#   scripts/quickstart.sh '12 Elm Street, Salem, MA 01970'   tags yours; it trains only the first time
# Repeat the command after an interrupt or a kill: training continues where it stopped.
set -euo pipefail
cd "$(dirname "$0")/.."
run=runs/us_addresses
export OMP_WAIT_POLICY=PASSIVE

scripts/install.sh
export PATH=$PWD/.venv/bin:$PATH
python scripts/prepare_us_addresses.py

# A finished run has written metrics.json, and after it the archive. An interrupted run has an archive too.
if [ ! -e $run/metrics.json ] || [ ! $run/model.tar.gz -nt $run/metrics.json ]; then
  echo "== Training (config: training_config/us_addresses_bilstm_crf.jsonnet, run: $run) =="
  rm -f $run/model.tar.gz
  # Without a checkpoint there is nothing to continue, and the config may have been cut off.
  recover=$(compgen -G "$run/training_state_*.th" >/dev/null && echo --recover || echo --force)
  allennlp train training_config/us_addresses_bilstm_crf.jsonnet -s $run "$recover" |
    sed -u '/^Metrics on/,$d' || # one line for each epoch
    { echo "quickstart.sh: repeat the command to continue, or delete $run to start again" >&2 && exit 1; }
fi

echo "== Metrics on the test addresses =="
if [ ! $run/test_metrics.json -nt $run/model.tar.gz ]; then
  allennlp evaluate $run/model.tar.gz data/us_addresses/test.txt --output-file $run/unfinished.json >/dev/null
  mv $run/unfinished.json $run/test_metrics.json
fi
allennlp show-scores $run/test_metrics.json

echo "== Tagged addresses =="
[ $# -gt 0 ] || set -- '1600 Pennsylvania Avenue NW, Washington, DC 20500' 'PO Box 77, 4 Old Mill Rd Apt 2B, Salem MA'
printf '%s\n' "$@" | allennlp predict $run/model.tar.gz - --silent --output-file $run/predictions.jsonl
python scripts/show_entities.py $run/predictions.jsonl
