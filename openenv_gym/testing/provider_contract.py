"""The suite that every provider passes, whoever wrote it.

Derive a class whose name starts with ``Test``, say what there is to start, and let pytest collect it::

    class TestMyProvider(ProviderContract):
        def provider(self) -> Provider:
            return MyProvider()

        def request(self) -> ServerRequest:
            return ServerRequest(provider="mine", image="a-server-that-works")
        ...
"""

from __future__ import annotations

import http.client
import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar
from urllib.parse import urlsplit

from openenv_gym_protocol.errors import ServerStartError, UnknownOption

from openenv_gym.providers.base import Provider, ServerHandle, ServerRequest
from openenv_gym.providers.deadline import Deadline

_Error = TypeVar("_Error", bound=Exception)


class ProviderContract(ABC):
    """What a provider promises, a test each.

    Attributes:
        start_seconds: How long a start may take here.
        give_up_seconds: A budget that is too short for ``request_that_never_answers``, and long enough for a
            server to write its first line.
    """

    start_seconds = 60.0
    give_up_seconds = 2.0

    @abstractmethod
    def provider(self) -> Provider:
        """The provider under test."""

    @abstractmethod
    def request(self) -> ServerRequest:
        """A request for a server that works and writes to its log when it starts."""

    @abstractmethod
    def request_that_dies(self) -> ServerRequest:
        """A request for a server that writes a line with ``last words`` and ends before it is ready."""

    @abstractmethod
    def request_that_never_answers(self) -> ServerRequest:
        """A request for a server that runs and is never ready."""

    def test_a_started_server_answers(self) -> None:
        """When ``start`` returns, ``/health`` answers 200."""
        handle = self._start(self.request())
        try:
            assert _health(handle.base_url) == http.client.OK
        finally:
            handle.stop()

    def test_a_stopped_server_is_gone_and_may_be_stopped_again(self) -> None:
        """When ``stop`` returns, connections are refused; a second ``stop`` does nothing.

        What a provider does not own it leaves running.
        """
        handle = self._start(self.request())
        handle.stop()
        assert _health(handle.base_url) == (None if self.provider().owns_servers else http.client.OK)
        handle.stop()

    def test_two_starts_make_two_servers(self) -> None:
        """A provider shares nothing of its own; that is the pool's work. What it does not own is there for all."""
        first, second = self._start(self.request()), self._start(self.request())
        try:
            assert (first.base_url != second.base_url) == self.provider().owns_servers
            first.stop()
            assert _health(second.base_url) == http.client.OK
        finally:
            first.stop()
            second.stop()

    def test_the_log_can_be_read(self) -> None:
        """``logs`` gives as many of the last lines as it is asked for."""
        handle = self._start(self.request())
        try:
            assert handle.logs()
            assert len(handle.logs(1).splitlines()) == 1
        finally:
            handle.stop()

    def test_an_unknown_option_is_refused_by_name(self) -> None:
        """Nothing is dropped silently."""
        request = replace(self.request(), options=(("start_timeuot", 5),))
        error = _raised(UnknownOption, lambda: self.provider().check(request))
        assert "start_timeuot" in error.message
        assert "start_timeout" in error.message
        _raised(UnknownOption, lambda: self._start(request))

    def test_a_server_that_dies_is_noticed_at_once_with_its_last_words(self) -> None:
        """The exit code and the last log lines are in the error, long before the time is over."""
        began = time.monotonic()
        error = _raised(ServerStartError, lambda: self._start(self.request_that_dies()))
        assert time.monotonic() - began < self.start_seconds / 2
        assert error.exit_code not in (None, 0)
        assert "last words" in error.logs
        assert "last words" in error.message

    def test_a_server_that_never_answers_is_given_up_in_time(self) -> None:
        """It is stopped, and the error says how long it was waited for."""
        began = time.monotonic()
        request = self.request_that_never_answers()
        error = _raised(ServerStartError, lambda: self.provider().start(request, Deadline(self.give_up_seconds)))
        assert time.monotonic() - began < self.give_up_seconds + self.start_seconds / 2
        assert error.exit_code is None
        assert f"{self.give_up_seconds:g} s" in error.message

    def _start(self, request: ServerRequest) -> ServerHandle:
        return self.provider().start(request, Deadline(self.start_seconds))


def _health(base_url: str) -> int | None:
    connection = http.client.HTTPConnection(urlsplit(base_url).netloc, timeout=10)
    try:
        connection.request("GET", "/health")
        return connection.getresponse().status
    except ConnectionRefusedError:
        return None
    finally:
        connection.close()


def _raised(kind: type[_Error], call: Callable[[], object]) -> _Error:
    # Not pytest's own: the kit needs nothing but what it tests.
    try:
        call()
    except kind as error:
        return error
    raise AssertionError(f"{kind.__name__} was not raised")
