"""Runs a case of malformed inputs, and says what is wrong with the answer."""

import shutil
from pathlib import Path
from typing import Callable, List, Optional

from tests.allennlp_command import Outcome, digests, run_command
from tests.system.malformed_inputs.case import Case

ROOT = Path(__file__).parents[3]
TOY = ROOT / "training_config/toy_bilstm_crf.jsonnet"


def prepare(folder: Path, archive: Optional[Path] = None) -> None:
    """Writes what all cases start from: toy data and a trained model.

    Args:
        folder: An empty folder.
        archive: The archive of the model; None trains one.
    """
    for name in ("train", "dev"):
        shutil.copy(ROOT / f"data/toy/{name}.txt", folder)
    if archive is None:
        run = folder / "run"
        outcome = run_command(["train", str(TOY), "-s", str(run)], ROOT)
        if outcome.status:
            raise RuntimeError(outcome.last_line)
        shutil.copy(run / "model.tar.gz", folder)
        shutil.rmtree(run)
    else:
        shutil.copy(archive, folder / "model.tar.gz")


def problems_of(
    case: Case, prepared: Path, folder: Path, run: Callable[..., Outcome] = run_command
) -> List[str]:
    """Runs a case in a new folder, and says what is wrong with the answer."""
    shutil.copytree(prepared, folder)
    text = case.setup(folder) or b""
    before = digests(folder)
    outcome = run(case.command.split(), folder, text)
    after = digests(folder)
    problems = [f"{name} is gone or changed" for name in before if after.get(name) != before[name]]
    if outcome.has_traceback:
        problems.append("it ends with a traceback")
    if (outcome.status == 0) != case.is_legal:
        problems.append(f"the exit status is {outcome.status}")
    if case.says not in outcome.last_line:
        problems.append(f"the last line does not hold `{case.says}`")
    if not case.is_legal and not outcome.last_line.startswith(
        ("allennlp", case.command.split()[0])
    ):
        problems.append("the last line does not name the command")
    return [*problems, *outcome.errors] if problems else []
