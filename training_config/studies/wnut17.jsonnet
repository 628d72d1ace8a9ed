// Remedies for rare labels on WNUT-17: of 1,975 training entities 660 are persons, 140 to 264 of each rare label.
(import 'rare_labels.libsonnet') + {
  tagger:: import '../wnut17_bilstm_crf.jsonnet',
  rare_labels:: ['corporation', 'creative-work', 'group', 'product'],
}
