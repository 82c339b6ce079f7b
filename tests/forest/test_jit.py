from pathlib import Path

from numba import config

import umfi.forest
from umfi.forest import jit


def test_compiled_kernels_lie_in_a_folder_named_by_their_source(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    folder = jit._cache_folder()
    assert folder.parent == tmp_path / "umfi"
    source = Path(umfi.forest.__file__).parent / "splits.py"
    real = Path.read_bytes
    monkeypatch.setattr(
        Path, "read_bytes", lambda path: real(path) + (b"#" if path == source else b"")
    )
    jit._source_digest.cache_clear()
    assert jit._cache_folder() != folder
    jit._source_digest.cache_clear()


def test_a_cache_that_cannot_be_written_is_replaced(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    monkeypatch.setattr(jit.tempfile, "gettempdir", lambda: str(tmp_path / "other"))
    assert jit._cache_folder().is_relative_to(tmp_path / "other")
    # Somebody else's folder stands where ours should be.
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "umfi").write_text("")
    monkeypatch.setattr(jit.tempfile, "gettempdir", lambda: str(tmp_path / "taken"))
    assert jit._cache_folder().parent == tmp_path / "taken"


def test_the_setting_of_others_is_left_alone(monkeypatch):
    before = config.CACHE_DIR
    with jit._kernel_cache():
        assert config.CACHE_DIR
    assert before == config.CACHE_DIR
    monkeypatch.setattr(config, "CACHE_DIR", "mine")
    with jit._kernel_cache():
        assert config.CACHE_DIR == "mine"
