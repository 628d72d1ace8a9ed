// Taggers that fine-tune a pretrained transformer. A config, in any folder, names its files and overrides the settings
// it wants:
//
//   (import 'tagger/training/transformer.libsonnet') + {
//     train_data_path: 'train.txt',
//     validation_data_path: 'dev.txt',
//     source_encoding:: 'BIO',
//     transformer:: 'path/to/folder',
//   }
//
// Fields with two colons are settings of this template; AllenNLP does not see them. docs/how_to/fine_tuning.md explains them.
local settings = import 'settings.libsonnet';

settings.template({
  // Data.
  source_encoding: settings.required(settings.encoding(null), 'set `source_encoding`, how the files spell spans: BIO, IOB1, BIOUL, BMES or IOBES') {
    about: 'How the files spell spans.',
  },
  tag_encoding: settings.encoding('BIOUL') {
    about: "How the model's tags spell spans; null for plain labels. BIOUL makes the most distinctions.",
  },
  tokenizer: settings.or_null(settings.part(null, "{ type: 'blanks' }")) {
    about: 'How texts are split into tokens like those of the files; null for the rules of `language`.',
  },
  language: settings.text('en') { about: "The spaCy code of the texts' language." },
  pieces_per_batch: settings.whole(1024, 1, 10000000) {
    about: 'The most word pieces in a batch, padding included.',
  },

  // The transformer: a folder, or a name of the Hugging Face hub.
  transformer: settings.required(settings.text(null), 'set `transformer`, the folder of a pretrained transformer') {
    about: 'The pretrained transformer: a folder, or a name of the Hugging Face hub.',
  },
  max_pieces: settings.whole(250, 1, 1000000) {
    about: 'The most word pieces that it reads at once; longer texts are read in overlapping windows.',
  },
  num_frozen_layers: settings.whole(0, 0, 1000) {
    about: 'How many of the lowest layers are not trained; their output is computed only once.',
  },
  gradient_checkpointing: settings.boolean(false) {
    about: 'Whether to trade training time for memory.',
  },
  precision: settings.one_of('auto', ['auto', 'bfloat16', 'float32']) {
    about: "'auto' trains in bfloat16 where that is faster, and otherwise in float32.",
  },

  // The tagger.
  dropout: settings.dropout(0.1) { about: "The dropout probability of the transformer's features." },
  weighting: settings.or_null(settings.part(null, "{ type: 'chain', label_weights: { PER: 2 } }")) {
    about: 'How the CRF weights the classes; null for the plain likelihood.',
  },
  augmentation: settings.or_null(settings.part(null, "{ type: 'augmentation', mention_replacement: 0.5 }")) {
    about: 'How training sentences with rare labels change from epoch to epoch; null for not at all.',
  },

  // Training. Learning rates rise in the first steps, then fall until the last epoch.
  transformer_learning_rate: settings.number(1e-4, above=0, most=1) {
    about: "The highest learning rate of the transformer's last layer. Rates rise in the first steps, then fall until the last epoch.",
  },
  learning_rate: settings.number(2e-3, above=0, most=1) {
    about: 'The highest learning rate of the projection to tags and of the CRF.',
  },
  layer_decay: settings.number(0.9, above=0, most=1) {
    about: 'The ratio between the learning rate of a layer and that of the layer above it.',
  },
  share_of_warmup: settings.number(0.1, least=0, below=1) {
    about: 'The share of the steps in which the learning rate rises.',
  },
  weight_decay: settings.number(0.01, least=0, most=1) {
    about: 'Each step shrinks every weight by this share, times the learning rate.',
  },
  grad_norm: settings.or_null(settings.number(1, above=0)) {
    about: 'Gradients with a larger norm are clipped to this norm; null for no clipping.',
  },
  num_epochs: settings.whole(4, 1, 1000000) { about: 'The most passes over the training data.' },
}, {
  train_data_path: error 'set `train_data_path`, a column file to train on',
  validation_data_path: error 'set `validation_data_path`, a column file to choose the best epoch on',
  datasets_for_vocab_creation: ['train'],

  dataset_reader: {
    type: 'column',
    source_encoding: $.source_encoding,
    tag_encoding: $.tag_encoding,
    [if $.tokenizer != null then 'tokenizer']: $.tokenizer,
    [if $.language != 'en' then 'language']: $.language,
    token_indexers: {
      tokens: { type: 'transformer', model_name: $.transformer, max_pieces: $.max_pieces },
    },
  },

  model: {
    type: 'sequence_tagger',
    text_field_embedder: {
      token_embedders: {
        tokens: {
          type: 'transformer',
          model_name: $.transformer,
          dropout: $.dropout,
          num_frozen_layers: $.num_frozen_layers,
          gradient_checkpointing: $.gradient_checkpointing,
          precision: $.precision,
        },
      },
    },
    encoder: { type: 'pass_through' },
    head: {
      type: 'crf',
      [if $.weighting != null then 'weighting']: $.weighting,
    },
    // Batches are limited by word pieces, so a mean over sentences would give those in small batches more weight.
    loss_reduction: 'token',
  },

  data_loader: { type: 'bucketed', max_tokens: $.pieces_per_batch },
  validation_data_loader: { type: 'bucketed', max_tokens: 4096, shuffle: false },

  trainer: {
    optimizer: {
      type: 'layerwise_adamw',
      lr: $.learning_rate,
      transformer_lr: $.transformer_learning_rate,
      layer_decay: $.layer_decay,
      weight_decay: $.weight_decay,
    },
    learning_rate_scheduler: { type: 'slanted_triangular', cut_frac: $.share_of_warmup },
    grad_norm: $.grad_norm,
    num_epochs: $.num_epochs,
    validation_metric: '+f1-measure-overall',
    checkpointer: { keep_most_recent_by_count: 1 },
    callbacks: ['log_clipping', 'show_metrics']
               + (if $.augmentation != null then [$.augmentation] else []),
  },
})
