// Augmentation on CoNLL-2003 with 1 % of the sentences with MISC.
// Files: as for conll2003_thin.jsonnet.
(import 'augmentation.libsonnet')(import 'conll2003_thin.jsonnet')
