"""An untrusted archive must not run, write or reach anything; a good one must load."""

import io
import json
import shutil
import sys
import tarfile
import threading
import types
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import torch
from allennlp.common import Params
from allennlp.common.checks import ConfigurationError
from allennlp.data import DatasetReader
from allennlp.models import Model
from allennlp.models.archival import archive_model, load_archive
from allennlp.modules.transformer import TransformerEmbeddings
from allennlp.nn.initializers import PretrainedModelInitializer
from allennlp.predictors import Predictor
from hypothesis import HealthCheck, example, given, settings

from tagger.data.dataset_readers.column import ColumnDatasetReader
from tagger.transformers.pretrained import find_transformer
from tagger_compat import archive_guard
from tagger_compat.archive_tensors import TensorLimit
from tests.allennlp_command import run_command
from tests.configs import save_small_transformer
from tests.system import archives
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
    of_file,
    replaced,
    transformer_with_code,
    uses_carried,
    write_archive,
)

LABELS = "vocabulary/labels.txt"


def refused_in_one_line(archive, load=load_archive, match=None):
    with pytest.raises(ConfigurationError, match=match) as refusal:
        load(str(archive))
    assert len(str(refusal.value).splitlines()) == 1
    return str(refusal.value)


def leaves_no_trace(folder):
    return not list(folder.parent.rglob(TRACE))


@pytest.mark.parametrize("title", [*MEMBERS, *CONFIGS])
def test_a_hostile_archive_is_refused_in_one_line_and_leaves_no_trace(title, good, changed, baited):
    shutil.copy(good, baited / "good.tar.gz")
    refused_in_one_line(changed(MEMBERS.get(title), CONFIGS.get(title)))
    assert leaves_no_trace(baited)


@pytest.mark.parametrize("title", ["a name with ..", "a function of a library"])
def test_a_predictor_refuses_a_hostile_archive_too(title, changed):
    hostile = changed(MEMBERS.get(title), CONFIGS.get(title))
    refused_in_one_line(hostile, Predictor.from_path, "TAGGER_TRUST_ARCHIVES=1")


@pytest.mark.parametrize("use", [uses_carried, embeds_carried])
@pytest.mark.parametrize("is_known", [True, False])
@pytest.mark.parametrize(
    ("kind", "parent"), [("transformer", "fine_tuned"), ("frozen_transformer", "transformers")]
)
def test_code_of_an_archived_transformer_never_runs_and_causes_no_prompt(
    kind, parent, is_known, use, changed, baited, monkeypatch
):
    monkeypatch.setattr("sys.stdin", io.StringIO("y\n" * 10))
    monkeypatch.setenv("TAGGER_TRUST_REMOTE_CODE", "1")
    hostile = changed(carried(f"{parent}/name", is_known), use(kind))
    refused_in_one_line(hostile, match="has the file `code.py`, which is none of")
    assert sys.stdin.tell() == 0
    assert leaves_no_trace(baited)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "is_known"),
    [
        ("predict-file hostile.tar.gz texts.txt -o out.jsonl", True),
        ("predict hostile.tar.gz -", False),
    ],
)
def test_yes_on_standard_input_does_not_confirm_anything(
    command, is_known, changed, baited, warm_python, monkeypatch
):
    monkeypatch.setenv("TAGGER_TRUST_REMOTE_CODE", "1")
    (baited / "texts.txt").write_text("Ada left.\n")
    changed(carried("fine_tuned/name", is_known), uses_carried("transformer"))
    outcome = run_command(command.split(), baited, b"y\n" * 1000)
    assert outcome.status == 1
    assert "has the file `code.py`, which is none of" in outcome.last_line
    assert "[y/N]" not in "".join(outcome.output + outcome.errors)
    assert leaves_no_trace(baited)
    assert not (baited / "out.jsonl").exists()


def write_transformer_with_code(folder, is_known):
    for name, text in transformer_with_code(is_known).items():
        (folder / name).write_text(text)


@pytest.mark.parametrize("load_weights", [True, False])
def test_transformers_does_not_prompt_through_allennlps_own_parts(
    load_weights, baited, monkeypatch
):
    from allennlp.common import cached_transformers

    monkeypatch.setattr("sys.stdin", io.StringIO("y\n" * 10))
    write_transformer_with_code(baited, is_known=True)
    with pytest.raises(ConfigurationError, match="its own code, which is not run"):
        cached_transformers.get(str(baited), False, load_weights=load_weights)
    with pytest.raises(ConfigurationError, match="its own code, which is not run"):
        cached_transformers.get_tokenizer(str(baited))
    write_transformer_with_code(baited, is_known=False)
    with pytest.raises(ValueError, match="trust_remote_code"):
        TransformerEmbeddings.from_pretrained_module(str(baited))
    assert sys.stdin.tell() == 0
    assert leaves_no_trace(baited)


def test_the_user_may_trust_the_code_of_a_folder(baited, monkeypatch):
    # The folder to which transformers copies the code.
    cache = "transformers.dynamic_module_utils.HF_MODULES_CACHE"
    monkeypatch.setattr(cache, str(baited / "copied"))
    write_transformer_with_code(baited, is_known=False)
    transformer = find_transformer(str(baited))
    with pytest.raises(ConfigurationError, match="set TAGGER_TRUST_REMOTE_CODE=1"):
        transformer.tokenizer()
    assert leaves_no_trace(baited)
    monkeypatch.setenv("TAGGER_TRUST_REMOTE_CODE", "1")
    with pytest.raises(AttributeError):  # The class in this code is not a tokenizer.
        transformer.tokenizer()
    assert (baited / TRACE).exists()


@settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(name=TYPES)
@example(name="None")  # `Params` converts it to None.
def test_a_type_that_is_not_registered_is_refused_whatever_it_looks_like(name, good, baited):
    run = baited / "run"
    if not run.exists():
        shutil.copytree(good.parent, run)
    with tarfile.open(good) as archive:
        config = json.load(archive.extractfile("config.json"))
    (run / "config.json").write_text(archives.changed("model", type=name)(config))
    modules = set(sys.modules)
    if name not in Model.list_available():
        refused_in_one_line(run, match=NOT_REGISTERED)
    assert not {each for each in set(sys.modules) - modules if "hostile" in each}
    assert leaves_no_trace(baited)


def test_nothing_is_fetched(changed):
    with listening() as counts:
        url = f"http://127.0.0.1:{counts[0]}/model.tar.gz"
        fetches = replaced("model", type="from_archive", archive_file=url)
        refused_in_one_line(changed(config=fetches))
    assert counts[1] == 0


def test_accesses_by_libraries_are_refused_too(baited):
    import socket
    import subprocess

    def within(action):
        with archive_guard.loading([]) as state:
            state.begin(str(baited / "run"), {"secret", "hostile"}, set())
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
    assert threading.Thread.start.__module__ == "threading"
    # Another thread is not loading an archive.
    with ThreadPoolExecutor(1) as pool:
        pool.submit(int).result()
        within(lambda: pool.submit(Path("secret.txt").read_text).result())
    # Modules are the user's own code.
    within(lambda: Path("hóstile.py").read_text())
    Path("secret.txt").read_text()


def test_the_user_may_name_files_outside_the_archive(good, baited):
    transformer = baited / "transformer"
    transformer.mkdir()
    save_small_transformer(transformer)
    kind = "pretrained_transformer_mismatched"
    indexer = {"type": kind, "model_name": str(transformer)}
    overrides = json.dumps({"dataset_reader.token_indexers.pieces": indexer})
    assert "pieces" in load_archive(good, overrides=overrides).dataset_reader._token_indexers
    shutil.copy(good.parent / "best.th", baited / "secret.txt")
    load_archive(good, weights_file=str(baited / "secret.txt"))


def indexing(**kinds):
    """Makes an archive index words by the transformer `small`, too."""
    indexers = {name: {"type": kind, "model_name": "small"} for name, kind in kinds.items()}
    return archives.changed("dataset_reader", "token_indexers", **indexers)


@pytest.fixture
def small(baited):
    (baited / "small").mkdir()
    save_small_transformer(baited / "small")
    return baited / "small"


def test_an_archive_may_name_a_frozen_transformer_outside(changed, small):
    path = changed(config=indexing(own="frozen_transformer"))
    assert "own" in load_archive(path).dataset_reader._token_indexers
    (small / "model.safetensors").unlink()
    with pytest.raises(ConfigurationError, match="expected a transformer in"):
        load_archive(path)


@pytest.mark.parametrize(
    "change",
    [
        indexing(other="pretrained_transformer"),
        indexing(other="pretrained_transformer_mismatched"),
        indexing(other="transformer"),
        archives.changed(
            "dataset_reader", tokenizer={"type": "pretrained_transformer", "model_name": "small"}
        ),
    ],
)
def test_only_the_user_may_name_another_transformer_outside(change, changed, small, monkeypatch):
    what = "nor a folder that you name|lacks the folder `fine_tuned/small`"
    refused_in_one_line(changed(config=change), match=what)
    monkeypatch.setenv("TAGGER_TRANSFORMERS", str(small))
    load_archive(changed(config=change))


@pytest.mark.parametrize("embedder", ["pretrained_transformer", "transformer"])
def test_an_embedder_opens_no_transformer_outside_either(embedder, changed, small):
    hostile = changed(config=embedded_by(type=embedder, model_name="small"))
    refused_in_one_line(hostile, match="nor a folder that you name|lacks the folder `fine_tuned/")


def test_a_trusted_archive_is_evaluated_as_before(changed, monkeypatch):
    monkeypatch.setenv("TAGGER_TRUST_ARCHIVES", "1")
    path = changed(config=CONFIGS["the environment read by Jsonnet"])
    assert load_archive(path).config["stolen"]


def test_a_class_that_the_user_has_imported_may_be_named(changed, monkeypatch):
    class OwnReader(ColumnDatasetReader):
        pass

    module = types.ModuleType("own_module")
    module.OwnReader, module.dumps = OwnReader, json.dumps

    def load(name):
        return load_archive(changed(config=archives.changed("dataset_reader", type=name)))

    with pytest.raises(ConfigurationError, match="--include-package"):
        load("own_module.OwnReader")
    monkeypatch.setitem(sys.modules, "own_module", module)
    assert isinstance(load("own_module.OwnReader").dataset_reader, OwnReader)
    with pytest.raises(ConfigurationError, match="`own_module.dumps` as a DatasetReader"):
        load("own_module.dumps")


@pytest.mark.parametrize("name", ["hostile_module.Model", "hostile-module.Model"])
def test_a_hostile_name_stays_refused_when_a_part_of_the_config_is_built_later(
    name, changed, baited
):
    config = load_archive(changed(config=replaced("data_loader", type=name))).config
    with pytest.raises(ConfigurationError, match=f"`{name}` as a Model"):
        Model.from_params(config["data_loader"])
    assert leaves_no_trace(baited)


def names_of_files(archive):
    with tarfile.open(archive) as members:
        return [member.name for member in members if member.isfile()]


def test_each_member_that_differs_is_refused_by_name(good, changed):
    names = names_of_files(good)
    assert names[-1] == "meta.json"
    for name in names[:-1]:
        for change, what in [
            (lambda content: content + b"\n", "has been changed"),
            (lambda content: None, "is missing"),
        ]:
            tampered = changed(contents=of_file(name, change), with_new_checksums=False)
            assert f"the member `{name}` {what}" in refused_in_one_line(tampered)


def reversed_lines(content):
    return b"\n".join(reversed(content.splitlines())) + b"\n"


def doubled_line(content):
    lines = content.splitlines(keepends=True)
    return b"".join([*lines[:-1], lines[0]])


def compressed(content):
    """Compresses a zip file of weights, so that zeros take no space."""
    new = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(content)) as old,
        zipfile.ZipFile(new, "w", zipfile.ZIP_DEFLATED) as small,
    ):
        for member in old.infolist():
            small.writestr(member.filename, bytes(2**20))
    return new.getvalue()


def tampered_with(name, change):
    return {"contents": of_file(name, change), "with_new_checksums": False}


def with_vectors(address):
    vectors = {"type": "word_vectors", "embedding_dim": 2, "pretrained_file": address}
    return {"config": embedded_by(**vectors)}


BAD_META = "`meta.json` is not (as training writes it|plain JSON)"
#: Changes to the good archive, and patterns of the messages.
REFUSALS = [
    *(
        ({"config": archives.changed("dataset_reader", type=name)}, ".")
        for name in ("\x1e", "a\nb", "\x1b[2J")
    ),
    ({"config": archives.changed("model", **{"\x1b[2J": 1})}, "Extra parameters.*x1b"),
    *(
        (with_vectors(address), "names .*, which lies outside")
        for address in (
            *("zip://secret.txt::secret.zip", "memory://a"),
            "simplecache::http://nowhere.invalid",
        )
    ),
    (tampered_with(LABELS, reversed_lines), f"`{LABELS}` has been changed"),
    (tampered_with(LABELS, doubled_line), f"`{LABELS}` has been changed"),
    (
        {"member": archives.add("vocabulary/others.txt", ""), "with_new_checksums": False},
        "`vocabulary/others.txt` was not there",
    ),
    *(
        (tampered_with("meta.json", lambda content, text=text: text), BAD_META)
        for text in (b"{", b"[]", b'{"version": "2.10.1", "checksums": 1}')
    ),
    (
        {"contents": of_file("weights.th", compressed)},
        "`weights.th` is compressed: it grows to .* bytes",
    ),
    (
        {"contents": of_file("vocabulary/tokens.txt", lambda content: content + b"\n" * 99)},
        "the vocabulary has more than 450 lines",
    ),
    (
        {"contents": of_file("config.json", lambda content: content + b" " * 2**20)},
        "`config.json` has .* bytes, more than 1048576",
    ),
    (
        {"contents": of_file("meta.json", lambda content: b'{"version": "9.\\u001b[2J"}')},
        "a version that is none",
    ),
]


@pytest.mark.parametrize(("change", "what"), REFUSALS)
def test_false_claims_and_bombs_are_refused_with_a_printable_line(
    change, what, good, changed, baited, monkeypatch
):
    monkeypatch.setattr("tagger_compat.archive_contents.MAX_WORDS", 450)
    load_archive(good)
    assert refused_in_one_line(changed(**change), match=what).isprintable()


def test_an_archive_without_checksums_loads_unless_it_has_a_duplicate_label(changed):
    def without_checksums(content):
        meta = json.loads(content)
        del meta["checksums"]
        return json.dumps(meta).encode()

    old = of_file("meta.json", without_checksums)
    path = changed(contents=old, with_new_checksums=False)
    assert load_archive(path).meta.version == "2.10.1"
    doubled = of_file(LABELS, doubled_line)
    changed(
        contents=lambda name, content: doubled(name, old(name, content)), with_new_checksums=False
    )
    refused_in_one_line(path, match=rf"`{LABELS}` has .* twice, in lines 1 and \d")


@pytest.mark.parametrize("has_meta", [True, False])
@pytest.mark.parametrize("name", ["vocabulary/places", "weights.th", "meta.json"])
def test_a_folder_in_place_of_a_file_is_named(name, has_meta, changed):
    def without(member, content):
        return None if member == name or (member == "meta.json" and not has_meta) else content

    folder = archives.add(name, kind=tarfile.DIRTYPE)
    hostile = changed(folder, contents=without, with_new_checksums=False)
    refused_in_one_line(hostile, match=f"the member `{name}` is a folder, not a file")


@pytest.mark.parametrize(
    ("limit", "what"),
    [
        ("1000", "more than 1000 bytes; set TAGGER_ARCHIVE_BYTES"),
        ("abc", "TAGGER_ARCHIVE_BYTES must be .*; got 'abc'"),
    ],
)
def test_the_users_limit_applies_if_it_is_a_number(limit, what, good, monkeypatch):
    monkeypatch.setenv("TAGGER_ARCHIVE_BYTES", limit)
    refused_in_one_line(good, match=what)


@pytest.mark.parametrize("part", [0, 0.5])
def test_a_truncated_archive_is_refused_in_one_line(part, good, tmp_path):
    content = good.read_bytes()
    (tmp_path / "cut.tar.gz").write_bytes(content[: int(len(content) * part)])
    message = "cut.tar.gz is not the archive.*; make or copy"
    refused_in_one_line(tmp_path / "cut.tar.gz", match=message)


def test_an_archive_without_a_config_is_refused_but_initializes_weights(tmp_path):
    layer, path = torch.nn.Linear(2, 3), tmp_path / "weights.tar.gz"
    torch.save(layer.state_dict(), tmp_path / "weights.th")
    with tarfile.open(path, "w:gz") as archive:
        archive.add(tmp_path / "weights.th", "weights.th")
    tensor = torch.zeros(3, 2)
    PretrainedModelInitializer(str(path))(tensor, "weight")
    assert torch.equal(tensor, layer.weight)
    refused_in_one_line(path, match="has no `config.json`")


def test_a_refused_archive_leaves_no_unpacked_folder(changed, monkeypatch, tmp_path):
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    for title in ("a named pipe", "a function of a library"):
        refused_in_one_line(changed(MEMBERS.get(title), CONFIGS.get(title)))
    assert not list((tmp_path / "temporary").iterdir())


def test_a_run_folder_and_overrides_in_jsonnet_still_load(trained, tmp_path):
    shutil.copytree(trained, tmp_path / "run")
    overrides = "{ 'model.head.decode_bias': { PER: 1 + 1 } }"
    archive = load_archive(tmp_path / "run", overrides=overrides)
    assert archive.model.head.decoder.decode_bias == {"PER": 2}


def test_an_unpacked_archive_is_checked_and_may_gain_files(good, tmp_path):
    with tarfile.open(good) as archive:
        archive.extractall(tmp_path / "unpacked", filter="data")
    (tmp_path / "unpacked/notes.txt").write_text("mine")
    load_archive(tmp_path / "unpacked")
    (tmp_path / "unpacked" / LABELS).write_text("O\n")
    refused_in_one_line(tmp_path / "unpacked", match=f"`{LABELS}` has been changed")


def test_an_archive_of_a_run_without_meta_has_none(trained, tmp_path):
    shutil.copytree(trained, tmp_path / "run")
    (tmp_path / "run/meta.json").unlink()
    path = archive_model(tmp_path / "run")
    assert "meta.json" not in names_of_files(path)
    assert load_archive(path).meta is None


def test_tensors_are_limited_by_number_and_file_size(tmp_path, monkeypatch):
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


MEAN = torch.zeros(3)


@pytest.mark.parametrize(
    "call",
    [
        lambda: torch.normal(MEAN, 1.0),
        lambda: torch.normal(0.0, MEAN + 1),
        lambda: torch.normal(mean=MEAN, std=MEAN + 1, generator=torch.Generator()),
        lambda: torch.normal(MEAN, MEAN + 1, out=torch.empty(3)),
        lambda: torch.normal(0.0, 1.0, (3,)),
        lambda: torch.arange(torch.tensor(3)),
        lambda: torch.full((3,), torch.tensor(2.0)),
        lambda: torch.zeros(3, out=torch.empty(3)),
    ],
)
def test_every_way_of_making_a_tensor_works_and_counts(call, monkeypatch):
    with TensorLimit(lambda: 0, "model.tar.gz"):
        assert call().shape == (3,)
    monkeypatch.setattr("tagger_compat.archive_tensors.FREE_BYTES", 8)
    limit = TensorLimit(lambda: 0, "model.tar.gz")
    with limit, pytest.raises(ConfigurationError, match="bytes of tensors"):
        call()


def test_what_an_archive_names_may_be_named_by_the_users_own_config(good, tmp_path, monkeypatch):
    name = "readers_of_mine.Mine"
    named = tmp_path / "named.tar.gz"
    write_archive(good, named, config=replaced("dataset_reader", type=name))
    (tmp_path / "readers_of_mine.py").write_text(
        "from allennlp.data import DatasetReader\nclass Mine(DatasetReader):\n    pass\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(ConfigurationError):
        load_archive(named)
    with pytest.raises(ConfigurationError, match="which is no registered name"):
        DatasetReader.from_params(Params({"type": name}))
    assert "readers_of_mine" not in sys.modules
    (tmp_path / "mine.jsonnet").write_text(json.dumps({"dataset_reader": {"type": name}}))
    params = Params.from_file(tmp_path / "mine.jsonnet")
    assert type(DatasetReader.from_params(params["dataset_reader"])).__name__ == "Mine"
