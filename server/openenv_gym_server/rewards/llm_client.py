"""Asks a language model behind an OpenAI-compatible endpoint."""

from __future__ import annotations

import asyncio
import functools
import http.client
import ipaddress
import json
import threading
import time
import urllib.error
import urllib.request
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NamedTuple, NoReturn, TypeVar
from urllib.parse import SplitResult, urlsplit, urlunsplit

from openenv_gym_protocol.errors import (
    ConfigurationError,
    ConnectError,
    FrameTooLarge,
    OpenEnvGymError,
    ReplyTimeout,
    Unauthorized,
    UnexpectedReply,
)

_T = TypeVar("_T")

_PASSING = {408, 409, 425, 429, 500, 502, 503, 504}
"""The statuses that another try may not meet."""

_MAX_ANSWER_BYTES = 4 * 1024 * 1024
_FIRST_PAUSE = 0.5
_MAX_PAUSE = 30.0
"""Seconds between tries: doubled each time, or what ``Retry-After`` says."""


class LLMClient(ABC):
    """A language model. Derive from it to ask one that no client of this kit speaks to.

    Args:
        endpoint: The ``http`` or ``https`` address, with or without port and path.
        port: The port, where the address names none.

    Raises:
        ConfigurationError: It is no such address.
    """

    def __init__(self, endpoint: str, port: int | None = None) -> None:
        self.endpoint = endpoint
        self.port = port
        self._address = _address(endpoint, port)

    @property
    def base_url(self) -> str:
        """The address with its port."""
        return urlunsplit(self._address)

    @abstractmethod
    async def complete(self, prompt: str, **options: Any) -> str:
        """The model's answer to a prompt.

        Args:
            prompt: The user's message.
            **options: What differs for this call, such as ``temperature`` and ``max_tokens``.
        """


class OpenAIClient(LLMClient):
    """A model behind any server that answers ``/chat/completions`` as OpenAI does: vLLM, TGI, Ollama, llama.cpp.

    Nothing is remembered between calls, so one client may serve many rubrics, threads and event loops. Redirects are
    not followed: they would carry the key elsewhere.

    Args:
        endpoint: The address; ``/v1`` is added where it has no path.
        port: The port, where the address names none.
        model: The model's name.
        api_key: The key, if the server asks for one.
        system_prompt: Goes before every prompt.
        temperature: The default temperature.
        max_tokens: The default limit of an answer; one that was cut off by it is an error.
        use_max_completion_tokens: Names that limit as OpenAI's newer models want it, and sends no temperature.
        timeout_s: Seconds for an answer, with all tries.
        retries: How often to try again after a failed connection or a status that may pass.

    Raises:
        ConfigurationError: The endpoint is no address, or there is no model.
    """

    def __init__(
        self,
        endpoint: str,
        port: int | None = None,
        model: str = "",
        api_key: str | None = None,
        system_prompt: str | None = None,
        temperature: float = 0.0,
        max_tokens: int = 256,
        use_max_completion_tokens: bool = False,
        *,
        timeout_s: float = 60.0,
        retries: int = 2,
    ) -> None:
        super().__init__(endpoint, port)
        if not model:
            raise ConfigurationError("Name the model: OpenAIClient(endpoint, model=...).")
        self.model = model
        self.system_prompt = system_prompt
        self.temperature = temperature
        self.max_tokens = max_tokens
        self.use_max_completion_tokens = use_max_completion_tokens
        self.timeout_s = timeout_s
        self.retries = retries
        self._api_key = api_key
        self._url = urlunsplit(self._address._replace(path=(self._address.path or "/v1") + "/chat/completions"))

    async def complete(self, prompt: str, **options: Any) -> str:
        """The model's answer to a prompt.

        Args:
            prompt: The user's message.
            **options: ``temperature`` and ``max_tokens`` for this call.

        Raises:
            ReplyTimeout: No answer within ``timeout_s``.
            ConnectError: The endpoint could not be reached, or kept failing.
            Unauthorized: It refused the key or asks for one.
            FrameTooLarge: It answered more than 4 MiB.
            UnexpectedReply: It refused the request, or its answer is none, or is cut off.
        """
        body = json.dumps(self._question(prompt, options)).encode()
        try:
            async with asyncio.timeout(self.timeout_s):
                return _content(await self._tried(body), self._url)
        except TimeoutError as error:
            raise ReplyTimeout(f"{self._url} did not answer within {self.timeout_s:g} s.") from error

    async def _tried(self, body: bytes) -> bytes:
        ends, pauses = time.monotonic() + self.timeout_s, _FIRST_PAUSE
        for left in range(self.retries, -1, -1):
            answer = await _in_thread(functools.partial(self._asked, body))
            if answer.error is None:
                return answer.body
            pause = pauses if answer.pause is None else answer.pause
            if not left or not answer.may_pass or time.monotonic() + pause >= ends:
                raise answer.error
            await asyncio.sleep(pause)
            pauses = min(pauses * 2, _MAX_PAUSE)
        raise AssertionError("The last try returns or raises.")

    def _question(self, prompt: str, options: dict[str, Any]) -> dict[str, Any]:
        messages = [{"role": "user", "content": prompt}]
        if self.system_prompt:
            messages.insert(0, {"role": "system", "content": self.system_prompt})
        limit = options.get("max_tokens", self.max_tokens)
        if self.use_max_completion_tokens:
            return {"model": self.model, "messages": messages, "max_completion_tokens": limit}
        temperature = options.get("temperature", self.temperature)
        return {"model": self.model, "messages": messages, "max_tokens": limit, "temperature": temperature}

    def _asked(self, body: bytes) -> _Answer:
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        if self._api_key:
            headers["Authorization"] = f"Bearer {self._api_key}"
        request = urllib.request.Request(self._url, body, headers, method="POST")
        proxies = urllib.request.ProxyHandler({} if _is_loopback(self._address.hostname or "") else None)
        try:
            opener = urllib.request.build_opener(proxies, _NoRedirects)
            with opener.open(request, timeout=self.timeout_s) as response:
                return _Answer(_read(response, self.timeout_s, self._url))
        except urllib.error.HTTPError as error:
            with error:
                return _refusal(error, self._url)
        except TimeoutError:
            return _Answer(error=ReplyTimeout(f"{self._url} did not answer within {self.timeout_s:g} s."))
        except (OSError, http.client.HTTPException) as error:
            cause = getattr(error, "reason", error)
            if isinstance(cause, TimeoutError):
                return _Answer(error=ReplyTimeout(f"{self._url} could not be reached within {self.timeout_s:g} s."))
            text = str(cause) or type(cause).__name__
            return _Answer(error=ConnectError(f"{self._url} cannot be reached: {text}"), may_pass=True)


class _Answer(NamedTuple):
    """What came of one try: a body, or an error and what may be done about it."""

    body: bytes = b""
    error: OpenEnvGymError | None = None
    may_pass: bool = False
    pause: float | None = None
    """Seconds that the server asks to wait."""


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any) -> None:
        return None


def _read(response: Any, seconds: float, url: str) -> bytes:
    ends = time.monotonic() + seconds
    body = b""
    # Each wait within its limit is not enough: a server may send a byte at a time.
    while part := response.read1(65536):
        body += part
        if len(body) > _MAX_ANSWER_BYTES:
            raise FrameTooLarge(f"{url} answered more than {_MAX_ANSWER_BYTES} bytes.")
        if time.monotonic() > ends:
            raise TimeoutError
    return body


def _refusal(error: urllib.error.HTTPError, url: str) -> _Answer:
    status = error.code
    if status in (401, 403):
        return _Answer(error=Unauthorized(f"{url} refused the request with HTTP {status}. Check api_key."))
    said = ""
    with suppress(OSError, http.client.HTTPException):
        said = error.read1(500).decode("utf-8", "replace").strip()
    text = f"{url} answered HTTP {status}: {said or error.reason}"
    if status not in _PASSING:
        return _Answer(error=UnexpectedReply(text))
    return _Answer(error=ConnectError(text), may_pass=True, pause=_seconds(error.headers.get("Retry-After")))


def _seconds(retry_after: str | None) -> float | None:
    if retry_after is None or not retry_after.strip().isdecimal():
        return None
    return min(float(retry_after), _MAX_PAUSE)


def _content(body: bytes, url: str) -> str:
    try:
        choice = json.loads(body)["choices"][0]
        content = choice["message"]["content"]
    except (ValueError, LookupError, TypeError, RecursionError) as error:
        raise UnexpectedReply(f"{url} did not answer as a chat completion: {body[:200]!r}") from error
    if choice.get("finish_reason") == "length":
        raise UnexpectedReply(f"{url} cut its answer off after max_tokens; raise it.")
    if isinstance(content, list):
        content = "".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    if not isinstance(content, str):
        raise UnexpectedReply(f"{url} answered without text: {body[:200]!r}")
    return content


async def _in_thread(call: Callable[[], _T]) -> _T:
    """Runs a blocking call in a thread of its own, which keeps no process from ending and waits for no other call."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[_T] = loop.create_future()

    def deliver(result: _T | None, error: BaseException | None) -> None:
        if future.done():
            return  # cancelled, or too late
        if error is not None:
            future.set_exception(error)
        else:
            future.set_result(result)  # type: ignore[arg-type]

    def run() -> None:
        result, failure = None, None
        try:
            result = call()
        except BaseException as error:
            failure = error
        try:
            loop.call_soon_threadsafe(deliver, result, failure)
        except RuntimeError:
            return  # the loop is closed: nobody waits any more

    threading.Thread(target=run, name="openenv-gym-llm", daemon=True).start()
    return await future


def _address(endpoint: str, port: int | None) -> SplitResult:
    def refuse(why: str) -> NoReturn:
        # Without the address where it may hold a password.
        named = repr(endpoint) if "@" not in endpoint else "The endpoint"
        raise ConfigurationError(f"{named} is no address of a model: {why}.")

    try:
        parts = urlsplit(endpoint)
        own_port = parts.port
    except ValueError as error:
        refuse(str(error))
    if parts.scheme not in ("http", "https") or not parts.hostname:
        refuse("write it like http://localhost:8000")
    if parts.username is not None or parts.password is not None:
        refuse("it holds a name or password; give the key as api_key")
    if parts.query or parts.fragment:
        refuse("it has a query or fragment")
    if own_port is not None and port is not None and own_port != port:
        refuse(f"it names port {own_port}, and port is {port}")
    if own_port is None and port is not None:
        if not 0 < port < 65536:
            refuse(f"{port} is no port")
        parts = parts._replace(netloc=f"{parts.netloc.removesuffix(':')}:{port}")
    return parts._replace(path=parts.path.rstrip("/"))


def _is_loopback(host: str) -> bool:
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
