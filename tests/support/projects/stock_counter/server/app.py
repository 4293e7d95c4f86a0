"""The counter of the interop programs, which is put beside this folder when the image is built."""

from counter import counter_app as app  # type: ignore[import-not-found]

__all__ = ["app"]
