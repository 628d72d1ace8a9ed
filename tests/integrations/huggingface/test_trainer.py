import numpy as np
import pytest
from transformers import DataCollatorForTokenClassification, Trainer, TrainingArguments

from tagger.common.from_allennlp import ConfigurationError
from tagger.integrations.huggingface import MASKED, CrfForTokenClassification, encode_words
from tests.integrations.huggingface.backbones import TAGS, load_tokenizer, random_model

# The trainer warns where there is no GPU.
pytestmark = pytest.mark.filterwarnings("ignore:.*pin_memory:UserWarning")


def arguments(folder, **more):
    return TrainingArguments(str(folder), report_to="none", disable_tqdm=True, **more)


def test_the_trainer_trains_evaluates_saves_and_loads(bert, tmp_path):
    tokenizer, model = load_tokenizer(bert), random_model(bert)
    words = [(["ada", "lovelace", "in", "london"], [1, 2, 0, 3]), (["london"], [3])]
    items = [
        window.inputs for each, tags in words for window in encode_words(tokenizer, each, 18, tags)
    ]
    seen = []

    def keep(predicted):
        seen.append(predicted)
        return {"right": float((predicted.predictions == predicted.label_ids).mean())}

    trainer = Trainer(
        model,
        arguments(tmp_path, max_steps=2, save_steps=2, per_device_eval_batch_size=2),
        data_collator=DataCollatorForTokenClassification(tokenizer),
        train_dataset=items,
        eval_dataset=items,
        preprocess_logits_for_metrics=lambda logits, labels: model.decode(logits, labels != MASKED),
        compute_metrics=keep,
    )
    trainer.train()
    metrics = trainer.evaluate()
    batch = trainer.data_collator(items)
    model.eval()
    output = model(**batch)
    assert metrics["eval_loss"] == pytest.approx(output.loss.item(), rel=1e-4)
    expected = model.decode(output.logits, batch["labels"] != MASKED).numpy()
    assert np.array_equal(seen[-1].predictions, expected)
    loaded = CrfForTokenClassification.from_pretrained(tmp_path / "checkpoint-2").eval()
    assert loaded(**batch).loss.item() == pytest.approx(output.loss.item(), rel=1e-5)


def test_label_smoothing_is_refused_only_for_a_crf(bert, tmp_path):
    smoothed = arguments(tmp_path, label_smoothing_factor=0.1)
    model = CrfForTokenClassification.from_backbone(bert, TAGS)
    with pytest.raises(ConfigurationError, match="`label_smoothing_factor` must be 0 for a CRF"):
        Trainer(model, smoothed)
    Trainer(model, arguments(tmp_path))
    Trainer(model.token_classifier, smoothed)
