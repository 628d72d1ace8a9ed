// The parts that taggers share. A config, in any folder, names its files and overrides the numbers it wants:
//
//   (import 'tagger/template.libsonnet') + {
//     train_data_path: 'train.txt',
//     validation_data_path: 'dev.txt',
//     source_encoding:: 'BIO',
//     hidden_size:: 300,
//   }
//
// Fields with two colons are settings of this template; AllenNLP does not see them.
// A word is embedded as a vector and as a convolution over its characters (Ma & Hovy 2016).

// How similar two names are, from 0 to 1: the share of pairs of letters that they have in common.
local likeness(a, b) =
  local pairs(name) = std.set([name[i:i + 2] for i in std.range(0, std.length(name) - 2)]);
  2 * std.length(std.setInter(pairs(a), pairs(b))) / (std.length(pairs(a)) + std.length(pairs(b)));

// The names of the settings of a config, sorted.
local hidden_fields(config) = std.setDiff(std.objectFieldsAll(config), std.objectFields(config));

// Refuses a setting that the template does not have, because it would have no effect.
local checked(template) =
  local known = hidden_fields(template);
  template {
    assert
      local unknown = std.setDiff(hidden_fields(self), known);
      unknown == [] ||
      local likenesses = [[likeness(name, unknown[0]), name] for name in known];
      local closest = std.foldl(function(best, each) if each[0] > best[0] then each else best, likenesses, [-1, ''])[1];
      error '`%s::` is no field of the template; did you mean `%s::`? The fields are: %s. For a name of your '
            % [unknown[0], closest, std.join(', ', known)] + 'own, use `local`.',
  };

checked({
  // Data.
  source_encoding:: error 'set `source_encoding`, how the files spell spans: BIO, IOB1, BIOUL, BMES or IOBES',
  tag_encoding:: 'BIOUL',
  batch_size:: 32,

  // Words. With `glove_file`, word vectors start from it, and its most frequent words join the vocabulary.
  word_dim:: 50,
  lowercase_words:: false,
  // Words that are seen less often and have no vector in `glove_file` share the vector of unknown words.
  min_word_count:: 2,
  glove_file:: null,
  num_glove_words:: 40000,
  // If true, a training step updates only the vectors of its own words. This pays with a large vocabulary.
  sparse_word_gradients:: false,

  // Characters.
  character_dim:: 30,
  num_character_filters:: 50,
  character_widths:: [3],

  // The tagger.
  hidden_size:: 200,
  num_layers:: 1,
  dropout:: 0.5,
  weighting:: null,

  // Training.
  learning_rate:: 0.001,
  num_epochs:: 50,
  patience:: 5,

  train_data_path: error 'set `train_data_path`, a column file to train on',
  validation_data_path: error 'set `validation_data_path`, a column file to choose the best epoch on',

  dataset_reader: {
    type: 'column',
    source_encoding: $.source_encoding,
    tag_encoding: $.tag_encoding,
    token_indexers: {
      tokens: { type: 'single_id', lowercase_tokens: $.lowercase_words },
      token_characters: {
        type: 'cached_characters',
        // The convolution needs words that are at least as long as its filters.
        min_padding_length: std.foldl(std.max, $.character_widths, 1),
      },
    },
  },

  vocabulary: {
    min_count: { tokens: $.min_word_count },
  } + if $.glove_file == null then {} else {
    pretrained_files: { tokens: $.glove_file },
    min_pretrained_embeddings: { tokens: $.num_glove_words },
  },

  model: {
    type: 'sequence_tagger',
    text_field_embedder: {
      token_embedders: {
        tokens: {
          type: 'embedding',
          embedding_dim: $.word_dim,
          [if $.glove_file != null then 'pretrained_file']: $.glove_file,
          [if $.sparse_word_gradients then 'sparse']: true,
        },
        token_characters: {
          type: 'distinct_character_encoding',
          embedding: { embedding_dim: $.character_dim, vocab_namespace: 'token_characters' },
          encoder: {
            type: 'masked_cnn',
            embedding_dim: $.character_dim,
            num_filters: $.num_character_filters,
            ngram_filter_sizes: $.character_widths,
          },
        },
      },
    },
    encoder: {
      type: 'bilstm',
      hidden_size: $.hidden_size,
      num_layers: $.num_layers,
      dropout: $.dropout,
      input_dropout: $.dropout,
      output_dropout: $.dropout,
    },
    head: {
      type: 'crf',
      [if $.weighting != null then 'weighting']: $.weighting,
    },
  },

  data_loader: { type: 'bucketed', batch_size: $.batch_size },
  validation_data_loader: { type: 'bucketed', batch_size: 128, shuffle: false },

  trainer: {
    local adam = { type: 'fused_adam', lr: $.learning_rate },
    optimizer: if $.sparse_word_gradients then {
      type: 'multi',
      optimizers: {
        default: adam,
        words: { type: 'sparse_adam', lr: $.learning_rate },
      },
      parameter_groups: [[['token_embedder_tokens\\.weight'], { optimizer_name: 'words' }]],
    } else adam,
    grad_norm: 5,
    num_epochs: $.num_epochs,
    patience: $.patience,
    validation_metric: '+f1-measure-overall',
    checkpointer: { keep_most_recent_by_count: 1 },
    // 'training_counts' is for class weights by rule; without one it does nothing.
    callbacks: ['training_counts', 'show_metrics'],
  },
})
