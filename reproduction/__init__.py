"""The experiments of the paper on public names of umfi: ``python -m reproduction list``."""
