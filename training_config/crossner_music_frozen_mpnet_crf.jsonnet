// Like crossner_music_bilstm_crf.jsonnet, but also over frozen features of the transformer all-mpnet-base-v2.
(import 'crossner_music_bilstm_crf.jsonnet') + (import 'mpnet.libsonnet') + {
  // This is enough with frozen features.
  num_epochs:: 40,
}
