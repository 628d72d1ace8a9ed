"""Recordings in which a first number tells the label, for tests."""

import csv

import numpy as np

LABELS = ("run", "sit", "walk")


def recording(seed, num_segments=8):
    """Numbers, (T, 2), around 100 and 0, and a label for each step."""
    random = np.random.default_rng(seed)
    kinds = [seed % 3]
    while len(kinds) < num_segments:
        kinds.append((kinds[-1] + int(random.integers(1, 3))) % 3)
    labels = np.repeat(kinds, random.integers(6, 12, num_segments))
    numbers = random.normal(0, 0.2, (len(labels), 2)) + np.stack([100 + 3 * labels, 0 * labels], 1)
    return numbers.astype(np.float32), [LABELS[each] for each in labels]


def write_recordings(path, seeds, several_labels=False, share_unknown=0.1):
    """Writes CSV with some unknown labels and missing numbers."""
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "x", "y", *(LABELS if several_labels else ["activity"])])
        for seed in seeds:
            random = np.random.default_rng(seed)
            for (x, y), label in zip(*recording(seed)):
                is_unknown = random.random() < share_unknown
                cells = [1 * (label == each) for each in LABELS] if several_labels else [label]
                if is_unknown:
                    cells = [-1] * 3 if several_labels else [""]
                writer.writerow([f"r{seed}", x, "" if random.random() < 0.1 else y, *cells])


def config(folder, head, several_labels=False, **reader):
    """A config for `train.csv` and `dev.csv` in a folder, which it writes."""
    write_recordings(folder / "train.csv", range(9), several_labels)
    write_recordings(folder / "dev.csv", range(9, 12), several_labels)
    return {
        "dataset_reader": {
            "type": "numeric_sequences",
            "number_columns": ["x", "y"],
            "label_columns": list(LABELS) if several_labels else "activity",
            "sequence_column": "id",
            **reader,
        },
        "train_data_path": str(folder / "train.csv"),
        "validation_data_path": str(folder / "dev.csv"),
        "datasets_for_vocab_creation": ["train"],
        "model": {
            "type": "sequence_tagger",
            "text_field_embedder": {"token_embedders": {"numbers": {"type": "numbers", "size": 2}}},
            "encoder": {"type": "bilstm", "hidden_size": 8},
            "head": head,
            "segment_tolerance": 1,
        },
        "data_loader": {"type": "bucketed", "batch_size": 2},
        "trainer": {"num_epochs": 8, "optimizer": {"type": "adam", "lr": 0.05}},
    }
