"""Everything that an offline machine needs is packed into two archives."""

import json
import shutil
import subprocess
import tarfile
import zipfile

import pytest
import torch
from safetensors.torch import load_file
from transformers import AutoModel

from scripts import pack_site
from tests.configs import save_small_transformer
from tests.conftest import ROOT


def test_the_packages_are_those_missing_on_another_machine(tmp_path):
    needed = pack_site.requirements_of(pack_site.NEEDED)
    expected = pack_site.requirements_of(pack_site.EXPECTED)
    assert {"allennlp", "spacy", "cached-path", "torch", "numpy"} <= set(needed)
    assert {"torch", "numpy", "pytest"} <= set(expected)
    assert "spacy" not in expected
    # Our extras, and pinned requirements of AllenNLP that nothing imports.
    assert not {"ray", "onnxruntime", "fastapi", "wandb"} & set(needed)
    have = tmp_path / "have.txt"
    have.write_text("# comment\n-e .\nTorch==2.13.0\nspaCy @ file:///x\ntyping_extensions>=4 ; x\n")
    assert pack_site.frozen_names(have) == {"torch", "spacy", "typing-extensions"}


def wheel(folder, name, files):
    with zipfile.ZipFile(folder / name, "w") as file:
        for path, text in files.items():
            file.writestr(path, text)


def test_wheels_become_one_folder_without_unused_files(tmp_path):
    wheels, site = tmp_path / "wheels", tmp_path / "site"
    wheels.mkdir()
    files = ["spacy/a.pyx", "spacy/a.py", "spacy/tests/test_a.py", "botocore/data/s3/a.json"]
    files += ["spacy/lang/de/__init__.py", "botocore/data/ec2/a.json"]
    wheel(wheels, "spacy-3-py3-none-any.whl", dict.fromkeys(files, ""))
    pack_site.unpack(wheels, site)
    found = {str(path.relative_to(site)) for path in site.rglob("*") if path.is_file()}
    assert found == {
        "sitecustomize.py",
        "spacy/a.py",
        "spacy/lang/de/__init__.py",
        "botocore/data/s3/a.json",
    }
    wheel(wheels, "x-1-cp312-cp312-manylinux_2_17_aarch64.whl", {"x.py": ""})
    with pytest.raises(SystemExit, match="aarch64.* another machine"):
        pack_site.unpack(wheels, site)


def test_a_transformer_is_packed_in_half_and_computes_in_single_precision(tmp_path):
    (tmp_path / "tiny").mkdir()
    save_small_transformer(tmp_path / "tiny", size=4)
    pack_site.halve(tmp_path / "tiny", tmp_path / "half/tiny")
    weights = load_file(tmp_path / "half/tiny/model.safetensors")
    assert {each.dtype for each in weights.values()} == {torch.float16}
    model = AutoModel.from_pretrained(tmp_path / "half/tiny")
    wanted = AutoModel.from_pretrained(tmp_path / "tiny").state_dict()
    for name, each in model.state_dict().items():
        torch.testing.assert_close(each, wanted[name], rtol=1e-3, atol=1e-3)
    assert model.dtype == torch.float32
    assert json.loads((tmp_path / "tiny/config.json").read_text()).get("dtype") != "float16"


def test_only_the_word_vectors_of_the_corpora_are_packed(tmp_path):
    for name, text in {
        "corpus/train": "Anna O\n",
        "glove/glove.txt": "anna 0.5\nbert 0.1\n",
    }.items():
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text(text)
    pack_site.write_data([tmp_path / "corpus", tmp_path / "glove"], tmp_path / "data.tar.xz")
    with tarfile.open(tmp_path / "data.tar.xz") as archive:
        assert archive.extractfile("./glove/glove.txt").read() == b"anna 0.5\n"
        assert archive.extractfile("./corpus/train").read() == b"Anna O\n"


def test_the_check_unpacks_the_archives_and_starts(tmp_path):
    root = tmp_path / "checkout"
    (root / "scripts/experiments").mkdir(parents=True)
    shutil.copy(ROOT / "scripts/check_gpu.sh", root / "scripts")
    (root / "scripts/experiments/check_gpu.py").write_text("import packed; print(packed.__file__)")
    site, tiny = tmp_path / "site", tmp_path / "tiny"
    for folder, name in ((site, "packed.py"), (tiny, "config.json")):
        folder.mkdir()
        (folder / name).write_text("")
    pack_site.write_archive(site, root / "gpu/site.tar.xz")
    pack_site.write_archive(tiny, root / "gpu/transformer.tar.xz")
    with tarfile.open(root / "gpu/site.tar.xz") as archive:
        assert "site/packed.py" in archive.getnames()
    for _ in range(2):
        done = subprocess.run(
            [root / "scripts/check_gpu.sh"], capture_output=True, text=True, check=True
        )
        assert done.stdout.strip() == str(root / "gpu/site/packed.py")
    assert (root / "data/tiny/config.json").exists()
