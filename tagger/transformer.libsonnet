// Taggers over a pretrained transformer that is fine-tuned. A config, in any folder, names its files and overrides the
// numbers it wants:
//
//   (import 'tagger/transformer.libsonnet') + {
//     train_data_path: 'train.txt',
//     validation_data_path: 'dev.txt',
//     source_encoding:: 'BIO',
//     transformer:: 'path/to/folder',
//   }
//
// Fields with two colons are settings of this template; AllenNLP does not see them. docs/fine_tuning.md explains them.
(import 'settings.libsonnet').checked({
  // Data.
  source_encoding:: error 'set `source_encoding`, how the files spell spans: BIO, IOB1, BIOUL, BMES or IOBES',
  tag_encoding:: 'BIOUL',
  // The most word pieces in a batch, padding included.
  pieces_per_batch:: 1024,

  // The transformer: a folder, or a name of the Hugging Face hub.
  transformer:: error 'set `transformer`, the folder of a pretrained transformer',
  // The most word pieces that it reads together; a longer text is read in windows that overlap.
  max_pieces:: 250,
  // Its lower layers, of which nothing is trained and all is computed once.
  num_frozen_layers:: 0,
  // Less memory, more time.
  gradient_checkpointing:: false,
  // 'auto' trains in bfloat16 where that is faster, and otherwise in float32.
  precision:: 'auto',

  // The tagger.
  dropout:: 0.1,
  weighting:: null,

  // Training. Learning rates rise in the first steps, and then fall until the last epoch.
  transformer_learning_rate:: 1e-4,
  // Of the projection to tags and of the CRF.
  learning_rate:: 2e-3,
  // The ratio of the learning rates of a layer and of the next higher one.
  layer_decay:: 0.9,
  share_of_warmup:: 0.1,
  weight_decay:: 0.01,
  grad_norm:: 1,
  num_epochs:: 4,

  train_data_path: error 'set `train_data_path`, a column file to train on',
  validation_data_path: error 'set `validation_data_path`, a column file to choose the best epoch on',
  datasets_for_vocab_creation: ['train'],

  dataset_reader: {
    type: 'column',
    source_encoding: $.source_encoding,
    tag_encoding: $.tag_encoding,
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
    // A batch has a number of pieces, so a mean over sentences would count those of short ones more.
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
    // 'training_counts' is for class weights by rule; without one it does nothing.
    callbacks: ['training_counts', 'log_clipping', 'show_metrics'],
  },

  // With its config and its tokenizer an archive needs no other file of the transformer.
  include_in_archive: ['fine_tuned'],
})
