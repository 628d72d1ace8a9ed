// As conll2003_bilstm_crf.jsonnet, with PER and MISC weighted in training by strategy 'chain'.
(import 'conll2003_bilstm_crf.jsonnet') + {
  weighting:: { type: 'chain', label_weights: { PER: 2, MISC: 0.5 } },
}
