// As conll2003_minilm_crf.jsonnet, with a softmax over the tags of each token in place of the CRF.
// Decoding is limited to legal sequences.
(import 'conll2003_minilm_crf.jsonnet') + {
  model+: { head: { type: 'softmax', constrain_decoding: true } },
}
