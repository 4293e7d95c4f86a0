"""The Hugging Face Hub: the only place that knows huggingface_hub, whose failures become ours here."""

from __future__ import annotations

from openenv_gym_protocol.errors import ProviderError


def require_hub() -> None:
    """Checks that huggingface_hub is there; the modules of this package need it, this one does not.

    Raises:
        ProviderError: It is not installed; the message has the line that does.
    """
    try:
        import huggingface_hub  # noqa: F401  (whether it is there)
    except ImportError as error:
        raise ProviderError('Asking the Hub needs huggingface_hub: pip install "openenv-gym[hub]".') from error
