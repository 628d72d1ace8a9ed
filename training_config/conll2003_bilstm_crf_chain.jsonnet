// As conll2003_bilstm_crf.jsonnet, with the labels PER and MISC weighted in training by the strategy 'chain'.
// docs/weighting.md lists the other strategies.
(import 'conll2003_bilstm_crf.jsonnet') + {
  weighting:: { type: 'chain', label_weights: { PER: 2, MISC: 0.5 } },
}
