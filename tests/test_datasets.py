import functools
import http.server
import threading

import numpy as np
import pandas as pd
import pytest

import umfi
from tests.conftest import data_folder, needs_data
from umfi import datasets


@pytest.mark.parametrize("name", datasets.SIMULATIONS)
def test_simulations_are_seeded_tables_of_four_features(name):
    X, y = datasets.simulate(name, random_state=0)
    assert X.shape == (1000, 4)
    assert list(X) == ["x1", "x2", "x3", "x4"]
    assert y.name == "y"
    again, _ = datasets.simulate(name, random_state=0)
    other, _ = datasets.simulate(name, random_state=1)
    pd.testing.assert_frame_equal(X, again)
    assert not X.equals(other)


@pytest.mark.parametrize("name", ["nonlinear_interactions", "correlated_interactions"])
def test_interaction_equation(name):
    X, y = datasets.simulate(name, n=100, random_state=0)
    np.testing.assert_allclose(y, X.sum(axis=1) + np.sign(X["x1"] * X["x2"]))


def test_moments_follow_the_equations():
    """Each tolerance is four standard errors at 40,000 rows."""
    n = 40_000
    X, y = datasets.simulate("correlated_interactions", n=n, random_state=0)
    correlation = X.corr().to_numpy()
    expected = [[1, 0.5, 0, 0], [0.5, 1, 0, 0], [0, 0, 1, 0.5], [0, 0, 0.5, 1]]
    np.testing.assert_allclose(correlation, expected, atol=0.02)
    np.testing.assert_allclose(X.var(), 2.0, atol=0.06)

    X, y = datasets.simulate("correlation", n=n, random_state=0)
    noise = X["x3"] - X["x1"]
    assert noise.var() == pytest.approx(0.01, abs=0.0003)
    assert abs(noise.corr(X["x1"])) < 0.02
    np.testing.assert_allclose(y, X["x1"] + X["x2"])

    X, y = datasets.simulate("blood_relation", n=n, random_state=0)
    from_x1 = X["x2"] - 3.0 * X["x1"]
    assert from_x1.between(-1.0, 1.0).all()
    assert from_x1.var() == pytest.approx(1 / 3, abs=0.01)
    hidden = X["x3"] - X["x2"]
    assert hidden.var() == pytest.approx(1.0, abs=0.03)
    assert (y - hidden).between(-0.5, 0.5).all()
    assert (X["x4"] - y).min() >= 0.0
    assert (X["x4"] - y).mean() == pytest.approx(1.0, abs=0.02)
    assert X[["x1", "x2"]].corrwith(y).abs().max() < 0.02


@needs_data
def test_brca():
    X, y = datasets.load_brca()
    assert X.shape == (572, 50)
    assert y.nunique() == 4
    assert set(datasets.ASSOCIATED_GENES) < set(X)
    assert not X.isna().any(axis=None)


@needs_data
def test_brca_with_permuted_genes():
    X, y = datasets.load_brca()
    permuted, same_y = datasets.load_brca(permuted=True, random_state=0)
    again, _ = datasets.load_brca(permuted=True, random_state=0)
    other, _ = datasets.load_brca(permuted=True, random_state=1)
    pd.testing.assert_series_equal(y, same_y)
    pd.testing.assert_frame_equal(permuted, again)
    for gene in X:
        if gene in datasets.ASSOCIATED_GENES:
            pd.testing.assert_series_equal(X[gene], permuted[gene])
        else:
            assert not X[gene].equals(permuted[gene])
            assert not other[gene].equals(permuted[gene])
            np.testing.assert_array_equal(np.sort(X[gene]), np.sort(permuted[gene]))


@needs_data
def test_camels():
    X, y = datasets.load_camels()
    assert X.shape == (643, 29)
    assert y.name == "q_mean"
    assert X.index[0] == "01022500"
    assert not X.isna().any(axis=None)
    assert X["p_mean"].corr(y) > 0.8


@needs_data
def test_the_best_known_gene_leads_on_brca():
    X, y = datasets.load_brca(permuted=True, random_state=0)
    result = umfi.ultra_marginal(X, y, remover="linear", random_state=0, repeats=2)
    assert result.table["feature"][0] == "BCL11A"
    related = result.importances[list(datasets.ASSOCIATED_GENES)]
    assert related.mean() > 5 * result.importances.drop(related.index).abs().mean()


class Server:
    """A folder served on this machine, in place of the public sources."""

    def __init__(self, folder):
        handler = functools.partial(QuietHandler, directory=str(folder))
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/"

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()


class QuietHandler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@pytest.fixture
def published(tmp_path, monkeypatch):
    """One small file on a server, its entry among the published files, and an empty cache."""
    import hashlib

    import pooch

    (tmp_path / "web").mkdir()
    (tmp_path / "web" / "BRCA.csv").write_text("Sample.ID,A,BRCA_Subtype_PAM50\n1,2.0,x\n")
    content = (tmp_path / "web" / "BRCA.csv").read_bytes()
    monkeypatch.delenv("UMFI_DATA", raising=False)
    monkeypatch.setattr(pooch, "os_cache", lambda name: tmp_path / "cache")
    with Server(tmp_path / "web") as server:
        entry = (server.url, hashlib.sha256(content).hexdigest())
        monkeypatch.setitem(datasets.PUBLISHED_FILES, "BRCA.csv", entry)
        yield tmp_path


@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_files_are_downloaded_once_and_then_cached(published):
    path = datasets.find_file("BRCA.csv")
    assert path == published / "cache" / "BRCA.csv"
    (published / "web" / "BRCA.csv").unlink()
    assert datasets.find_file("BRCA.csv") == path
    X, y = datasets.load_brca()
    assert list(X) == ["A"]
    assert y.tolist() == ["x"]


def test_a_local_folder_comes_first(published, monkeypatch):
    monkeypatch.setenv("UMFI_DATA", str(published / "web"))
    assert datasets.find_file("BRCA.csv") == published / "web" / "BRCA.csv"


def test_a_changed_local_file_is_refused(published, monkeypatch):
    (published / "web" / "BRCA.csv").write_text("something else")
    monkeypatch.setenv("UMFI_DATA", str(published / "web"))
    with pytest.raises(umfi.InputError, match="is not the published file: replace it"):
        datasets.find_file("BRCA.csv")


@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_a_failed_download_says_what_to_do(published):
    (published / "web" / "BRCA.csv").unlink()
    with pytest.raises(umfi.InputError, match=r"could not be downloaded .* set UMFI_DATA"):
        datasets.find_file("BRCA.csv")


@pytest.mark.filterwarnings("ignore::ResourceWarning")
def test_a_changed_download_is_refused(published):
    (published / "web" / "BRCA.csv").write_text("something else")
    with pytest.raises(umfi.InputError, match="is not the published file"):
        datasets.find_file("BRCA.csv")


@needs_data
def test_checksums_are_those_of_the_published_files():
    for name in datasets.PUBLISHED_FILES:
        assert datasets.find_file(name) == data_folder() / name
