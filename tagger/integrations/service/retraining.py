"""Keeps annotations in a folder, and trains the tagger again in the background.

The folder has `annotations.jsonl`, the latest annotation of each text in Prodigy's format, and a run in
`runs/` for each training. A service that starts with the folder goes on where it was.
"""

import json
import logging
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, Dict, List, Optional, Set

from allennlp.common import Params
from allennlp.common.checks import ConfigurationError

from tagger.common.files import write_atomically
from tagger.common.outputs import json_line
from tagger.data.dataset_readers.file_lists import SUFFIX, ListedFile, list_of_files, listed_files
from tagger.data.formats.annotated_text import DOCUMENT, AnnotatedText
from tagger.data.formats.span_records import prodigy_record
from tagger.training.run_folder import take_folder

logger = logging.getLogger(__name__)

ANNOTATIONS_FILE = "annotations.jsonl"
_ARCHIVE = "model.tar.gz"
#: The most texts that are kept, which bounds the memory.
_MOST_TEXTS = 100_000
#: The niceness of a training, so that it is never in the way of an answer.
_NICENESS = "15"


class Retraining:
    """The annotations of a project and the trainings with them.

    All methods may be called from several threads.

    Args:
        folder: For annotations and runs; made if it does not exist.
        config: The config of the tagger that is served.
        name: The name of the tagger, for versions.
        number: A training begins when this many texts have been annotated since the last one; 0 for
            none, except at a request.
        train_data: The training data to add the annotations to; by default the config's.

    Raises:
        ConfigurationError: If the training or development data do not exist.
    """

    def __init__(
        self,
        folder: Path,
        config: Params,
        name: str,
        number: int,
        train_data: Optional[str] = None,
    ) -> None:
        self._folder, self._number, self._name = folder, number, name
        self._config: Dict[str, Any] = config.as_dict(quiet=True)
        #: Called in another thread with the archive of a finished training.
        self.loaded: Callable[[Path], None] = lambda _: None
        self._lock = threading.RLock()
        self._running: Optional[subprocess.Popen] = None
        train_data = train_data or self._config.get("train_data_path")
        for option, path in (
            ("train_data_path", train_data),
            ("validation_data_path", self._config.get("validation_data_path")),
        ):
            if path is not None and not Path(path).exists():
                raise ConfigurationError(
                    f"`{option}` is {path}, which does not exist here, and the tagger is "
                    "trained with it again; start in the folder in which it was trained, or name the "
                    "training data by --train-data"
                )
        self._train_data = train_data
        take_folder(folder, "--label-studio")
        self._records = _read(folder / ANNOTATIONS_FILE)
        self._run = max((int(each.parent.name) for each in self.archives()), default=0)
        trained_on = _read(self._annotations_of(folder / "runs" / str(self._run)))
        # The texts that were annotated since the latest training, or since one that failed.
        self._changed: Set[str] = {
            task for task, record in self._records.items() if trained_on.get(task) != record
        }

    @property
    def version(self) -> str:
        """The name of the tagger that answers, different after each training."""
        return f"{self._name}-{self._run}" if self._run else self._name

    @property
    def num_texts(self) -> int:
        """How many annotated texts there are."""
        return len(self._records)

    def archives(self) -> List[Path]:
        """Returns the archives of all finished trainings, the latest last."""
        found = self._folder.glob(f"runs/*/{_ARCHIVE}")
        return sorted(found, key=lambda path: int(path.parent.name))

    def keep(self, task: Any, annotation: Any, text: Optional[AnnotatedText]) -> None:
        """Keeps an annotation as that of its task; without a text, the task has none."""
        with self._lock:
            if text is None:
                self.drop(annotation)
            elif len(self._records) >= _MOST_TEXTS and str(task) not in self._records:
                logger.warning("%s: %d texts are kept already", self._folder, _MOST_TEXTS)
            else:
                properties = {**text.properties, DOCUMENT: str(task), "annotation_id": annotation}
                self._records[str(task)] = prodigy_record(text._replace(properties=properties))
                self._changed.add(str(task))
                self._write()

    def drop(self, annotation: Any) -> None:
        """Forgets an annotation that was deleted or cancelled."""
        with self._lock:
            for task, record in [*self._records.items()]:
                if record["annotation_id"] == annotation:
                    del self._records[task]
                    self._changed.discard(task)
                    self._write()

    def start(self, at_once: bool = False) -> bool:
        """Starts a training if there are enough new annotations; whether it did."""
        with self._lock:
            enough = bool(self._changed) and (at_once or 0 < self._number <= len(self._changed))
            if self._running is not None or not enough:
                return False
            run = self._folder / "runs" / str(self._next_run())
            run.parent.mkdir(parents=True, exist_ok=True)
            config = run.with_suffix(".json")
            config.write_text(json.dumps(self._config_of(run), indent=2), encoding="utf-8")
            self._changed.clear()
            command = [sys.executable, "-m", "allennlp", "train", str(config), "-s", str(run)]
            if shutil.which("nice"):
                command = ["nice", "-n", _NICENESS, *command]
            environment = {**os.environ, "OMP_NUM_THREADS": "1", "OMP_WAIT_POLICY": "PASSIVE"}
            with run.with_suffix(".log.txt").open("wb") as log:
                self._running = subprocess.Popen(
                    command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=environment
                )
            logger.warning("Trains with %d annotated texts in %s", len(self._records), run)
            threading.Thread(target=self._finish, args=(self._running, run), daemon=True).start()
            return True

    def close(self) -> None:
        """Ends a training that runs; its annotations are kept for the next."""
        with self._lock:
            if self._running is not None:
                self._running.terminate()

    def _finish(self, process: subprocess.Popen, run: Path) -> None:
        status = process.wait()
        try:
            if status == 0:
                self.loaded(run / _ARCHIVE)
                with self._lock:
                    self._run = int(run.name)
                logger.warning("%s answers now", self.version)
            elif status > 0:
                log = run.with_suffix(".log.txt")
                logger.warning(
                    "The training failed, and %s still answers; see %s", self.version, log
                )
        except Exception:  # An archive that cannot be loaded must not end the service.
            logger.exception("The new tagger cannot be used; %s still answers", self.version)
        finally:
            with self._lock:
                self._running = None
        self.start()

    def _next_run(self) -> int:
        numbers = (path.name.split(".")[0] for path in self._folder.glob("runs/*"))
        return 1 + max((int(each) for each in numbers if each.isdecimal()), default=0)

    def _config_of(self, run: Path) -> Dict[str, Any]:
        """Writes the list of training files for a run, and returns its config."""
        own = self._annotations_of(run)
        shutil.copyfile(self._folder / ANNOTATIONS_FILE, own)
        files = [ListedFile(own.resolve(), None)]
        if self._train_data is not None:
            before = listed_files(self._train_data) or [ListedFile(Path(self._train_data), None)]
            files = [*(each._replace(path=each.path.resolve()) for each in before), *files]
        path = run.with_name(f"{run.name}{SUFFIX}")
        path.write_text(list_of_files(files), encoding="utf-8")
        config = {**self._config, "train_data_path": str(path)}
        for name in ("test_data_path", "evaluate_on_test"):
            config.pop(name, None)
        return config

    @staticmethod
    def _annotations_of(run: Path) -> Path:
        """Returns the copy of the annotations that a run trains on."""
        return run.with_name(f"{run.name}.{ANNOTATIONS_FILE}")

    def _write(self) -> None:
        with write_atomically(self._folder / ANNOTATIONS_FILE, overwrite=True) as path:
            text = "".join(map(json_line, self._records.values()))
            path.write_text(text, encoding="utf-8")


def _read(path: Path) -> Dict[str, Dict[str, Any]]:
    """Returns the records of a file by task; none if there is no file."""
    if not path.exists():
        return {}
    with path.open(encoding="utf-8", newline="\n") as lines:
        return {record[DOCUMENT]: record for record in map(json.loads, lines)}
