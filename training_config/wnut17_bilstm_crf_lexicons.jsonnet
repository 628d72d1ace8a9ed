// As wnut17_bilstm_crf.jsonnet, but the tagger knows lists of names.
// Files: also `python scripts/prepare_lexicons.py`, which puts the lists into data/lexicons.
// Expect: development F1 .496, test F1 .339 (five runs).
(import 'wnut17_bilstm_crf.jsonnet') + (import 'lexicons.libsonnet')
