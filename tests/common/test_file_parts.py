from pathlib import Path

import pytest

from tagger.common.file_parts import cut, files_of, inputs_of


@pytest.mark.parametrize("num_inputs", [1, 2, 3, 100])
def test_a_cut_is_at_the_end_of_a_line(tmp_path, num_inputs):
    content = b"\n\na\r\nb\rc\r\r\n \xff\n\xc3\xa9\n\xe2\x80\xa8\n d\n\n \n"
    path = tmp_path / "texts.txt"
    path.write_bytes(content)
    parts = cut([str(path)], num_inputs)
    assert b"".join(content[part.start : part.end] for part in parts) == content
    read = [each for part in parts for each in inputs_of(part)]
    assert [number for number, _ in read] == list(range(1, 13))
    assert {part.num_inputs for part in parts[:-1]} <= {num_inputs}


def test_parts_of_files_follow_each_other(tmp_path):
    for name in ("b", "a", ".hidden"):
        (tmp_path / name).write_text("x\n" * 3)
    parts = cut(files_of([str(tmp_path)]), 2)
    assert [(part.file, Path(part.input).name, part.first_line) for part in parts] == [
        ("part-000000.jsonl", "a", 1),
        ("part-000001.jsonl", "a", 3),
        ("part-000002.jsonl", "b", 1),
        ("part-000003.jsonl", "b", 3),
    ]


def test_an_input_that_changes_during_the_run_is_an_error(tmp_path):
    path = tmp_path / "texts.txt"
    path.write_text("a\nb\n")
    (part,) = cut([str(path)], 2)
    path.write_text("a\nc\n")
    with pytest.raises(ValueError, match="has changed since it was cut into parts"):
        list(inputs_of(part))
