"""Testbed files with a change, and how one is refused."""

import pytest
import yaml

from bmwg.drivers.testbed.file import embedded_file, load_testbed
from bmwg.methodology.errors import ConfigError


def changed(tmp_path, change):
    data = yaml.safe_load(embedded_file().read_text())
    change(data)
    file = tmp_path / "lab.yaml"
    file.write_text(yaml.safe_dump(data, sort_keys=False))
    return file


def refusal(file):
    with pytest.raises(ConfigError) as caught:
        load_testbed(file)
    return caught.value
