// As conll2003_bilstm_crf.jsonnet, trained by strategy 'marginal': focal, and rare tags weigh more.
(import 'conll2003_bilstm_crf.jsonnet') + {
  weighting:: { type: 'marginal', gamma: 1, weight_rule: 'inverse_sqrt' },
}
