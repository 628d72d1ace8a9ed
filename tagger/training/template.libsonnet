// The shared parts of taggers. A config, in any folder, names its files and overrides the settings it wants:
//
//   (import 'tagger/training/template.libsonnet') + {
//     train_data_path: 'train.txt',
//     validation_data_path: 'dev.txt',
//     source_encoding:: 'BIO',
//     hidden_size:: 300,
//   }
//
// Fields with two colons are settings of this template; AllenNLP does not see them.
// Words are embedded by a vector, by their shape, and by a convolution over their characters (Ma & Hovy 2016). The
// defaults did best on development data: docs/background/recipe.md.

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
  batch_size: settings.whole(16, 1, 1000000) { about: 'Sentences in a batch.' },

  // Words. With `glove_file`, vectors start from it, and all its words are known in prediction.
  word_dim: settings.size(50) { about: 'The size of a word vector.' },
  lowercase_words: settings.boolean(false) {
    about: 'If true, only lowercase words have vectors, as in GloVe 6B.',
  },
  min_word_count: settings.whole(2, 1, 1000000) {
    about: 'Words that are rarer in the training data get the vector from `glove_file`, or that of unknown words.',
  },
  glove_file: settings.or_null(settings.text(null)) {
    about: 'A file of initial word vectors. All its words are known in prediction.',
  },
  word_dropout: settings.dropout(0.05) {
    about: 'The probability of replacing a word by an unknown one, which trains the vector of unknown words.',
  },
  shape_dim: settings.whole(16, 0, 65536) {
    about: "The size of the vector of a word's shape, such as `Xxx`; 0 for none.",
  },

  // Characters.
  character_dim: settings.size(30) { about: 'The size of the vector of a character.' },
  num_character_filters: settings.size(40) { about: 'The number of filters of each width.' },
  character_widths: settings.list([2, 3, 4], settings.whole(null, 1, 100), may_be_empty=false) {
    about: 'The widths of the convolution over characters.',
  },
  character_dropout: settings.dropout(0.25) { about: 'The dropout probability of character vectors.' },

  // Lists of terms: `drugs` means the file drugs.txt in the folder, with a term on each line.
  lexicons: settings.list([], settings.text(null)) {
    about: 'Lists of terms: `drugs` means the file drugs.txt in `lexicon_folder`, with a term on each line.',
  },
  lexicon_folder: settings.text('lexicons') { about: 'The folder of the lists.' },
  lowercase_lexicons: settings.boolean(false) { about: 'If true, terms match words regardless of case.' },

  // A folder with a pretrained transformer. Its frozen features are added to all others: docs/how_to/transformers.md.
  transformer: settings.or_null(settings.text(null)) {
    about: 'A folder with a pretrained transformer. Its frozen features are added to all others.',
  },
  transformer_layers: settings.or_null(settings.list(null, settings.whole(null, 0, 1000), may_be_empty=false)) {
    about: "The transformer's layers that are used, from 0 for the embeddings; null for all.",
  },
  transformer_dim: settings.or_null(settings.size(200)) {
    about: "The size of the transformer's features after a linear layer; null for no such layer.",
  },
  transformer_dropout: settings.dropout(0.5) { about: "The dropout probability of the transformer's features." },
  carry_transformer: settings.boolean(true) {
    about: 'Whether the archive includes the transformer, if it has up to 200 MB.',
  },

  // The tagger.
  hidden_size: settings.size(256) { about: "The size of the LSTM's state in each direction." },
  num_layers: settings.whole(1, 1, 100) { about: 'The number of LSTM layers.' },
  dropout: settings.dropout(0.5) {
    about: 'The dropout probability before and between layers; it drops the same features in all tokens of a sentence.',
  },
  output_dropout: settings.dropout(0.0) { about: 'The dropout probability after the last layer.' },
  recurrent_dropout: settings.dropout(0.0) { about: 'The dropout probability of the recurrent weights.' },
  label_chains: settings.boolean(false) {
    about: 'Whether entities of different labels may overlap: each label gets its own CRF.',
  },
  weighting: settings.or_null(settings.part(null, "{ type: 'chain', label_weights: { PER: 2 } }")) {
    about: 'How the CRF weights the classes; null for the plain likelihood.',
  },
  augmentation: settings.or_null(settings.part(null, "{ type: 'augmentation', mention_replacement: 0.5 }")) {
    about: 'How training sentences with rare labels change from epoch to epoch; null for not at all.',
  },

  // Training. The learning rate rises in the first steps, then falls until the last epoch.
  learning_rate: settings.number(0.004, above=0, most=1) {
    about: 'The highest learning rate. It rises in the first steps, then falls until the last epoch.',
  },
  share_of_warmup: settings.number(0.05, least=0, below=1) {
    about: 'The share of the steps in which the learning rate rises.',
  },
  weight_decay: settings.number(0.0001, least=0, most=1) {
    about: 'Each step shrinks every weight by this share, times the learning rate.',
  },
  average_decay: settings.number(0.999, least=0, below=1) {
    about: 'The decay of the moving average of weights, which is validated and archived; 0 to use the last weights.',
  },
  grad_norm: settings.or_null(settings.number(5, above=0)) {
    about: 'Gradients with a larger norm are clipped to this norm; null for no clipping.',
  },
  num_epochs: settings.whole(24, 1, 1000000) { about: 'The most passes over the training data.' },
  patience: settings.or_null(settings.whole(null, 1, 1000000)) {
    about: 'Stop training after this many epochs without improvement; null to never stop early.',
  },
}, {
  train_data_path: error 'set `train_data_path`, a column file to train on',
  validation_data_path: error 'set `validation_data_path`, a column file to choose the best epoch on',
  // Words from other files only get the vectors of `glove_file`, which training does not change.
  datasets_for_vocab_creation: ['train'],

  dataset_reader: {
    type: 'column',
    source_encoding: $.source_encoding,
    tag_encoding: $.tag_encoding,
    [if $.label_chains then 'label_chains']: true,
    [if $.tokenizer != null then 'tokenizer']: $.tokenizer,
    [if $.language != 'en' then 'language']: $.language,
    token_indexers: {
      tokens: { type: 'word_forms', lowercase: $.lowercase_words },
      token_characters: {
        type: 'cached_characters',
        // The convolution needs words at least as long as its filters.
        min_padding_length: std.foldl(std.max, $.character_widths, 1),
      },
      [if $.shape_dim > 0 then 'shapes']: { type: 'word_shapes' },
      [if $.transformer != null then 'transformer']: { type: 'frozen_transformer', model_name: $.transformer },
      [if $.lexicons != [] then 'lexicons']: { type: 'lexicon' },
    },
  },

  vocabulary: { min_count: { tokens: $.min_word_count } },

  model: {
    type: 'sequence_tagger',
    text_field_embedder: {
      token_embedders: {
        tokens: {
          type: 'word_vectors',
          embedding_dim: $.word_dim,
          word_dropout: $.word_dropout,
          [if $.glove_file != null then 'pretrained_file']: $.glove_file,
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
          character_dropout: $.character_dropout,
        },
        [if $.shape_dim > 0 then 'shapes']: {
          type: 'embedding',
          embedding_dim: $.shape_dim,
          vocab_namespace: 'word_shapes',
        },
        [if $.lexicons != [] then 'lexicons']: {
          type: 'lexicon',
          names: $.lexicons,
          pretrained_file: $.lexicon_folder,
          lowercase: $.lowercase_lexicons,
        },
        [if $.transformer != null then 'transformer']: {
          type: 'frozen_transformer',
          model_name: $.transformer,
          [if $.transformer_layers != null then 'layers']: $.transformer_layers,
          projection_dim: $.transformer_dim,
          max_carried_mb: if $.carry_transformer then 200 else 0,
          dropout: $.transformer_dropout,
        },
      },
    },
    encoder: {
      type: 'bilstm',
      hidden_size: $.hidden_size,
      num_layers: $.num_layers,
      dropout: $.dropout,
      input_dropout: $.dropout,
      output_dropout: $.output_dropout,
      recurrent_dropout: $.recurrent_dropout,
      variational: true,
    },
    head: {
      type: if $.label_chains then 'label_chains' else 'crf',
      [if $.weighting != null then 'weighting']: $.weighting,
    },
    initializer: {
      regexes: [
        ['^encoder\\..*weight_hh.*', { type: 'orthogonal' }],
        ['^encoder\\..*weight_ih.*', { type: 'xavier_uniform' }],
      ],
    },
  },

  data_loader: { type: 'bucketed', batch_size: $.batch_size },
  validation_data_loader: { type: 'bucketed', batch_size: 128, shuffle: false },

  trainer: {
    optimizer: {
      type: 'fused_adamw',
      lr: $.learning_rate,
      betas: [0.9, 0.98],
      weight_decay: $.weight_decay,
    },
    learning_rate_scheduler: { type: 'slanted_triangular', cut_frac: $.share_of_warmup },
    [if $.average_decay > 0 then 'moving_average']: { type: 'fused_exponential', decay: $.average_decay },
    grad_norm: $.grad_norm,
    num_epochs: $.num_epochs,
    patience: $.patience,
    validation_metric: '+f1-measure-overall',
    checkpointer: { keep_most_recent_by_count: 1 },
    callbacks: ['log_clipping', 'show_metrics']
               + (if $.transformer != null then ['frozen_features'] else [])
               + (if $.augmentation != null then [$.augmentation] else []),
  },
})
