"""Tables with known answers: the paper's four simulations, BRCA and CAMELS."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from umfi.errors import InputError, is_whole_number, unknown_name
from umfi.execution import Streams

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["ASSOCIATED_GENES", "SIMULATIONS", "load_brca", "load_camels", "simulate"]

DATA_FOLDER_VARIABLE = "UMFI_DATA"

BRCA_URL = (
    "https://raw.githubusercontent.com/TAU-MLwell/Marginal-Contribution-Feature-Importance/"
    "956f401d3af0b9da7a607cc30304669f6b723d7c/BRCA_dataset/"
)
CAMELS_URL = "https://zenodo.org/records/15529996/files/"

# SHA-256 of each table, which are joined in this order.
CAMELS_CHECKSUMS = {
    "clim": "6a3a80256afbaea13f59f279c174d3c010156b826ffb53a4cfb5508814404f5f",
    "geol": "2ffe3871541b93bde02f72df6c34933cb91edb45af363fd7d50c3eaa7da0b5e6",
    "soil": "2acabec448fda2d7d93c2182a8a148e0f6a2dfc40f6f0944ec09eda6eeea0a6d",
    "topo": "b64ca9923bcaccf21dde33137903797919e8d6732edd7849f8534e0ddcbec8e8",
    "vege": "ea97f5d91a2f5acccef21df08417729aade51afe9a2651ab30c2990e7ad63d74",
    "hydro": "7dcae3ea8c28e6485fc9e39b3c5e8bb509d6354ebe9b0b98873ec47fa36e3c41",
}
# File name -> where it is published, SHA-256 of its content.
PUBLISHED_FILES = {
    "BRCA.csv": (BRCA_URL, "4bf93ff249693e6f1ed667804aa8ba7985b9af0dd776d9ed3afe80fc013071b0"),
    **{f"camels_{name}.txt": (CAMELS_URL, sha256) for name, sha256 in CAMELS_CHECKSUMS.items()},
}

# fmt: off
# The ten genes known to be associated with breast cancer (Covert et al. 2020; section 4.2).
ASSOCIATED_GENES = (
    "BCL11A", "EZH2", "IGF1R", "LFNG", "BRCA1", "SLC22A5", "CDK6", "BRCA2", "TEX14", "CCND1",
)

CAMELS_RESPONSE = "q_mean"
# "porostiy" is how the published table spells it.
CAMELS_FEATURES = (
    "p_mean", "pet_mean", "p_seasonality", "frac_snow", "aridity", "high_prec_freq",
    "high_prec_dur", "low_prec_freq", "low_prec_dur", "carbonate_rocks_frac", "geol_porostiy",
    "geol_permeability", "soil_depth_pelletier", "soil_depth_statsgo", "soil_porosity",
    "soil_conductivity", "max_water_content", "sand_frac", "silt_frac", "clay_frac",
    "elev_mean", "slope_mean", "frac_forest", "lai_max", "lai_diff", "gvf_max", "gvf_diff",
    "root_depth_50", "root_depth_99",
)
# fmt: on


def _nonlinear_interactions(rng: np.random.Generator, n: int) -> dict[str, Any]:
    """Section 4.1.1."""
    x1, x2, x3, x4 = rng.standard_normal((4, n))
    y = x1 + x2 + np.sign(x1 * x2) + x3 + x4
    return {"x1": x1, "x2": x2, "x3": x3, "x4": x4, "y": y}


def _correlated_interactions(rng: np.random.Generator, n: int) -> dict[str, Any]:
    """Section 4.1.2."""
    a, b, c, d, e, g = rng.standard_normal((6, n))
    x1, x2, x3, x4 = a + b, b + c, d + e, e + g
    y = x1 + x2 + np.sign(x1 * x2) + x3 + x4
    return {"x1": x1, "x2": x2, "x3": x3, "x4": x4, "y": y}


def _correlation(rng: np.random.Generator, n: int) -> dict[str, Any]:
    """Section 4.1.3."""
    x1, x2, x4, noise = rng.standard_normal((4, n))
    # The paper's N(0, 0.01) gives the variance.
    return {"x1": x1, "x2": x2, "x3": x1 + 0.1 * noise, "x4": x4, "y": x1 + x2}


def _blood_relation(rng: np.random.Generator, n: int) -> dict[str, Any]:
    """Section 4.1.4: x3 and x4 are related to y, x1 and x2 only through the collider x3."""
    x1, hidden_cause = rng.standard_normal((2, n))
    x2 = 3.0 * x1 + rng.uniform(-1.0, 1.0, n)
    x3 = x2 + hidden_cause
    y = hidden_cause + rng.uniform(-0.5, 0.5, n)
    return {"x1": x1, "x2": x2, "x3": x3, "x4": y + rng.exponential(1.0, n), "y": y}


SIMULATIONS: dict[str, Callable[[np.random.Generator, int], dict[str, Any]]] = {
    "nonlinear_interactions": _nonlinear_interactions,
    "correlated_interactions": _correlated_interactions,
    "correlation": _correlation,
    "blood_relation": _blood_relation,
}


def simulate(name: str, n: int = 1000, random_state: Any = None) -> tuple[pd.DataFrame, pd.Series]:
    """Return a simulated table and response of the paper's section 4.1.

    Parameters
    ----------
    name : {"nonlinear_interactions", "correlated_interactions", "correlation", "blood_relation"}
    n : int
        Number of rows.
    random_state : None, int or Generator

    Returns
    -------
    X : DataFrame, shape (n, 4)
        Features x1 to x4.
    y : Series, shape (n,)

    Examples
    --------
    >>> import umfi
    >>> X, y = umfi.datasets.simulate("correlation", n=500, random_state=0)
    >>> X.shape, bool((y == X["x1"] + X["x2"]).all())
    ((500, 4), True)
    """
    import pandas as pd

    if name not in SIMULATIONS:
        raise unknown_name("simulation", name, SIMULATIONS)
    if not is_whole_number(n) or n < 1:
        raise InputError(f"n={n!r} is not a number of rows: pass a whole number from 1 up.")
    rng = Streams.from_random_state(random_state).generator("simulate", name)
    table = pd.DataFrame(SIMULATIONS[name](rng, int(n)))
    return table.drop(columns="y"), table["y"]


def load_brca(permuted: bool = False, random_state: Any = None) -> tuple[pd.DataFrame, pd.Series]:
    """Return 50 genes of 572 breast-cancer patients and the cancer's subtype.

    Source: The Cancer Genome Atlas (Tomczak et al. 2015), as published with the code of Catav et
    al. (2021). Looked for in the folder ``$UMFI_DATA``, then in the cache, then downloaded.

    Parameters
    ----------
    permuted : bool
        Permute each of the 40 genes not known to be associated with breast cancer, so that they
        surely are not (section 4.2).
    random_state : None, int or Generator
        For the permutations.

    Returns
    -------
    X : DataFrame, shape (572, 50)
    y : Series of str, shape (572,)
    """
    import pandas as pd

    table = pd.read_csv(find_file("BRCA.csv"))
    y = table["BRCA_Subtype_PAM50"].rename("subtype")
    X = table.drop(columns=["Sample.ID", "BRCA_Subtype_PAM50"]).astype(float)
    if permuted:
        streams = Streams.from_random_state(random_state)
        for gene in X.columns.difference(list(ASSOCIATED_GENES), sort=False):
            X[gene] = streams.generator("brca", gene).permutation(X[gene].to_numpy())
    return X, y


def load_camels() -> tuple[pd.DataFrame, pd.Series]:
    """Return 29 attributes of 643 catchments and their mean streamflow.

    Source: CAMELS version 2.0 (Addor et al. 2017, doi:10.5065/D6G73C3Q); catchments with missing
    attributes are left out. Looked for in the folder ``$UMFI_DATA``, then in the cache, then
    downloaded.

    Returns
    -------
    X : DataFrame, shape (643, 29)
        Indexed by gauge.
    y : Series, shape (643,)
        ``q_mean``, mean daily streamflow in mm.
    """
    import pandas as pd

    tables = [
        pd.read_csv(
            find_file(f"camels_{name}.txt"), sep=";", dtype={"gauge_id": str}, index_col="gauge_id"
        )
        for name in CAMELS_CHECKSUMS
    ]
    table = pd.concat(tables, axis=1)[[*CAMELS_FEATURES, CAMELS_RESPONSE]].dropna().astype(float)
    return table[list(CAMELS_FEATURES)], table[CAMELS_RESPONSE]


def find_file(name: str) -> Path:
    """Return the path of a published data file: local folder, cache or download, in this order."""
    url, sha256 = PUBLISHED_FILES[name]
    folder = os.environ.get(DATA_FOLDER_VARIABLE)
    if folder and (path := Path(folder) / name).is_file():
        if hashlib.sha256(path.read_bytes()).hexdigest() != sha256:
            raise InputError(
                f"{str(path)!r} is not the published file: replace it, or unset "
                f"{DATA_FOLDER_VARIABLE} to download it."
            )
        return path
    import pooch

    by_hand = f"download it by hand and set {DATA_FOLDER_VARIABLE} to its folder"
    try:
        cache = pooch.os_cache("umfi")
        return Path(pooch.retrieve(url + name, f"sha256:{sha256}", fname=name, path=cache))
    except ValueError:  # pooch's word for another checksum.
        raise InputError(
            f"What {url} offers as {name} is not the published file: find it elsewhere, {by_hand}."
        ) from None
    except OSError as error:  # requests' errors are OSErrors too.
        raise InputError(
            f"{name} could not be downloaded from {url} ({type(error).__name__}): {by_hand}."
        ) from error
