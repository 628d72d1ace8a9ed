"""The subcommand `tune-decoding`: fits a saved tagger's decoding to development data.

allennlp tune-decoding model.tar.gz dev.txt -o precise.tar.gz --precision PER=0.97 --f-beta LOC=2
"""

import argparse
import json
import logging
import os
import tarfile
from io import BytesIO
from pathlib import Path
from typing import Any, Dict, List, Sequence, Tuple

import torch
from allennlp.commands.subcommand import Subcommand
from allennlp.common.checks import ConfigurationError, check_for_gpu
from allennlp.common.file_utils import cached_path
from allennlp.common.util import lazy_groups_of
from allennlp.data import Batch as InstanceBatch
from allennlp.data import DatasetReader
from allennlp.models.archival import CONFIG_NAME, load_archive
from allennlp.nn.util import get_text_field_mask, move_to_device

from tagger.metrics import format_metrics
from tagger.metrics.label_metrics import metrics_by_label, precision_recall_f1
from tagger.models import SequenceTagger
from tagger.modules.heads import ChainHead
from tagger.spans.finding import certain_tags
from tagger.tuning.decoding import MEANS, Batch, DecodingTuner, Settings, Target


@Subcommand.register("tune-decoding")
class TuneDecoding(Subcommand):
    """Writes an archive of the same weights that predicts as targets on development data ask for."""

    def add_subparser(self, parser: argparse._SubParsersAction) -> argparse.ArgumentParser:
        """Adds the subcommand's options."""
        description = (
            "Fit the decoding of a saved tagger to development data, without training: how readily it "
            "finds entities of each label."
        )
        subparser = parser.add_parser(
            self.name, description=description, help="Fit a saved tagger's decoding to targets."
        )
        subparser.add_argument("archive_file", type=Path, help="the archived tagger")
        subparser.add_argument("input_file", type=str, help="the development data")
        subparser.add_argument(
            "-o", "--output", type=Path, required=True, help="the archive to write"
        )
        of_labels = {
            "--precision": "the highest recall at a precision of at least this: PER=0.97",
            "--recall": "the highest precision at a recall of at least this: PER=0.95",
            "--f-beta": "the highest F score, in which recall counts this many times: PER=2",
        }
        for option, text in of_labels.items():
            subparser.add_argument(
                option, type=_label_and_number, action="append", metavar="LABEL=NUMBER", help=text
            )
        subparser.add_argument(
            "--macro-f1", action="store_true", help="the highest mean F1, by all other labels"
        )
        subparser.add_argument(
            "--by",
            choices=MEANS,
            help="what to fit: a bias, which finds more or less of a label, or a threshold of the "
            "entities' probabilities, which only drops some; left out, what does better (a bias for "
            "--macro-f1)",
        )
        subparser.add_argument("--force", action="store_true", help="overwrite the output")
        subparser.add_argument("--batch-size", type=int, default=64, help="sentences at a time")
        subparser.add_argument("--cuda-device", type=int, default=-1, help="id of GPU to use")
        subparser.set_defaults(func=tune_decoding_from_args)
        return subparser


def tune_decoding_from_args(args: argparse.Namespace) -> None:
    """Runs the subcommand; what cannot be done is said on standard error, with exit status 1."""
    try:
        _check_output(args.archive_file, args.output, args.force)
        tune_decoding(args)
    except (ConfigurationError, FileNotFoundError) as error:
        raise SystemExit(f"tune-decoding: {error}") from None


def tune_decoding(args: argparse.Namespace) -> None:
    """As `tune_decoding_from_args`.

    Raises:
        ConfigurationError: if a target cannot be reached, and then nothing is written, or the
            arguments do not fit the archive.
    """
    logging.getLogger("allennlp.common.params").disabled = True
    check_for_gpu(args.cuda_device)
    archive = load_archive(args.archive_file, cuda_device=args.cuda_device)
    model = archive.model
    head = getattr(model, "head", None)
    if not isinstance(model, SequenceTagger) or not isinstance(head, ChainHead):
        raise ConfigurationError(
            "`archive_file` must hold a `sequence_tagger` whose head is `crf` or `softmax`; thresholds "
            "of the head `sigmoid` are tuned in training, by the callback `tune_thresholds`"
        )
    if model.tag_encoding in (None, "IOB1"):
        raise ConfigurationError(
            f"`archive_file` must hold a tagger whose tags spell entities in BIO, BIOUL or BMES; got "
            f"{model.tag_encoding or 'plain labels'}"
        )
    batches = _batches(model, archive.validation_dataset_reader, args.input_file, args.batch_size)
    tuner = DecodingTuner(head.cpu(), model.tags, model.tag_encoding, batches)
    start = Settings(head.decoder.decode_bias, head.decoder.entity_thresholds)
    targets = _targets(args, tuner.labels)
    tuned = tuner.tune(targets, start, [args.by] if args.by else None)
    for title, settings in {"Before": start, "After": tuned}.items():
        print(
            f"{title}\n{format_metrics(metrics_by_label(tuner.labels, tuner.counts(settings)))}\n"
        )
    _check_reached(targets, tuner, tuned)
    for name, values in tuned._asdict().items():
        print(f"{name}: {json.dumps(values, sort_keys=True)}")
    write_settings(args.archive_file, args.output, tuned)
    print(f"Wrote {args.output}")


def _label_and_number(text: str) -> Tuple[str, float]:
    label, _, number = text.rpartition("=")
    try:
        return label, float(number)
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"expected a label and a number, such as PER=0.97; got {text!r}"
        ) from None


def _check_output(archive_file: Path, output: Path, force: bool) -> None:
    if not output.exists():
        return
    if archive_file.exists() and output.samefile(archive_file):
        raise ConfigurationError("`--output` is the archive itself; give another name")
    if not force:
        raise ConfigurationError(
            f"`--output` {output} is there already; give another name, or add --force"
        )


def _batches(
    model: SequenceTagger, reader: DatasetReader, path: str, batch_size: int
) -> List[Batch]:
    """Reads a file and computes its emissions, once."""
    # Sentences of similar lengths together, so that little is padding.
    instances = sorted(reader.read(path), key=lambda instance: len(instance["tokens"]))
    if not instances:
        raise ConfigurationError(f"`input_file` {path} holds no sentence")
    model.eval()
    device = next(model.parameters()).device
    batches = []
    for group in lazy_groups_of(instances, batch_size):
        batch = InstanceBatch(group)
        batch.index_instances(model.vocab)
        tensors: Dict[str, Any] = batch.as_tensor_dict()
        tokens = move_to_device(tensors["tokens"], device)
        mask = get_text_field_mask(tokens)
        with torch.no_grad():
            emissions = model.emissions(tokens, mask)
        gold_tags = torch.from_numpy(certain_tags(tensors["tags"].numpy()))
        batches.append(Batch(emissions.float().cpu(), gold_tags, mask.cpu()))
    return batches


def _targets(args: argparse.Namespace, labels: Sequence[str]) -> List[Target]:
    targets = [
        Target(label, measure, number)
        for measure in ("precision", "recall", "f_beta")
        for label, number in getattr(args, measure) or []
    ]
    if args.macro_f1:
        named = {target.label for target in targets}
        targets += [Target(label, "macro_f1") for label in labels if label not in named]
    if not targets:
        raise ConfigurationError(
            "no target is given; add --precision, --recall, --f-beta or --macro-f1"
        )
    return targets


def _check_reached(targets: Sequence[Target], tuner: DecodingTuner, settings: Settings) -> None:
    counts = tuner.counts(settings)
    missed = []
    for target in targets:
        label = tuner.labels.index(target.label)
        if not target.merit(counts, label)[0]:
            precision, recall, _ = precision_recall_f1(counts[:, label])
            missed.append(
                f"a {target.measure} of {target.value:g} for `{target.label}` is out of reach, the best "
                f"found has precision {precision:.4f} and recall {recall:.4f}"
            )
    if missed:
        raise ConfigurationError("; ".join(missed) + "; nothing is written")


def write_settings(archive_file: Path, output: Path, settings: Settings) -> None:
    """Copies an archive but for its config, which gets the settings.

    Args:
        archive_file: of a `sequence_tagger`, or of an ensemble, all of whose members get them.
        output: where to write.
        settings: take the place of the archive's own.
    """
    unfinished = output.with_name(output.name + ".unfinished")
    with tarfile.open(cached_path(archive_file)) as old, tarfile.open(unfinished, "w:gz") as new:
        for member in old:
            content = old.extractfile(member) if member.isfile() else None
            if member.name == CONFIG_NAME and content is not None:
                config = json.load(content)
                model = config["model"]
                for tagger in model.get("members", [model]):
                    tagger.setdefault("head", {}).update(settings._asdict())
                text = json.dumps(config, indent=2).encode()
                member.size, content = len(text), BytesIO(text)
            new.addfile(member, content)
    os.replace(unfinished, output)
