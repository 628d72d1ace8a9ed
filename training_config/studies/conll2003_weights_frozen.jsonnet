// Like conll2003_weights.jsonnet, over frozen features of a transformer: 51 runs.
// Files: see data/README.md; `allennlp fetch-encoder all-MiniLM-L6-v2`.
(import 'weights.libsonnet') + {
  tagger:: (import '../conll2003_weights_frozen.jsonnet') + { test_data_path: 'data/conll2003/eng.testb' },
  strategies:: ['chain', 'marginal', 'softmax_margin', 'decode_bias'],
  weights:: [0.25, 3],
}
