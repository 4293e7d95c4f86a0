"""From the name of a Space to where it is and who tells of it: what the space provider asks for."""

from __future__ import annotations

import os

from openenv_gym_protocol.errors import Unauthorized

from openenv_gym.providers.base import SpaceAddress
from openenv_gym.transports.token import is_header_value
from openenv_gym_registry.source import parse_space

HUB_URL = "https://huggingface.co"


def hub_url() -> str:
    """The Hub's address: ``HF_ENDPOINT``, as huggingface_hub has it, or Hugging Face's own."""
    return (os.environ.get("HF_ENDPOINT") or HUB_URL).rstrip("/")


def address_of(text: str) -> SpaceAddress:
    """Where a Space is, without looking anything up.

    Args:
        text: The Space, in any way that people write one.

    Raises:
        ConfigurationError: It names no Space.
    """
    space, hub = parse_space(text), hub_url()
    name = space.id or f"{space.subdomain}.hf.space"
    return SpaceAddress(
        name=name,
        id=space.id,
        revision=space.revision,
        base_url=space.base_url,
        hub_url=hub,
        page_url=f"{hub}/spaces/{space.id}" if space.id else space.base_url,
        # Of another Hub, whoever set HF_ENDPOINT says where its Spaces are.
        host_suffix=".hf.space" if hub == HUB_URL else "",
        hub_token=hub_token,
    )


def hub_token() -> str | None:
    """The Hub's token of this machine's user: huggingface_hub's, or without it the variable ``HF_TOKEN``.

    Raises:
        Unauthorized: It can be none.
    """
    try:
        from openenv_gym_registry.hub.session import library_token
    except ImportError:
        return sendable_token(os.environ.get("HF_TOKEN") or None)
    return library_token()


def sendable_token(token: str | None) -> str | None:
    """A token of the Hub, if a request can carry it.

    Raises:
        Unauthorized: It cannot; the words of who tries would show the token.
    """
    if token is not None and not is_header_value(token):
        raise Unauthorized(
            "The Hub's token has characters that no token has: copy it anew from "
            "https://huggingface.co/settings/tokens, and set HF_TOKEN or log in with `hf auth login`."
        )
    return token
