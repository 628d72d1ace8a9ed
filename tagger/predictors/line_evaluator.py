"""The evaluator behind `evaluate --predictions-output-file`, which writes one prediction per line."""

import json
from typing import Any, Callable, Dict, Optional, Union

import torch
from allennlp.common.util import sanitize
from allennlp.data import DataLoader
from allennlp.evaluation import Evaluator, Serializer, SimpleEvaluator
from allennlp.evaluation.serializers import SimpleSerializer
from allennlp.models import Model

from tagger.common.console import current_activity, show_last
from tagger.metrics import format_all_metrics
from tagger.models.measured_model import MeasuredModel


@Serializer.register("lines")
class LineSerializer(SimpleSerializer):
    """Writes one prediction per line for our models, and one batch per line for others."""

    def __call__(
        self,
        batch: Dict[str, Any],
        output_dict: Dict[str, Any],
        data_loader: DataLoader,
        output_postprocess_function: Optional[Callable[..., Dict[str, Any]]] = None,
    ) -> str:
        model = getattr(output_postprocess_function, "__self__", None)
        if not isinstance(model, MeasuredModel) or output_postprocess_function is None:
            return str(
                super().__call__(batch, output_dict, data_loader, output_postprocess_function)
            )
        readable = sanitize(output_postprocess_function(output_dict))
        # Skips the loss, which belongs to the whole batch.
        columns = {name: values for name, values in readable.items() if isinstance(values, list)}
        rows = zip(*columns.values())
        return "\n".join(json.dumps(dict(zip(columns, row))) for row in rows)


@Evaluator.register("lines")
@Evaluator.register("simple", exist_ok=True)
class LineEvaluator(SimpleEvaluator):
    """Like AllenNLP's evaluator, but prints tables of metrics and writes one prediction per line.

    Args:
        batch_serializer: Writes the predictions.
        cuda_device: The GPU's id; -1 for the CPU.
        postprocessor_fn_name: The method of the model that makes predictions readable.
    """

    def __init__(
        self,
        batch_serializer: Optional[Serializer] = None,
        cuda_device: Union[int, torch.device] = -1,
        postprocessor_fn_name: str = "make_output_human_readable",
    ) -> None:
        super().__init__(batch_serializer or LineSerializer(), cuda_device, postprocessor_fn_name)

    def __call__(self, model: Model, *args: Any, **kwargs: Any) -> Dict[str, Any]:
        metrics: Dict[str, Any] = super().__call__(model, *args, **kwargs)
        tables = model.get_tables() if isinstance(model, MeasuredModel) else []
        title = f"Metrics on {current_activity()}" if current_activity() else "Metrics"
        show_last(title, "\n\n".join([format_all_metrics(metrics), *tables]))
        return metrics
