// As label_chains_conll2003.jsonnet, on half of BC5CDR: half of it annotates chemicals alone, the other diseases.
// Files: those of `bc5cdr_bilstm_crf.jsonnet`, and
//
//   python scripts/experiments/change_corpus.py split-labels data/bc5cdr/train.tsv data/bc5cdr_halves/halves.files.json --share 0.5 --label Chemical
(import 'label_chains.libsonnet') + {
  folder:: 'data/bc5cdr_halves/',
  base:: (import '../bc5cdr_bilstm_crf.jsonnet') + { test_data_path: 'data/bc5cdr/test.tsv' },
}
