// As conll2003_bilstm_crf_glove.jsonnet, with a softmax over the tags of each token in place of the CRF.
// Decoding is limited to legal sequences. docs/losses.md lists the losses.
local loss = { type: 'cross_entropy' };

(import 'conll2003_bilstm_crf_glove.jsonnet') + {
  model+: { head: { type: 'softmax', loss: loss, constrain_decoding: true } },
}
