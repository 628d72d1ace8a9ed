// The effect of the main parts of the template's recipe on development F1: CoNLL-2003 with GloVe, and variants of it.
// Files: those of `conll2003_bilstm_crf_glove.jsonnet`, and `python scripts/experiments/prepare_lexicons.py`.
// Four epochs instead of 24, so that a run takes minutes. docs/background/recipe.md has the results.
local num_epochs = 4;
local recipe = (import '../conll2003_bilstm_crf_glove.jsonnet') + { num_epochs:: num_epochs };

{
  seeds: [1, 2, 3],
  variants: {
    'the recipe': recipe,
    // The recipe without one part.
    'vectors of the training words alone': recipe {
      // Other words get the vector of unknown words.
      vocabulary+: { pretrained_files: { tokens: recipe.glove_file } },
      dataset_reader+: { token_indexers+: { tokens: { type: 'single_id', lowercase_tokens: true } } },
      model+: { text_field_embedder+: { token_embedders+: {
        tokens: { type: 'embedding', embedding_dim: 50, pretrained_file: recipe.glove_file },
      } } },
    },
    'no average of the weights': recipe { average_decay:: 0 },
    'constant learning rate': recipe { trainer+: { learning_rate_scheduler: null } },
    // The recipe with an additional part.
    'lists of names': recipe + (import '../lexicons.libsonnet'),
    'the document, and lists of names': (import '../conll2003_bilstm_crf_documents.jsonnet') + {
      num_epochs:: num_epochs,
    },
  },
  columns: [
    { title: 'dev F1', metrics: ['best_validation_f1-measure-overall'] },
  ],
}
