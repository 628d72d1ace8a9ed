// Like crossner_music_bilstm_crf.jsonnet, but also over frozen features of the transformer all-mpnet-base-v2.
// Expect: development F1 0.728, test F1 0.718 (three runs).
(import 'crossner_music_bilstm_crf.jsonnet') + (import 'mpnet.libsonnet') + {
  // This is enough with frozen features.
  num_epochs:: 40,
}
