// A character-CNN BiLSTM-CRF on MEDDOCAN: 22 kinds of sensitive information in Spanish clinical cases, some with a
// handful of examples (Marimon et al. 2019).
// Files: see data/README.md; the corpus is read as brat's folders.
// Expect: development F1 .966, test F1 .965 (three runs); 8 minutes of a free core.
(import 'tagger/training/template.libsonnet') + {
  source_encoding:: 'BIO',
  tokenizer:: { type: 'words' },
  language:: 'es',
  // Labels that occur in the development file alone.
  vocabulary+: { tokens_to_add: { labels: ['U-ID_EMPLEO_PERSONAL_SANITARIO'] } },
  // Half of the template's, which takes a third of the time.
  hidden_size:: 128,
  // Many words of new texts are unknown, and there are no pretrained vectors.
  word_dropout:: 0.2,
  num_epochs:: 20,

  train_data_path: 'data/meddocan/train',
  validation_data_path: 'data/meddocan/dev',
}
