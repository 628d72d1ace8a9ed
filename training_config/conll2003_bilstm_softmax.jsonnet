// A softmax over the tags of each token in place of the CRF of conll2003_bilstm_crf_glove.jsonnet; decoding
// keeps to legal sequences. Files: as there.
(import 'conll2003_bilstm_crf_glove.jsonnet') + {
  loss:: { type: 'cross_entropy' },

  model+: { head: { type: 'softmax', loss: $.loss, constrain_decoding: true } },
}
