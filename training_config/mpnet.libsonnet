// Frozen features of the transformer all-mpnet-base-v2 (109 million parameters). Add it to a config; it replaces the
// config's own transformer. With these four layers, the features of CoNLL-2003 take 1.6 GB.
// Files: also `allennlp fetch-encoder all-mpnet-base-v2`.
{
  transformer:: 'data/all-mpnet-base-v2',
  transformer_layers:: [4, 6, 8, 10],
}
