"""A stranger's archive must neither run, write nor reach anything; a good one must load."""

import io
import json
import shutil
import sys
import tarfile
import types
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import torch
from allennlp.common.checks import ConfigurationError
from allennlp.models import Model
from allennlp.models.archival import archive_model, load_archive
from allennlp.modules.transformer import TransformerEmbeddings
from allennlp.nn.initializers import PretrainedModelInitializer
from allennlp.predictors import Predictor
from hypothesis import HealthCheck, example, given, settings

from tagger.data.dataset_readers import ColumnDatasetReader
from tagger.transformers.pretrained import find_transformer
from tagger_compat import archive_guard
from tagger_compat.archive_tensors import TensorLimit
from tests.allennlp_command import run_command
from tests.configs import save_small_transformer
from tests.system.archives import (
    CONFIGS,
    MEMBERS,
    NOT_REGISTERED,
    TRACE,
    TYPES,
    carried,
    embedded_by,
    embeds_carried,
    listening,
    place_bait,
    transformer_with_code,
    uses_carried,
    write_archive,
)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The current folder, with modules and files that hostile configs name."""
    path = tmp_path / "current"
    path.mkdir()
    monkeypatch.chdir(path)
    # The command `allennlp` puts the current folder there.
    monkeypatch.syspath_prepend(str(path))
    place_bait(path)
    return path


@pytest.fixture
def good(trained):
    return trained / "model.tar.gz"


def refused_in_one_line(archive, load=load_archive, match=None):
    with pytest.raises(ConfigurationError, match=match) as refusal:
        load(str(archive))
    assert len(str(refusal.value).splitlines()) == 1
    return str(refusal.value)


@pytest.mark.parametrize("title", [*MEMBERS, *CONFIGS])
def test_a_hostile_archive_is_refused_in_one_line_and_leaves_no_trace(title, good, folder):
    shutil.copy(good, folder / "good.tar.gz")
    hostile = folder / "hostile.tar.gz"
    write_archive(good, hostile, MEMBERS.get(title), CONFIGS.get(title))
    refused_in_one_line(hostile)
    assert not list(folder.parent.rglob(TRACE))


@pytest.mark.parametrize("title", ["a name with ..", "a function of a library"])
def test_a_predictor_refuses_a_hostile_archive_too(title, good, folder):
    hostile = folder / "hostile.tar.gz"
    write_archive(good, hostile, MEMBERS.get(title), CONFIGS.get(title))
    refused_in_one_line(hostile, Predictor.from_path, "TAGGER_TRUST_ARCHIVES=1")


@pytest.mark.parametrize("use", [uses_carried, embeds_carried])
@pytest.mark.parametrize("is_known", [True, False])
@pytest.mark.parametrize(
    ("kind", "parent"), [("transformer", "fine_tuned"), ("frozen_transformer", "transformers")]
)
def test_code_of_a_carried_transformer_never_runs_and_nobody_is_asked(
    kind, parent, is_known, use, good, folder, monkeypatch
):
    monkeypatch.setattr("sys.stdin", io.StringIO("y\n" * 10))
    monkeypatch.setenv("TAGGER_TRUST_REMOTE_CODE", "1")
    write_archive(good, folder / "hostile.tar.gz", carried(f"{parent}/name", is_known), use(kind))
    refused_in_one_line(folder / "hostile.tar.gz", match="has the file `code.py`, which is none of")
    assert sys.stdin.tell() == 0
    assert not list(folder.parent.rglob(TRACE))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "is_known"),
    [
        (["predict-file", "hostile.tar.gz", "texts.txt", "-o", "out.jsonl"], True),
        (["predict", "hostile.tar.gz", "-"], False),
    ],
    ids=["predict-file", "predict"],
)
def test_lines_of_yes_on_standard_input_are_no_answers(
    command, is_known, good, folder, warm_python, monkeypatch
):
    monkeypatch.setenv("TAGGER_TRUST_REMOTE_CODE", "1")
    (folder / "texts.txt").write_text("Ada left.\n")
    member, config = carried("fine_tuned/name", is_known), uses_carried("transformer")
    write_archive(good, folder / "hostile.tar.gz", member, config)
    outcome = run_command(command, folder, b"y\n" * 1000)
    assert outcome.status == 1
    assert "has the file `code.py`, which is none of" in outcome.last_line
    assert "[y/N]" not in "".join(outcome.output + outcome.errors)
    assert not list(folder.parent.rglob(TRACE))
    assert not (folder / "out.jsonl").exists()


@pytest.mark.parametrize("load_weights", [True, False])
def test_transformers_never_asks_by_allennlps_own_parts(load_weights, folder, monkeypatch):
    from allennlp.common import cached_transformers

    monkeypatch.setattr("sys.stdin", io.StringIO("y\n" * 10))
    for name, text in transformer_with_code(is_known=True).items():
        (folder / name).write_text(text)
    with pytest.raises(ConfigurationError, match="code of its own, which is not run"):
        cached_transformers.get(str(folder), False, load_weights=load_weights)
    with pytest.raises(ConfigurationError, match="code of its own, which is not run"):
        cached_transformers.get_tokenizer(str(folder))
    (folder / "config.json").write_text(transformer_with_code(is_known=False)["config.json"])
    with pytest.raises(ValueError, match="trust_remote_code"):
        TransformerEmbeddings.from_pretrained_module(str(folder))
    assert sys.stdin.tell() == 0
    assert not (folder / TRACE).exists()


def test_the_user_may_trust_the_code_of_a_folder(folder, monkeypatch):
    # Where transformers copies the code to.
    monkeypatch.setattr(
        "transformers.dynamic_module_utils.HF_MODULES_CACHE", str(folder / "copied")
    )
    for name, text in transformer_with_code(is_known=False).items():
        (folder / name).write_text(text)
    transformer = find_transformer(str(folder))
    with pytest.raises(ConfigurationError, match="set TAGGER_TRUST_REMOTE_CODE=1"):
        transformer.tokenizer()
    assert not (folder / TRACE).exists()
    monkeypatch.setenv("TAGGER_TRUST_REMOTE_CODE", "1")
    with pytest.raises(AttributeError):  # The class of this code is no tokenizer.
        transformer.tokenizer()
    assert (folder / TRACE).exists()


@settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(name=TYPES)
@example(name="None")  # `Params` makes None of it.
def test_a_type_that_is_not_registered_is_refused_whatever_it_looks_like(name, good, folder):
    with tarfile.open(good) as archive:
        config = json.load(archive.extractfile("config.json"))
    if not (folder / "run").exists():
        shutil.copytree(good.parent, folder / "run")
    (folder / "run/config.json").write_text(
        json.dumps({**config, "model": {**config["model"], "type": name}})
    )
    modules = set(sys.modules)
    if name not in Model.list_available():
        refused_in_one_line(folder / "run", match=NOT_REGISTERED)
    assert not {each for each in set(sys.modules) - modules if "hostile" in each}
    assert not list(folder.parent.rglob(TRACE))


@pytest.mark.parametrize("name", ["\x1e", "a\nb", "\x1b[2J"])
def test_a_name_that_no_terminal_should_get_is_refused_in_one_line(name, good, folder):
    def change(config):
        reader = {**config["dataset_reader"], "type": name}
        return json.dumps({**config, "dataset_reader": reader})

    write_archive(good, folder / "hostile.tar.gz", config=change)
    assert refused_in_one_line(folder / "hostile.tar.gz").isprintable()


def test_nothing_is_fetched(good, folder):
    def fetches(config):
        url = f"http://127.0.0.1:{counts[0]}/model.tar.gz"
        return json.dumps({**config, "model": {"type": "from_archive", "archive_file": url}})

    with listening() as counts:
        write_archive(good, folder / "hostile.tar.gz", config=fetches)
        refused_in_one_line(folder / "hostile.tar.gz")
    assert counts[1] == 0


def test_what_libraries_do_by_themselves_is_refused_too(folder, monkeypatch):
    import socket
    import subprocess

    def within(action):
        with archive_guard.loading([]) as state:
            state.begin(str(folder / "run"), {"secret", "hostile"}, set())
            action()

    for action, what in [
        (lambda: socket.create_connection(("127.0.0.1", 9)), "asks the network"),
        (lambda: socket.gethostbyname("example.org"), "the network for example.org"),
        (lambda: subprocess.run([sys.executable, "-V"], check=True), "runs"),
        (lambda: subprocess.run(["hostile"], check=True), "runs hostile"),
        (lambda: Path("secret.txt").read_text(), "secret.txt, which lies outside"),
        (lambda: Path("secret").mkdir(), "secret, which lies outside"),
        (lambda: Path("run/../secret.txt").unlink(), "secret.txt, which lies outside"),
    ]:
        with pytest.raises(ConfigurationError, match=what):
            within(action)
        with pytest.raises(ConfigurationError, match=what):
            within(lambda: ThreadPoolExecutor(1).submit(action).result())  # noqa: B023
    # Another thread loads nothing.
    with ThreadPoolExecutor(1) as pool:
        pool.submit(int).result()
        within(lambda: pool.submit(Path("secret.txt").read_text).result())
    # Modules are code of the user's.
    within(lambda: Path("hóstile.py").read_text())
    Path("secret.txt").read_text()


def test_the_user_may_name_what_lies_outside(good, folder, monkeypatch):
    transformer = folder / "transformer"
    transformer.mkdir()
    save_small_transformer(transformer)
    overrides = {
        "dataset_reader.token_indexers.pieces": {
            "type": "pretrained_transformer_mismatched",
            "model_name": str(transformer),
        }
    }
    archive = load_archive(good, overrides=json.dumps(overrides))
    assert "pieces" in archive.dataset_reader._token_indexers
    shutil.copy(good.parent / "best.th", folder / "secret.txt")
    load_archive(good, weights_file=str(folder / "secret.txt"))


def test_a_transformer_may_lie_outside_where_an_archive_names_it(good, folder):
    (folder / "small").mkdir()
    save_small_transformer(folder / "small")

    def indexed(config):
        indexers = {
            "own": {"type": "frozen_transformer", "model_name": "small"},
            "allennlp": {"type": "pretrained_transformer_mismatched", "model_name": "small"},
        }
        indexers.update(config["dataset_reader"].get("token_indexers", {}))
        reader = {**config["dataset_reader"], "token_indexers": indexers}
        return json.dumps({**config, "dataset_reader": reader})

    write_archive(good, folder / "own.tar.gz", config=indexed)
    assert "own" in load_archive(folder / "own.tar.gz").dataset_reader._token_indexers


def test_a_trusted_archive_is_evaluated_as_before(good, folder, monkeypatch):
    monkeypatch.setenv("TAGGER_TRUST_ARCHIVES", "1")
    archive = folder / "own.tar.gz"
    write_archive(good, archive, config=CONFIGS["the environment read by Jsonnet"])
    assert load_archive(archive).config["stolen"]


def test_a_class_that_the_user_has_imported_may_be_named(good, folder, monkeypatch):
    class OwnReader(ColumnDatasetReader):
        pass

    module = types.ModuleType("own_module")
    module.OwnReader = OwnReader
    module.dumps = json.dumps
    own = folder / "own.tar.gz"

    def named(name):
        def change(config):
            reader = {**config["dataset_reader"], "type": name}
            return json.dumps({**config, "dataset_reader": reader})

        write_archive(good, own, config=change)

    named("own_module.OwnReader")
    with pytest.raises(ConfigurationError, match="--include-package"):
        load_archive(own)
    monkeypatch.setitem(sys.modules, "own_module", module)
    assert isinstance(load_archive(own).dataset_reader, OwnReader)
    named("own_module.dumps")
    with pytest.raises(ConfigurationError, match="`own_module.dumps` as a DatasetReader"):
        load_archive(own)


@pytest.mark.parametrize("name", ["hostile_module.Model", "hostile-module.Model"])
def test_a_name_out_of_an_archive_stays_refused_where_another_part_of_it_is_used(
    name, good, folder
):
    def change(config):
        return json.dumps({**config, "data_loader": {"type": name}})

    write_archive(good, folder / "hostile.tar.gz", config=change)
    config = load_archive(folder / "hostile.tar.gz").config
    with pytest.raises(ConfigurationError, match=f"`{name}` as a Model"):
        Model.from_params(config["data_loader"])
    assert not (folder / TRACE).exists()


def test_an_archive_larger_than_allowed_is_refused(good, monkeypatch):
    monkeypatch.setenv("TAGGER_ARCHIVE_BYTES", "1000")
    with pytest.raises(ConfigurationError, match="more than 1000 bytes; set TAGGER_ARCHIVE_BYTES"):
        load_archive(good)


def test_a_limit_that_is_no_number_is_blamed_itself(good, monkeypatch):
    monkeypatch.setenv("TAGGER_ARCHIVE_BYTES", "abc")
    with pytest.raises(ConfigurationError, match="TAGGER_ARCHIVE_BYTES must be .*; got 'abc'"):
        load_archive(good)


@pytest.mark.parametrize("part", [0, 0.5])
def test_an_archive_that_is_cut_off_is_refused_in_one_line(part, good, tmp_path):
    content = good.read_bytes()
    (tmp_path / "cut.tar.gz").write_bytes(content[: int(len(content) * part)])
    with pytest.raises(ConfigurationError, match="cut.tar.gz is not the archive.*; make or copy"):
        load_archive(tmp_path / "cut.tar.gz")


def test_a_tar_file_without_a_config_is_refused(tmp_path):
    with tarfile.open(tmp_path / "other.tar.gz", "w:gz") as archive:
        archive.add(__file__, "code.py")
    with pytest.raises(ConfigurationError, match="no `config.json`"):
        load_archive(tmp_path / "other.tar.gz")


def test_what_is_refused_leaves_no_unpacked_folder(good, folder, monkeypatch, tmp_path):
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    for title in ("a named pipe", "a function of a library"):
        write_archive(good, folder / "hostile.tar.gz", MEMBERS.get(title), CONFIGS.get(title))
        with pytest.raises(ConfigurationError):
            load_archive(folder / "hostile.tar.gz")
    assert not list((tmp_path / "temporary").iterdir())


def test_a_run_folder_and_overrides_in_jsonnet_still_load(trained, tmp_path):
    shutil.copytree(trained, tmp_path / "run")
    overrides = "{ 'model.head.decode_bias': { PER: 1 + 1 } }"
    archive = load_archive(tmp_path / "run", overrides=overrides)
    assert archive.model.head.decoder.decode_bias == {"PER": 2}


def names_of_files(archive):
    with tarfile.open(archive) as members:
        return [member.name for member in members if member.isfile()]


def test_each_member_that_differs_is_refused_by_name(good, folder):
    tampered = folder / "tampered.tar.gz"
    names = names_of_files(good)
    assert names[-1] == "meta.json"
    for name in names[:-1]:
        for change, what in [
            (lambda content: content + b"\n", "has been changed"),
            (lambda content: None, "is missing"),
        ]:
            write_archive(
                good,
                tampered,
                contents=lambda each, content: change(content) if each == name else content,  # noqa: B023
                with_new_checksums=False,
            )
            assert f"the member `{name}` {what}" in refused_in_one_line(tampered)


def reversed_labels(name, content):
    if name != "vocabulary/labels.txt":
        return content
    return b"\n".join(reversed(content.splitlines())) + b"\n"


def doubled_label(name, content):
    if name != "vocabulary/labels.txt":
        return content
    lines = content.splitlines(keepends=True)
    return b"".join([*lines[:-1], lines[0]])


def without_checksums(content):
    meta = json.loads(content)
    del meta["checksums"]
    return json.dumps(meta).encode()


@pytest.mark.parametrize("change", [reversed_labels, doubled_label])
def test_labels_in_another_order_are_refused(change, good, folder):
    tampered = folder / "tampered.tar.gz"
    write_archive(good, tampered, contents=change, with_new_checksums=False)
    refused_in_one_line(tampered, match="`vocabulary/labels.txt` has been changed")


def test_an_archive_without_checksums_loads_unless_a_label_is_there_twice(good, folder):
    def old(name, content):
        return without_checksums(content) if name == "meta.json" else content

    archive = folder / "old.tar.gz"
    write_archive(good, archive, contents=old, with_new_checksums=False)
    assert load_archive(archive).meta.version == "2.10.1"
    write_archive(
        good,
        archive,
        contents=lambda name, content: doubled_label(name, old(name, content)),
        with_new_checksums=False,
    )
    refused_in_one_line(archive, match=r"`vocabulary/labels.txt` has .* twice, in lines 1 and \d")


def test_a_member_that_was_not_there_is_refused(good, folder):
    tampered = folder / "tampered.tar.gz"

    def add(archive, _):
        archive.addfile(tarfile.TarInfo("vocabulary/others.txt"), io.BytesIO())

    write_archive(good, tampered, add, with_new_checksums=False)
    refused_in_one_line(tampered, match="`vocabulary/others.txt` was not there")


@pytest.mark.parametrize("has_meta", [True, False])
@pytest.mark.parametrize("name", ["vocabulary/places", "weights.th", "meta.json"])
def test_a_folder_in_place_of_a_file_is_named(name, has_meta, good, folder):
    def without(member, content):
        return None if member == name or (member == "meta.json" and not has_meta) else content

    def add(archive, _):
        member = tarfile.TarInfo(name)
        member.type, member.mode = tarfile.DIRTYPE, 0o755
        archive.addfile(member)

    hostile = folder / "hostile.tar.gz"
    write_archive(good, hostile, add, contents=without, with_new_checksums=False)
    refused_in_one_line(hostile, match=f"the member `{name}` is a folder, not a file")


def test_an_unpacked_archive_is_checked_and_may_gain_files(good, folder):
    with tarfile.open(good) as archive:
        archive.extractall(folder / "unpacked", filter="data")
    (folder / "unpacked/notes.txt").write_text("mine")
    load_archive(folder / "unpacked")
    (folder / "unpacked/vocabulary/labels.txt").write_text("O\n")
    refused_in_one_line(folder / "unpacked", match="`vocabulary/labels.txt` has been changed")


def test_an_archive_of_a_run_without_meta_has_none(trained, folder):
    shutil.copytree(trained, folder / "run")
    (folder / "run/meta.json").unlink()
    path = archive_model(folder / "run")
    assert "meta.json" not in names_of_files(path)
    assert load_archive(path).meta is None


def test_meta_data_that_are_damaged_are_refused(good, folder):
    damaged = folder / "damaged.tar.gz"
    for text in (b"{", b"[]", b'{"version": "2.10.1", "checksums": 1}'):
        write_archive(
            good,
            damaged,
            contents=lambda name, content: text if name == "meta.json" else content,  # noqa: B023
            with_new_checksums=False,
        )
        refused_in_one_line(damaged, match="`meta.json` is not (as training writes it|plain JSON)")


def compressed(name, content):
    """Weights as a zip file of the same members, whose zeros take no space."""
    if name != "weights.th":
        return content
    new = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(content)) as old,
        zipfile.ZipFile(new, "w", zipfile.ZIP_DEFLATED) as small,
    ):
        for member in old.infolist():
            small.writestr(member.filename, bytes(2**20))
    return new.getvalue()


def long_vocabulary(name, content):
    return content + b"\n" * 99 if name == "vocabulary/tokens.txt" else content


def long_config(name, content):
    return content + b" " * 2**20 if name == "config.json" else content


def odd_version(name, content):
    return b'{"version": "9.\\u001b[2J"}' if name == "meta.json" else content


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (compressed, "`weights.th` is compressed: it grows to .* bytes"),
        (long_vocabulary, "the vocabulary has more than 450 lines"),
        (long_config, "`config.json` has .* bytes, more than 1048576"),
        (odd_version, "a version that is none"),
    ],
)
def test_what_would_grow_or_harm_the_terminal_is_refused(change, what, good, folder, monkeypatch):
    monkeypatch.setattr("tagger_compat.archive_contents.MAX_WORDS", 450)
    load_archive(good)
    write_archive(good, folder / "hostile.tar.gz", contents=change)
    refused_in_one_line(folder / "hostile.tar.gz", match=what)


@pytest.mark.parametrize(
    "address", ["zip://secret.txt::secret.zip", "memory://a", "simplecache::http://nowhere.invalid"]
)
def test_an_archive_names_no_address(address, good, folder):
    vectors = {"type": "word_vectors", "embedding_dim": 2, "pretrained_file": address}
    write_archive(good, folder / "hostile.tar.gz", config=embedded_by(**vectors))
    refused_in_one_line(folder / "hostile.tar.gz", match="names .*, which lies outside")


def test_an_error_within_an_archive_shows_no_control_characters(good, folder):
    def change(config):
        return json.dumps({**config, "model": {**config["model"], "\x1b[2J": 1}})

    write_archive(good, folder / "hostile.tar.gz", config=change)
    message = refused_in_one_line(folder / "hostile.tar.gz", match="Extra parameters")
    assert message.isprintable()
    assert "x1b" in message


def test_tensors_are_limited_by_number_and_by_what_the_files_hold(tmp_path, monkeypatch):
    monkeypatch.setattr("tagger_compat.archive_tensors.FREE_BYTES", 4000)
    monkeypatch.setattr("tagger_compat.archive_tensors.MAX_TENSORS", 10)
    (tmp_path / "weights.th").write_bytes(bytes(1000))
    (tmp_path / "same").symlink_to("weights.th")
    (tmp_path / "same too").hardlink_to(tmp_path / "weights.th")

    def make(*sizes):
        with archive_guard.loading([]) as state:
            state.begin(str(tmp_path), set(), set())
            with TensorLimit(state.num_file_bytes, "model.tar.gz"):
                for size in sizes:
                    torch.zeros(size).new_empty(size)
                torch.zeros(10**12, device="meta")

    make(1000)
    make(*[1] * 4)
    with pytest.raises(ConfigurationError, match="asks for 8008 bytes .* the files have 1000;"):
        make(1001)
    with pytest.raises(ConfigurationError, match="more than 10 tensors"):
        make(*[1] * 5)  # One more is without memory.


def test_an_initializer_reads_an_archive_of_weights_alone(tmp_path):
    layer = torch.nn.Linear(2, 3)
    torch.save(layer.state_dict(), tmp_path / "weights.th")
    with tarfile.open(tmp_path / "weights.tar.gz", "w:gz") as archive:
        archive.add(tmp_path / "weights.th", "weights.th")
    initializer = PretrainedModelInitializer(str(tmp_path / "weights.tar.gz"))
    tensor = torch.zeros(3, 2)
    initializer(tensor, "weight")
    assert torch.equal(tensor, layer.weight)
    with pytest.raises(ConfigurationError, match="has no `config.json`"):
        load_archive(tmp_path / "weights.tar.gz")
