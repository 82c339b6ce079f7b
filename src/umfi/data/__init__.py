"""The table and its response: reading, kinds, missing values, datasets."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(__name__, ["datasets"])
