"""The ways people write where an environment is: a URL, an image, a Space, a folder. Pure: nothing is looked up."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TypeAlias, TypeGuard
from urllib.parse import SplitResult, unquote, urlsplit

from openenv_gym_protocol.errors import ConfigurationError

_HUB_HOSTS = {"huggingface.co", "www.huggingface.co", "hf.co"}
_HUB_SCHEME = "hf://spaces/"
_IMAGE_HOST = "registry.hf.space"
_SPACE_HOST = re.compile(r"^([a-z0-9](?:[a-z0-9-]*[a-z0-9])?)\.hf\.space$")
_PART = re.compile(r"^[A-Za-z0-9](?:[A-Za-z0-9_.-]*[A-Za-z0-9_])?$")
_COMMIT = re.compile(r"[0-9a-f]{40}")
_REVISION = re.compile(r"^[A-Za-z0-9](?:[A-Za-z0-9_./-]*[A-Za-z0-9_])?$")
_IMAGE = re.compile(
    r"^(?:[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?(?::\d+)?/)?[a-z0-9]+(?:[._/-]+[a-z0-9]+)*"
    r"(?::[A-Za-z0-9_][A-Za-z0-9_.-]{0,127})?(?:@sha256:[0-9a-f]{64})?$"
)
_MAX_PART = 96

_FORMS = (
    "Write owner/name (a Space, with @revision if you like), a URL of a server or of a Space, image:NAME:TAG, "
    "or a folder as ./folder."
)


@dataclass(frozen=True)
class Url:
    """A server that runs already.

    Attributes:
        base_url: Its address, without a slash at the end.
    """

    base_url: str


@dataclass(frozen=True)
class Image:
    """A container image.

    Attributes:
        reference: Its name as an engine takes it, with tag or digest.
    """

    reference: str


@dataclass(frozen=True)
class Space:
    """A Hugging Face Space.

    Attributes:
        id: ``owner/name``; None when only its host is known, from which the id cannot be told.
        revision: A branch, tag or commit; None for the newest.
        subdomain: The first part of its host.
    """

    id: str | None
    revision: str | None
    subdomain: str

    @property
    def base_url(self) -> str:
        """The address at which the Space serves its newest revision."""
        return f"https://{self.subdomain}.hf.space"


@dataclass(frozen=True)
class Folder:
    """A folder that holds a project.

    Attributes:
        path: As written; ``~`` is not expanded.
    """

    path: str


Source: TypeAlias = Url | Image | Space | Folder


def parse_source(text: str) -> Source:
    """Reads where an environment is.

    Args:
        text: ``owner/name``, ``owner/name@revision``, ``https://huggingface.co/spaces/owner/name/tree/revision``,
            ``https://owner-name.hf.space``, both without ``https://`` too, ``hf://spaces/owner/name@revision``, any
            other URL (a server), ``image:NAME:TAG``, or a folder that starts with ``.``, ``/`` or ``~``. ``space:``,
            ``image:`` and ``path:`` before it say which is meant.

    Raises:
        ConfigurationError: It is none of these, or could be two of them.
    """
    text = _clean(text)
    kind, _, rest = text.partition(":")
    if kind == "space":
        return parse_space(rest)
    if kind == "path":
        return Folder(_given(rest, text))
    if kind == "image":
        return Image(_image(rest, text))
    if text.startswith((".", "/", "~")):
        return Folder(text)
    if "://" in text:
        return _url(text)
    if _is_hub_host(text.split("/")[0]):
        return parse_space(text)
    if ":" in text or _has_registry(text):
        return Image(_image(text, text))
    return parse_space(text)


def parse_space(text: str) -> Space:
    """Reads the name of a Space in every way people write one.

    Raises:
        ConfigurationError: It names no Space; hosts other than Hugging Face's are refused.
    """
    text = _clean(text)
    if _is_hub_host(text.split("/")[0]):
        text = f"https://{text}"
    if text.startswith(_HUB_SCHEME):
        return parse_space(text.removeprefix(_HUB_SCHEME))
    if "://" not in text:
        name, at, revision = text.partition("@")
        return _space(name.split("/"), _revision(revision, text) if at else None, text)
    parts = _split(text)
    host = (parts.hostname or "").lower()
    if parts.scheme != "https":
        raise ConfigurationError(f"{text!r} is no Space: its address starts with https://.")
    if host in _HUB_HOSTS:
        return _hub_page(parts, text)
    return _space_host(parts, text)


def space_with_id(text: str) -> tuple[Space, str]:
    """Reads a Space as ``parse_space`` does, where its id has to be known.

    Returns:
        The Space, and its id.

    Raises:
        ConfigurationError: It names no Space, or only its host.
    """
    space = parse_space(text)
    if space.id is None:
        raise ConfigurationError(f"{text!r} tells the host only; write owner/name, or the address of the Space's page.")
    return space, space.id


def is_commit(revision: object) -> TypeGuard[str]:
    """Whether a revision is the full id of a commit, which names the same files for ever."""
    return isinstance(revision, str) and _COMMIT.fullmatch(revision) is not None


def space_subdomain(space_id: str) -> str:
    """The first part of a Space's host: the id in lower case, with ``-`` for whatever is no letter or digit."""
    return re.sub(r"[^a-z0-9]", "-", space_id.lower())


def _is_hub_host(host: str) -> bool:
    """Whether a host has pages of Spaces or is one; the registry of their images is none of these."""
    host = host.lower()
    return host in _HUB_HOSTS or (host != _IMAGE_HOST and _SPACE_HOST.match(host) is not None)


def _url(text: str) -> Source:
    parts = _split(text)
    if _is_hub_host(parts.hostname or "") or parts.scheme == "hf":
        return parse_space(text)
    if parts.scheme not in {"http", "https", "ws", "wss"}:
        raise ConfigurationError(f"{text!r} has the scheme {parts.scheme!r}; a server's is http, https, ws or wss.")
    return Url(text.rstrip("/"))


def _hub_page(parts: SplitResult, text: str) -> Space:
    """Reads the address of a Space's page, of its files, or of one of them."""
    names = [unquote(name) for name in parts.path.split("/") if name]
    if not names or names[0] != "spaces":
        raise ConfigurationError(f"{text!r} is no Space: its address is https://huggingface.co/spaces/owner/name.")
    space, rest = names[1:3], names[3:]
    if not rest:
        # As git clones it; no Space's own name ends so.
        return _space([name.removesuffix(".git") for name in space], None, text)
    if rest[0] not in {"tree", "blob", "resolve", "commit", "commits"} or len(rest) < 2:
        raise ConfigurationError(f"{text!r}: after the Space's name only /tree/REVISION can follow.")
    return _space(space, _revision(rest[1], text), text)


def _space_host(parts: SplitResult, text: str) -> Space:
    match = _SPACE_HOST.match((parts.hostname or "").lower())
    if match is None or match[0] == _IMAGE_HOST:
        raise ConfigurationError(
            f"{text!r} is at {parts.hostname}, which is not Hugging Face. For a server elsewhere use base_url."
        )
    if parts.path.rstrip("/") or parts.query or parts.port is not None:
        raise ConfigurationError(f"{text!r}: write the Space's host alone, https://{parts.hostname}.")
    return Space(id=None, revision=None, subdomain=match[1])


def _space(names: list[str], revision: str | None, text: str) -> Space:
    if len(names) != 2:
        raise ConfigurationError(f"{text!r} names no environment. {_FORMS}")
    for name in names:
        is_name = _PART.match(name) and not (".." in name or "--" in name or name.endswith(".git"))
        if not is_name or len(name) > _MAX_PART:
            raise ConfigurationError(f"{text!r} names no Space: {name!r} cannot be an owner's or a Space's name.")
    space_id = "/".join(names)
    return Space(id=space_id, revision=revision, subdomain=space_subdomain(space_id))


def _has_registry(text: str) -> bool:
    """Whether a name of several parts starts with a registry's host, as in ``ghcr.io/owner/name``."""
    host, *names = text.split("/")
    return "." in host and len(names) > 1


def _revision(revision: str, text: str) -> str:
    if not _REVISION.match(revision) or ".." in revision:
        raise ConfigurationError(f"{text!r}: {revision!r} cannot be a revision.")
    return revision


def _image(reference: str, text: str) -> str:
    if not _IMAGE.match(reference):
        raise ConfigurationError(f"{text!r}: {reference!r} cannot be the name of an image. {_FORMS}")
    return reference


def _split(text: str) -> SplitResult:
    if any(character.isspace() for character in text):
        raise ConfigurationError(f"{text!r} is no URL: there is a space in it.")
    try:
        parts = urlsplit(text)
        parts.port  # noqa: B018 - reading it checks it
    except ValueError as error:
        raise ConfigurationError(f"{text!r} is no URL: {error}") from error
    if not parts.hostname:
        raise ConfigurationError(f"{text!r} is no URL: it has no host.")
    if parts.username is not None or parts.password is not None:
        raise ConfigurationError("A URL with a user or a password in it is refused: pass token= instead.")
    return parts


def _clean(text: str) -> str:
    text = text.strip()
    if not text or not text.isprintable():
        raise ConfigurationError(f"{text!r} names no environment. {_FORMS}")
    return text


def _given(rest: str, text: str) -> str:
    if not rest:
        raise ConfigurationError(f"{text!r} names no folder.")
    return rest
