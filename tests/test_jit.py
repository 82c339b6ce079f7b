import json
import os
import subprocess
import sys
from pathlib import Path

from numba import config, njit

import umfi.forest
from umfi import jit

SOURCES = Path(umfi.forest.__file__).parent


def test_compiled_kernels_lie_in_a_folder_named_by_their_source(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    folder = jit._cache_folder(SOURCES)
    assert folder.parent == tmp_path / "umfi"
    source = SOURCES / "splits.py"
    real = Path.read_bytes
    monkeypatch.setattr(
        Path, "read_bytes", lambda path: real(path) + (b"#" if path == source else b"")
    )
    jit._source_digest.cache_clear()
    assert jit._cache_folder(SOURCES) != folder
    jit._source_digest.cache_clear()


def test_a_cache_that_cannot_be_written_is_replaced(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    monkeypatch.setattr(jit.tempfile, "gettempdir", lambda: str(tmp_path / "other"))
    assert jit._cache_folder(SOURCES).is_relative_to(tmp_path / "other")
    # Somebody else's folder stands where ours should be.
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / f"umfi-{os.getuid()}").write_text("")
    monkeypatch.setattr(jit.tempfile, "gettempdir", lambda: str(tmp_path / "taken"))
    assert jit._cache_folder(SOURCES).parent == tmp_path / "taken"


def test_the_setting_of_others_is_left_alone(monkeypatch):
    before = config.CACHE_DIR
    with jit._kernel_cache(SOURCES):
        assert config.CACHE_DIR
    assert before == config.CACHE_DIR
    monkeypatch.setattr(config, "CACHE_DIR", "mine")
    with jit._kernel_cache(SOURCES):
        assert config.CACHE_DIR == "mine"


def test_a_user_without_a_home_has_a_cache(tmp_path, monkeypatch):
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(os.path, "expanduser", lambda path: path)  # As it is where none is known.
    monkeypatch.setattr(jit.tempfile, "gettempdir", lambda: str(tmp_path))
    assert jit._cache_folder(SOURCES).is_relative_to(tmp_path)


def test_kernels_of_others_are_compiled_in_silence(capsys):
    namespace = {}
    exec("def add(number): return number + 1", namespace)
    function = namespace["add"]
    function.__module__ = None
    assert njit(function)(1) == 2
    assert capsys.readouterr().err == ""


KERNEL = """
from umfi.jit import kernel

@kernel
def add_one(number):
    return number + 1
"""


def call_kernel_in_fresh_process(source, cache):
    code = (
        "import importlib.util, sys; "
        f"spec = importlib.util.spec_from_file_location('umfi.toy', {str(source)!r}); "
        "module = sys.modules[spec.name] = importlib.util.module_from_spec(spec); "
        "spec.loader.exec_module(module); "
        "print(module.add_one(1))"
    )
    return subprocess.run(
        [sys.executable, "-W", "error", "-c", code],
        env={**os.environ, "XDG_CACHE_HOME": str(cache), "NUMBA_DISABLE_JIT": "0"},
        capture_output=True,
        text=True,
        check=True,
    )


def test_the_first_call_says_that_it_compiles_and_the_next_does_not(tmp_path):
    source = tmp_path / "toy.py"
    source.write_text(KERNEL)
    calls = [call_kernel_in_fresh_process(source, tmp_path / "cache") for _ in range(2)]
    assert [call.stdout for call in calls] == ["2\n", "2\n"]
    assert [call.stderr for call in calls] == [jit.NOTICE + "\n", ""]


GROW_AND_REMOVE = """
import json, sys
from numba.core import event
from numba.core.dispatcher import Dispatcher
import umfi

class Recorder(event.Listener):
    compiled = []
    def on_start(self, event):
        kernel = event.data["dispatcher"].py_func
        if (kernel.__module__ or "").startswith("umfi."):
            self.compiled.append(kernel.__qualname__)
    def on_end(self, event):
        pass

event.register("numba:compile", Recorder())
X, y = umfi.datasets.simulate("correlation", n=40, random_state=0)
umfi.predictive_power(X, y, power=umfi.ForestPower(n_trees=2), random_state=0)
umfi.remove_dependence(X, "x1", remover="transport")
kernels = {
    kernel
    for name, module in sys.modules.items()
    if name.startswith("umfi.")
    for kernel in vars(module).values()
    if isinstance(kernel, Dispatcher)
}
loaded = [kernel.py_func.__module__ for kernel in kernels if kernel.stats.cache_hits]
print(json.dumps({
    "compiled": Recorder.compiled,
    "folders": sorted({kernel.py_func.__module__.split(".")[1] for kernel in kernels}),
    "folders of loaded kernels": sorted({module.split(".")[1] for module in loaded}),
}))
"""


def test_kernels_of_all_folders_are_stored_and_loaded_by_the_next_process():
    # In the cache of this session, whose kernels other tests need as well.
    for _ in range(2):
        ended = subprocess.run(
            [sys.executable, "-c", GROW_AND_REMOVE],
            env={**os.environ, "NUMBA_DISABLE_JIT": "0"},
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
    found = json.loads(ended.stdout)
    assert found["compiled"] == []
    assert found["folders"] == ["forest", "removal"]
    assert found["folders of loaded kernels"] == found["folders"]
