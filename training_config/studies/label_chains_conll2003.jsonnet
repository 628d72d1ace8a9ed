// A chain for each label on a quarter of CoNLL-2003: half of it annotates PER and LOC alone, the other ORG and MISC.
// Files: those of `conll2003_bilstm_crf_glove.jsonnet`, and
//
//   python scripts/experiments/change_corpus.py split-labels data/conll2003/eng.train data/conll2003_halves/halves.files.json --share 0.25 --label PER,LOC
(import 'label_chains.libsonnet') + {
  folder:: 'data/conll2003_halves/',
  base:: (import '../conll2003_bilstm_crf_glove.jsonnet') + { test_data_path: 'data/conll2003/eng.testb' },
}
