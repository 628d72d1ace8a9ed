// A published study of class weights, repeated with a smaller model and more strategies: 255 runs.
// Files: see ../conll2003_bigru_crf.jsonnet.
(import 'weights.libsonnet') + {
  tagger:: (import '../conll2003_weights.jsonnet') + { test_data_path: 'data/conll2003/eng.testb' },
}
