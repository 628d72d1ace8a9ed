// As conll2003_bilstm_crf.jsonnet, with PER and MISC weighted in training by strategy 'emission_transition'.
(import 'conll2003_bilstm_crf.jsonnet') + {
  weighting:: { type: 'emission_transition', label_weights: { PER: 2, MISC: 0.5 } },
}
