"""Our components, each with the module that registers it: imported when its name is asked for."""

import importlib
from typing import Dict

# Each row: the base class, the module below `tagger`, and the names in configs.
_TABLE = """
BatchSampler data.samplers.bagging bagging
BatchSampler data.samplers.rare_labels oversampling
BatchSampler data.samplers.sentence_resampling sentence_resampling
BatchSampler data.samplers.rare_labels undersampling
Checkpointer training.whole_checkpointer default whole
DataLoader data.data_loaders.bucketed bucketed
DatasetReader data.dataset_readers.column column
DatasetReader data.dataset_readers.document document
DatasetReader data.dataset_readers.numeric_sequences numeric_sequences
DatasetReader data.dataset_readers.soft_labelled soft_labelled
DocumentContext modules.document_contexts pooled_states same_words
Evaluator predictors.line_evaluator lines simple
Metric metrics.multi_label_metrics multi_label_metrics
Metric metrics.segment_metrics segment_metrics
Metric metrics.tag_metrics tag_metrics
Model models.document_classifier document_classifier
Model models.document_classifier_ensemble document_classifier_ensemble
Model models.sequence_tagger sequence_tagger
Model models.sequence_tagger_ensemble sequence_tagger_ensemble
MovingAverage training.optimizers fused_exponential
MultiLabelLoss modules.counted_multi_label_losses class_balanced_focal
MultiLabelLoss modules.counted_multi_label_losses class_balanced_negative_tolerant
MultiLabelLoss modules.counted_multi_label_losses distribution_balanced negative_tolerant
MultiLabelLoss modules.counted_multi_label_losses rebalanced_focal self_paced_correction
MultiLabelLoss modules.multi_label_losses asymmetric binary_cross_entropy focal hill
MultiLabelLoss modules.multi_label_losses zero_bounded_ranking
Optimizer training.optimizers fused_adam fused_adamw layerwise_adamw
Predictor predictors.document_classifier document_classifier
Predictor predictors.sequence_tagger sequence_tagger
Seq2SeqEncoder modules.encoders.bilstm bilstm
Seq2SeqEncoder modules.encoders.transformer_head transformer_head
Seq2VecEncoder modules.encoders.masked_cnn masked_cnn
Serializer predictors.line_evaluator lines
TagWeighting modules.tag_weighting chain emission emission_transition lannoy marginal softmax_margin
TaggingHead modules.heads.crf crf
TaggingHead modules.heads.label_chains label_chains
TaggingHead modules.heads.sigmoid sigmoid
TaggingHead modules.heads.chain_head softmax
TokenEmbedder modules.token_embedders.distinct_characters_encoder distinct_character_encoding
TokenEmbedder modules.token_embedders.frozen_transformer frozen_transformer
TokenEmbedder modules.token_embedders.lexicon lexicon
TokenEmbedder modules.token_embedders.numbers numbers
TokenEmbedder modules.token_embedders.transformer transformer
TokenEmbedder modules.token_embedders.word_vectors word_vectors
TokenIndexer data.token_indexers.cached_characters cached_characters
TokenIndexer data.token_indexers.word_forms lexicon word_forms
TokenIndexer data.token_indexers.word_shapes word_shapes
TokenIndexer transformers.frozen_transformer_indexer frozen_transformer
TokenIndexer transformers.transformer_indexer transformer
TokenLoss modules.token_losses class_balanced cross_entropy dice focal logit_adjusted
Tokenizer data.tokenizers words_and_numbers
Tokenizer data.tokenizers blanks characters language_rules punctuation regular_expression words
TrainModel training.recoverable_training default recoverable
Trainer training.recoverable_trainer gradient_descent recoverable
TrainerCallback training.augmentation augmentation
TrainerCallback training.callbacks log_clipping show_metrics tune_thresholds
TrainerCallback training.frozen_features frozen_features
WeightRule modules.weight_rules balanced effective_number inverse_sqrt
"""
#: The modules by the name of the base class and the component's name.
MODULES: Dict[str, Dict[str, str]] = {}
for _kind, _module, *_names in map(str.split, _TABLE.strip().splitlines()):
    MODULES.setdefault(_kind, {}).update(dict.fromkeys(_names, f"tagger.{_module}"))


def import_component(kind: str, name: str) -> None:
    """Imports a component that is one of ours; `name` may also be the path of its class."""
    module = MODULES.get(kind, {}).get(name, name.rpartition(".")[0])
    # A package has the classes of its modules.
    if any(f"{each}.".startswith(f"{module}.") for each in MODULES.get(kind, {}).values()):
        importlib.import_module(module)


def import_all() -> None:
    """Imports all our components, for those who read AllenNLP's registry themselves."""
    for modules in MODULES.values():
        for module in modules.values():
            importlib.import_module(module)
