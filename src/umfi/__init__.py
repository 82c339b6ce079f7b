"""Feature importance that explains data: which features relate to a response.

>>> import umfi
>>> X, y = umfi.datasets.simulate("correlation", n=200, random_state=0)
>>> result = umfi.ultra_marginal(X, y, remover="linear", random_state=0)
>>> bool(result.importances["x1"] > 10 * abs(result.importances["x4"]))
True
"""

import lazy_loader

# The stub beside this file lists the public names. Modules are loaded when a name of theirs is
# first used, because Numba and SciPy take seconds to import.
__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
