// As conll2003_bilstm_softmax.jsonnet, trained on the focal loss of Lin et al. (2017).
(import 'conll2003_bilstm_softmax.jsonnet') + {
  loss:: { type: 'focal', gamma: 2 },
}
