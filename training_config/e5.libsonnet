// Frozen features of the transformer multilingual-e5-small (118 million parameters), for about 100 languages. Add it to a
// config; it replaces the config's own transformer. With these five layers, features take 3.8 kB a word.
// Files: also `allennlp fetch-encoder multilingual-e5-small`.
{
  transformer:: 'data/multilingual-e5-small',
  transformer_layers:: [4, 6, 8, 10, 12],
}
