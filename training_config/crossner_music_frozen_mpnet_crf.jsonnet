// Like crossner_music_bilstm_crf.jsonnet, but also over frozen features of the transformer all-mpnet-base-v2.
// Its F1 has not been measured yet.
(import 'crossner_music_bilstm_crf.jsonnet') + (import 'mpnet.libsonnet') + {
  // This is enough with frozen features.
  num_epochs:: 40,
}
