"""Extras that are not installed are named with the command that installs them."""

import pytest

from ttt_envs.storage.extras import require


def test_a_folder_is_no_package(tmp_path, monkeypatch):
    (tmp_path / "no_such_extra").mkdir()
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ImportError, match=r"no_such_extra is not installed; .*pip install 'ttt-envs\[distributed\]'"):
        require("distributed", "no_such_extra")
    require("distributed", "json")
