// As wnut17_bilstm_crf.jsonnet, but the tagger knows lists of names.
// Files: also `python scripts/prepare_lexicons.py`, which puts the lists into data/lexicons.
(import 'wnut17_bilstm_crf.jsonnet') + (import 'lexicons.libsonnet')
