// As reuters_cnn.jsonnet, with the loss 'negative_tolerant'.
(import 'reuters_cnn.jsonnet') + { loss:: { type: 'negative_tolerant' } }
