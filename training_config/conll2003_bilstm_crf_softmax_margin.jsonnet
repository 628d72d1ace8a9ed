// As conll2003_bilstm_crf.jsonnet, trained by strategy 'softmax_margin': a missed entity costs most.
(import 'conll2003_bilstm_crf.jsonnet') + {
  weighting:: { type: 'softmax_margin', missing: 1, confusing: 0.5 },
}
