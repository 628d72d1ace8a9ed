// As reuters_cnn.jsonnet, with the loss 'distribution_balanced'.
(import 'reuters_cnn.jsonnet') + { loss:: { type: 'distribution_balanced' } }
