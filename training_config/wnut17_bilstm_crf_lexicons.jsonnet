// Like wnut17_bilstm_crf.jsonnet, with lists of names.
// Files: also `python scripts/experiments/prepare_lexicons.py`, which puts the lists into data/lexicons.
// Expect: development F1 0.496, test F1 0.339 (five runs).
(import 'wnut17_bilstm_crf.jsonnet') + (import 'lexicons.libsonnet')
