"""Runs a case of malformed inputs, and says what is wrong with the answer."""

import shutil
from pathlib import Path
from typing import Callable, List, Optional, Tuple

from tests.allennlp_command import Outcome, digests, run_command
from tests.system.malformed_inputs.case import Case

ROOT = Path(__file__).parents[3]
TOY = ROOT / "training_config/toy_bilstm_crf.jsonnet"
PAGE = ROOT / "docs/reference/errors.md"
#: What stands around the table in the page.
MARKS = ("<!-- made by tests/system/malformed_inputs -->", "<!-- end -->")


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


def try_case(
    case: Case, prepared: Path, folder: Path, run: Callable[..., Outcome] = run_command
) -> Tuple[Outcome, List[str]]:
    """Runs a case.

    Args:
        case: What to run.
        prepared: The folder that `prepare` has filled.
        folder: A folder that does not exist yet.
        run: Runs a command, as `run_command`.

    Returns:
        How the command ended, and what is wrong with that.
    """
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
    return outcome, problems


def table_row(case: Case, outcome: Outcome, folder: Path) -> str:
    """Returns the row of a case in the table."""
    line = outcome.last_line.replace(str(folder.resolve()), "/home/you").replace("|", "\\|")
    command = case.command.replace("|", "\\|")
    shown = f"`` {line} ``" if line and outcome.status else "works"
    return f"| {case.title} | `{command}` | {shown} |"


def rows_of_page() -> List[str]:
    """The rows of the table in the page."""
    return PAGE.read_text().split(MARKS[0])[1].split(MARKS[1])[0].splitlines()[1:]


def write_page(rows: List[str]) -> None:
    """Puts rows in the place of those in the page."""
    before, after = (PAGE.read_text().split(mark)[i] for mark, i in zip(MARKS, (0, 1)))
    PAGE.write_text(f"{before}{MARKS[0]}\n" + "\n".join(rows) + f"\n{MARKS[1]}{after}")
