"""Archives with generated configs, of which the system tests try many more."""

from tests.system.generated_configs import write_archives
from tests.system.load_budget import check_archives


def test_some_configs_of_all_components_keep_to_the_budget(trained, tmp_path):
    # Among them, an initializer with a slow pattern inside a list, and an embedding of 1.3 GB.
    write_archives(trained / "model.tar.gz", [1206, 3333, *range(30)], tmp_path)
    assert check_archives(tmp_path) > 25
