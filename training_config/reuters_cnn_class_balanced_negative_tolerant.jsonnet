// As reuters_cnn.jsonnet, with the loss 'class_balanced_negative_tolerant'.
(import 'reuters_cnn.jsonnet') + { loss:: { type: 'class_balanced_negative_tolerant' } }
