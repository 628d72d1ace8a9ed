#!/usr/bin/env bash
# Sets up, trains a tagger of US addresses in a few minutes, prints its metrics, and tags addresses.
#   scripts/quickstart.sh                                    tags two example addresses
#   scripts/quickstart.sh '12 Elm Street, Salem, MA 01970'   tags yours; it trains only the first time
# Repeat the command after an interrupt or a kill: training continues where it stopped.
set -euo pipefail
cd "$(dirname "$0")/.."
run=runs/us_addresses

# On a terminal, each epoch's line replaces the previous one; elsewhere every tenth is printed, and the last.
show_epochs() {
  local line last= width count=0
  width=$(($(tput cols 2>/dev/null || echo 80) - 1))
  while IFS= read -r line && [[ $line != 'Metrics on'* ]]; do
    if [ -z "$line" ]; then continue; fi
    last=$line
    if [ -t 1 ]; then printf '\r\033[K%s' "${line:0:$width}"; elif [ $((++count % 10)) = 1 ]; then echo "$line" && last=; fi
  done
  if [ -t 1 ]; then printf '\r\033[K'; fi
  if [ -n "$last" ]; then echo "$last"; fi
  cat >/dev/null
}

scripts/install.sh >/dev/null
export PATH=$PWD/.venv/bin:$PATH

# In a finished run, the archive is newer than metrics.json. An interrupted run has an archive too.
if [ ! -e $run/metrics.json ] || [ ! $run/model.tar.gz -nt $run/metrics.json ]; then
  python scripts/experiments/prepare_us_addresses.py >/dev/null
  echo "== Training, which takes about two minutes (config: training_config/us_addresses_bilstm_crf.jsonnet, run: $run) =="
  rm -f $run/model.tar.gz
  # Without a checkpoint there is nothing to continue, and the config may have been cut off.
  recover=$(compgen -G "$run/training_state_*.th" >/dev/null && echo --recover || echo --force)
  # AllenNLP only draws its own progress bars if standard error is a terminal.
  { allennlp train training_config/us_addresses_bilstm_crf.jsonnet -s $run "$recover" 2>&1 >&3 | cat >&2; } 3>&1 |
    show_epochs ||
    { echo "quickstart.sh: repeat the command to continue, or delete $run to start again" >&2 && exit 1; }
fi

if [ ! $run/test_metrics.json -nt $run/model.tar.gz ]; then
  echo "== Metrics on the text of the test addresses =="
  allennlp evaluate $run/model.tar.gz data/us_addresses/test.txt --from-text --output-file $run/unfinished.json >/dev/null
  mv $run/unfinished.json $run/test_metrics.json
  allennlp show-scores $run/test_metrics.json
  echo "== Tagged addresses =="
  is_first=yes
fi

[ $# -gt 0 ] || set -- '1600 Pennsylvania Avenue NW, Washington, DC 20500' 'PO Box 77, 4 Old Mill Rd Apt 2B, Salem MA'
python - $run/model.tar.gz "$@" <<'END'
import sys

import tagger

archive, *texts = sys.argv[1:]
for tagged in tagger.load(archive).tag(texts):
    print(tagged.text)
    width = max((len(entity.label) for entity in tagged.entities), default=0)
    for entity in tagged.entities:
        print(f"    {entity.label:{width}}  {entity.text}")
END

if [ -n "${is_first-}" ]; then
  echo "== Your turn: enter the environment, where \`allennlp\` is a command =="
  echo "source .venv/bin/activate"
fi
