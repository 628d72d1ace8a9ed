"""Features on disk survive kills, damage, other processes and limits."""

import logging
import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from tagger.common.from_allennlp import ConfigurationError
from tagger.transformers.feature_store import SUFFIX, FeatureStore, default_root

SHAPE = (2, 3)
LARGE = 1e9


def features(seed, num_words=4):
    return np.random.default_rng(seed).normal(size=(num_words, *SHAPE)).astype(np.float16)


def key(number):
    # Keys may end in zero bytes.
    return number.to_bytes(16, "little")


def store(root, settings="a" * 64, max_bytes=LARGE):
    return FeatureStore(root, settings, SHAPE, max_bytes)


def files(root):
    return sorted(root.glob(f"*/*{SUFFIX}"))


def test_added_features_are_found_by_later_processes(tmp_path):
    entries = [(key(number), features(number, 1 + number)) for number in range(5)]
    first = store(tmp_path)
    assert first.add(entries[:2])
    assert first.add(entries[2:])
    for each in (first, store(tmp_path)):
        for name, values in entries:
            assert name in each
            assert np.array_equal(each.get(name), values)
        assert each.get(key(9)) is None
    assert key(0) not in store(tmp_path, settings="b" * 64)


@pytest.mark.parametrize("place", ["index", "features", "end"])
def test_a_damaged_file_is_removed_and_its_features_missing(tmp_path, place, caplog):
    store(tmp_path).add([(key(number), features(number)) for number in range(2)])
    (path,) = files(tmp_path)
    content = bytearray(path.read_bytes())
    if place == "end":
        content = content[:-1]
    else:
        content[25 if place == "index" else -1] ^= 1
    path.write_bytes(content)
    damaged = store(tmp_path)
    with caplog.at_level(logging.WARNING):
        found = [damaged.get(key(0)), damaged.get(key(1))]
    # Only the features of the second are damaged.
    assert (found[0] is not None) == (place == "features")
    assert found[1] is None
    assert "computed again" in caplog.text
    assert not files(tmp_path)
    damaged.add([(key(1), features(1))])
    assert np.array_equal(damaged.get(key(1)), features(1))


WRITE_FOREVER = """
import sys, numpy as np
from pathlib import Path
from tagger.transformers.feature_store import FeatureStore
store = FeatureStore(Path(sys.argv[1]), "a" * 64, (2, 3), 1e9)
number = 0
while True:
    with store.turn():
        values = np.full((50_000, 2, 3), number, dtype=np.float16)
        store.add([(number.to_bytes(16, "little"), values)])
    number += 1
    print(number, flush=True)
"""


def test_a_killed_process_leaves_whole_files_and_no_lock(tmp_path):
    command = [sys.executable, "-c", WRITE_FOREVER, str(tmp_path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        for _ in range(3):
            process.stdout.readline()
        time.sleep(0.02)
        os.kill(process.pid, signal.SIGKILL)
    after = store(tmp_path)
    with after.turn():
        for number in range(3):
            values = after.get(key(number))
            assert values.shape == (50_000, *SHAPE)
            assert (values == number).all()


def test_unfinished_files_of_a_killed_process_are_removed_later(tmp_path):
    store(tmp_path)
    (folder,) = tmp_path.iterdir()
    old, new = folder / ".a.unfinished", folder / ".b.unfinished"
    for path in (old, new):
        path.write_bytes(b"half")
    os.utime(old, (0, 0))
    store(tmp_path)
    assert (old.exists(), new.exists()) == (False, True)


def test_processes_take_turns_and_see_what_others_wrote(tmp_path):
    ours, theirs, waited = store(tmp_path), store(tmp_path), []

    def wait():
        with theirs.turn():
            waited.append(theirs.get(key(1)))

    with ours.turn():
        thread = threading.Thread(target=wait)
        thread.start()
        time.sleep(0.05)
        assert not waited
        ours.add([(key(1), features(1))])
    thread.join()
    assert np.array_equal(waited[0], features(1))


def test_at_the_limit_the_files_used_least_recently_go(tmp_path, caplog):
    size = 400
    for number in range(3):
        store(tmp_path, settings=f"{number}" * 64).add([(key(number), features(number, 30))])
    oldest, *others = files(tmp_path)
    for age, path in enumerate([*others[::-1], oldest]):
        os.utime(path, (1000 - age, 1000 - age))
    with caplog.at_level(logging.INFO):
        full = store(tmp_path, settings="9" * 64, max_bytes=4 * size)
        assert full.add([(key(9), features(9, 30))])
    assert "used least recently" in caplog.text
    assert oldest not in files(tmp_path)
    assert set(others) < set(files(tmp_path))


def test_files_in_use_are_kept_and_a_warning_says_what_to_raise(tmp_path, caplog):
    used = store(tmp_path, max_bytes=600)
    assert used.add([(key(0), features(0, 30))])
    with caplog.at_level(logging.WARNING):
        assert not used.add([(key(1), features(1, 30))])
        assert not used.add([(key(2), features(2, 30))])
    assert caplog.text.count("raise `max_cache_gb`") == 1
    assert np.array_equal(used.get(key(0)), features(0, 30))


def test_a_folder_that_cannot_be_written_is_no_error(tmp_path, monkeypatch, caplog):
    def refuse(*_):
        raise OSError("no space left on device")

    full = store(tmp_path)
    monkeypatch.setattr("tagger.transformers.feature_store.write_atomically", refuse)
    with caplog.at_level(logging.WARNING):
        assert not full.add([(key(0), features(0))])
    assert "no space left on device" in caplog.text


def test_the_users_cache_folder_is_the_default(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "own"))
    monkeypatch.setenv("HOME", str(tmp_path))
    assert default_root() == tmp_path / "own/tagger/features"
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert default_root() == tmp_path / ".cache/tagger/features"


def test_a_folder_that_is_a_file_is_refused(tmp_path):
    (tmp_path / "file").touch()
    for root in (tmp_path / "file", tmp_path / "file/features"):
        with pytest.raises(ConfigurationError, match="features cannot be kept in .*`cache_folder`"):
            store(root)
