"""Whatever a stranger sends, the decoders give a message or a ProtocolFailure, quickly and in little memory."""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Iterator

import pytest
from openenv_gym_protocol.errors import ProtocolFailure
from openenv_gym_protocol.vector import codec, frames
from openenv_gym_protocol.vector.requests import VectorSession

from tests.support.fuzz import INPUTS, hostile_frames
from tests.support.golden import golden
from tests.support.vector_messages import REPLIES, REQUESTS

MAX_SECONDS = 1.0
"""Of the processor, for one input; a decoder that depends on more than the frame's size takes minutes for some."""

MAX_BYTES = 200_000
"""Allocated for one input, which has some hundred bytes: a list of as many numbers, and the error's text."""

RIGHT_FRAMES = [codec.encode(message) for message in (*REQUESTS.values(), *REPLIES.values())]
NEARLY_RIGHT_FRAMES = [file.frame for file in golden("refused")]


@pytest.fixture
def traced() -> Iterator[None]:
    tracemalloc.start()
    yield
    tracemalloc.stop()


def survive(frame: bytes) -> None:
    for decode in (codec.decode_request, codec.decode_reply):
        try:
            message = decode(frame)
        except ProtocolFailure:
            continue
        written = codec.encode(message)
        assert codec.encode(decode(written)) == written
    codec.request_id(frame)


@pytest.mark.timeout(3600)
def test_a_decoder_survives_whatever_it_is_sent(traced: None) -> None:
    for frame in hostile_frames(RIGHT_FRAMES + NEARLY_RIGHT_FRAMES, INPUTS):
        tracemalloc.reset_peak()
        before = tracemalloc.get_traced_memory()[0]
        started = time.process_time()
        try:
            survive(frame)
        except Exception as error:
            raise AssertionError(f"the frame {frame.hex()}") from error
        assert time.process_time() - started < MAX_SECONDS, frame.hex()
        assert tracemalloc.get_traced_memory()[1] - before < MAX_BYTES, frame.hex()


@pytest.mark.timeout(3600)
def test_a_session_survives_whatever_its_server_sends() -> None:
    replies = [codec.encode(message) for message in REPLIES.values()]
    for frame in hostile_frames(replies, INPUTS // 4):
        session = VectorSession()
        session.issue(frames.Hello(id=session.next_id(), client="", max_frame_bytes=1000))
        session.issue(frames.Open(id=session.next_id(), lanes=3))
        try:
            session.receive(codec.encode(REPLIES["opened"]))
            for _ in range(14):  # so that the ids of the replies are those of open requests
                session.issue(
                    frames.Step(id=session.next_id(), lanes=[0, 1, 2], actions=frames.Batch(columns=[bytes(24)]))
                )
            session.receive(frame)
        except ProtocolFailure:
            assert {arrival.request.id for arrival in session.connection_lost(ProtocolFailure("x"))} >= {0}
        except Exception as error:
            raise AssertionError(f"the frame {frame.hex()}") from error


@pytest.mark.parametrize("size", [100, 10_000, 1_000_000])
def test_the_time_for_a_hostile_array_grows_with_its_bytes_only(size: int) -> None:
    # Lengths whose product is a number of millions of digits.
    shape = b"\xdd" + size.to_bytes(4, "big") + b"\xcf\xff\xff\xff\xff\xff\xff\xff\xff" * size
    array = b"\x93\xa4int8" + shape + b"\xc4\x00"
    extension = b"\xc9" + len(array).to_bytes(4, "big") + b"\x01" + array
    head = b"\x84\xa2re\xa6values\xa2id\x01\xa5lanes\x91\x00\xa6values\x91"
    started = time.process_time()
    with pytest.raises(ProtocolFailure):
        codec.decode_reply(head + extension)
    assert time.process_time() - started < MAX_SECONDS * 5


def test_a_length_that_no_frame_has_allocates_nothing(traced: None) -> None:
    for header in (b"\xdd", b"\xdf", b"\xdb", b"\xc6"):
        tracemalloc.reset_peak()
        before = tracemalloc.get_traced_memory()[0]
        with pytest.raises(ProtocolFailure):
            codec.decode_reply(b"\x84\xa2re\xa6values\xa2id\x01\xa5lanes\x91\x00\xa6values" + header + b"\xff" * 4)
        assert tracemalloc.get_traced_memory()[1] - before < MAX_BYTES
