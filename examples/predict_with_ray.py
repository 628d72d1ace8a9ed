"""Predicts files on several workers or machines with Ray Data and keeps the order of the lines.

    pip install 'allennlp-tagger[ray]'
    python examples/predict_with_ray.py model.tar.gz texts/ -o predictions.jsonl --workers 2

Each worker loads the archive once. If a worker dies, its window goes to the worker that replaces it.
One task reads a whole file. To read a large file in parallel, split it and name the folder of its parts;
they are read in the order of their names.
"""

import argparse
from typing import Any, Dict, List, Type

import ray
import ray.data
from allennlp.predictors import Predictor


class Worker:
    """Holds a model and predicts windows of lines.

    Args:
        archive: The path of the archived model.
        cuda_device: The id of the GPU among those that Ray shows this worker; -1 for the CPU.
    """

    def __init__(self, archive: str, cuda_device: int = -1) -> None:
        self._predictor = Predictor.from_path(archive, cuda_device=cuda_device)

    def __call__(self, window: Dict[str, Any]) -> Dict[str, List[str]]:
        """Predicts the lines under `text` and returns a line of JSON for each under `prediction`."""
        inputs = [self._predictor.load_line(line) for line in window["text"].tolist()]
        predictions = self._predictor.predict_batch_json(inputs)
        return {"prediction": [self._predictor.dump_line(each) for each in predictions]}


def predict(
    archive: str,
    texts: str,
    output: str,
    num_workers: int = 2,
    num_gpus: float = 0,
    window: int = 2048,
    worker: Type[Worker] = Worker,
) -> None:
    """Predicts all lines that are not blank and writes one line for each, in their order.

    Args:
        archive: The path of the archived model, the same on all machines.
        texts: A file or a folder of lines as `allennlp predict` takes them.
        output: The file to write.
        num_workers: How many workers predict at the same time.
        num_gpus: The number of GPUs per worker.
        window: How many lines a worker gets at a time.
        worker: The class of the workers.
    """
    ray.data.DataContext.get_current().execution_options.preserve_order = True
    predictions = (
        ray.data.read_text(texts)
        .repartition(target_num_rows_per_block=window)
        .map_batches(
            worker,
            fn_constructor_args=(archive, 0 if num_gpus > 0 else -1),
            batch_size=window,
            compute=ray.data.ActorPoolStrategy(size=num_workers),
            num_gpus=num_gpus,
            # Dead workers are always replaced, but a window that kills four of them ends the run.
            max_restarts=-1,
            max_task_retries=3,
        )
    )
    with open(output, "w", encoding="utf-8") as file:
        for batch in predictions.iter_batches(batch_size=None):
            file.writelines(batch["prediction"].tolist())


def main() -> None:
    """Runs the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("archive", help="the archived model")
    parser.add_argument("texts", help="a file or a folder")
    parser.add_argument("-o", "--output", required=True, help="the file to write")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--gpus", type=float, default=0, help="GPUs per worker")
    options = parser.parse_args()
    predict(options.archive, options.texts, options.output, options.workers, options.gpus)


if __name__ == "__main__":
    main()
