// As conll2003_bilstm_crf.jsonnet, with PER and MISC weighted in training by strategy 'emission'.
(import 'conll2003_bilstm_crf.jsonnet') + {
  weighting:: { type: 'emission', label_weights: { PER: 2, MISC: 0.5 } },
}
