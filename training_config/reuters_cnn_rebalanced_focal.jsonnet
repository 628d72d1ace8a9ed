// As reuters_cnn.jsonnet, with the loss 'rebalanced_focal'.
(import 'reuters_cnn.jsonnet') + { loss:: { type: 'rebalanced_focal' } }
