// As reuters_cnn.jsonnet, with the loss 'focal'.
(import 'reuters_cnn.jsonnet') + { loss:: { type: 'focal' } }
