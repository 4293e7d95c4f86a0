"""What each end remembers of a link, so that nothing is carried out twice or left out after its connection broke."""

from __future__ import annotations

import random

import pytest
from openenv_gym_protocol import errors
from openenv_gym_protocol.vector import codec, frames
from openenv_gym_protocol.vector.failures import failure_of
from openenv_gym_protocol.vector.frames import Done, Opened, Refused, Resume, Resumed, State, Values, Welcome
from openenv_gym_protocol.vector.requests import VectorSession
from openenv_gym_protocol.vector.resuming import KeptFrames

from tests.support.fuzz import INPUTS, hostile_frames
from tests.support.vector_messages import REPLIES


def test_what_was_received_is_kept_no_longer() -> None:
    kept = KeptFrames()
    assert [kept.add(frame) for frame in (b"a", b"bb", b"ccc")] == [1, 2, 3]
    size = kept.size
    kept.confirm(2)
    assert (kept.after(2), kept.sent) == ([b"ccc"], 3)
    assert 0 < kept.size < size
    kept.confirm(1)
    assert kept.after(2) == [b"ccc"], "an older word changes nothing"
    assert kept.after(3) == []
    assert kept.size == 0


@pytest.mark.parametrize("received", [0, 1, 4])
def test_what_is_kept_no_longer_or_was_never_sent_cannot_be_sent_again(received: int) -> None:
    kept = KeptFrames()
    for frame in (b"a", b"b", b"c"):
        kept.add(frame)
    kept.confirm(2)
    with pytest.raises(errors.ProtocolFailure):
        kept.after(received)


def welcomed(**said: object) -> VectorSession:
    """A session with two lanes, numbers 0 and 1."""
    session = VectorSession()
    session.issue(frames.Hello(id=session.next_id(), client="", max_frame_bytes=1000, resume=True))
    keys = {"link": "a.b", "linger": 30.0, **said}
    welcome = Welcome(id=0, server="", max_frame_bytes=1000, max_lanes=9, max_depth=64, dtypes=[], **keys)  # type: ignore[arg-type]
    session.receive(codec.encode(welcome))
    session.issue(frames.Open(id=session.next_id(), lanes=2))
    session.receive(codec.encode(Opened(id=1, lanes=[0, 1])))
    return session


def ask(session: VectorSession, lane: int = 0) -> tuple[int, bytes]:
    request = State(id=session.next_id(), lanes=[lane])
    return request.id, session.issue(request)


def values(request_id: int) -> bytes:
    return codec.encode(Values(id=request_id, lanes=[0], values=[request_id]))


def test_a_request_acknowledges_what_came_and_the_resume_does() -> None:
    session = welcomed()
    first, frame = ask(session)
    assert codec.decode_request(frame).ack == 1, "the reply to open"
    session.receive(values(first))
    assert codec.decode_request(ask(session)[1]).ack == 2
    resume = codec.decode_request(session.resumption.request(session.next_id()))
    assert isinstance(resume, Resume)
    assert (resume.ack, resume.link, resume.epoch) == (2, "a.b", 1)
    again = codec.decode_request(session.resumption.request(session.next_id()))
    assert isinstance(again, Resume)
    assert again.epoch == 2


@pytest.mark.parametrize("arrived", [0, 1, 2, 3])
def test_requests_that_the_server_does_not_have_are_sent_again_in_their_order(arrived: int) -> None:
    session = welcomed()
    sent = [ask(session, lane)[1] for lane in (0, 1)]
    late = session.give_up(2)
    assert late is not None
    sent.append(late)
    resume = session.next_id()
    session.resumption.request(resume)
    again = session.resumption.accepted(codec.encode(Resumed(id=resume, received=1 + arrived)))
    assert again == sent[arrived:]


def test_a_reply_confirms_its_request_and_all_before_it() -> None:
    session = welcomed()
    ask(session, 1)
    second, _ = ask(session)
    _, third = ask(session)
    session.receive(values(second))
    resume = session.next_id()
    session.resumption.request(resume)
    with pytest.raises(errors.ProtocolFailure):
        session.resumption.accepted(codec.encode(Resumed(id=resume, received=1)))
    assert session.resumption.accepted(codec.encode(Resumed(id=resume, received=3))) == [third]


def test_a_server_that_keeps_nothing_is_not_resumed() -> None:
    assert welcomed().can_resume
    for session in (welcomed(linger=0.0), welcomed(link="")):
        assert not session.can_resume
        assert codec.decode_request(ask(session)[1]).ack == 0


def test_where_nothing_is_left_there_is_nothing_to_resume() -> None:
    session = welcomed()
    session.issue(frames.Close(id=session.next_id(), lanes=[0, 1]))
    assert session.can_resume, "nobody knows yet whether the server heard of it"
    session.receive(codec.encode(Done(id=2)))
    assert not session.can_resume


def test_a_lost_session_is_not_resumed() -> None:
    session = welcomed()
    session.connection_lost(errors.ConnectionLost("gone"))
    assert not session.can_resume


def test_a_refusal_to_resume_is_raised_and_other_answers_break_the_rules() -> None:
    session = welcomed()
    resume = session.next_id()
    session.resumption.request(resume)
    refused = Refused(id=resume, failure=failure_of(errors.SessionLost("too late")))
    with pytest.raises(errors.SessionLost, match="too late"):
        session.resumption.accepted(codec.encode(refused))
    for other in (Resumed(id=resume + 1, received=1), Done(id=resume), Resumed(id=resume, received=99)):
        with pytest.raises(errors.ProtocolFailure):
            session.resumption.accepted(codec.encode(other))


def test_a_client_survives_whatever_answers_its_resume() -> None:
    right = [codec.encode(REPLIES["resumed"]), codec.encode(Resumed(id=3, received=1))]
    for frame in hostile_frames(right, INPUTS // 10):
        session = welcomed()
        session.resumption.request(session.next_id())
        try:
            assert isinstance(session.resumption.accepted(frame), list)
        except errors.ProtocolFailure:
            continue
        except Exception as error:
            raise AssertionError(f"the frame {frame.hex()}") from error


def test_two_ends_lose_nothing_and_repeat_nothing_whatever_is_cut_off() -> None:
    drawn = random.Random(3)
    ends = KeptFrames(), KeptFrames()
    sent: tuple[list[bytes], list[bytes]] = ([], [])
    received: tuple[list[bytes], list[bytes]] = ([], [])
    for turn in range(2000):
        way: tuple[list[bytes], list[bytes]] = ([], [])
        for end in (0, 1):
            way[end].extend(ends[end].after(len(received[end])))
        for _ in range(drawn.randrange(6)):
            end = drawn.randrange(2)
            frame = f"{turn}.{len(sent[end])}".encode()
            sent[end].append(frame)
            ends[end].add(frame)
            way[end].append(frame)
            if drawn.random() < 0.3:
                ends[end].confirm(drawn.randint(0, len(received[end])))
        for end in (0, 1):
            received[end].extend(way[end][: drawn.randint(0, len(way[end]))])
    for end in (0, 1):
        assert received[end] == sent[end][: len(received[end])]
        assert len(received[end]) > 1000


@pytest.mark.parametrize(("link", "sent"), [("name~2.secret", {"X-OpenEnv-Link": "name~2"}), ("secret", {}), ("", {})])
def test_a_link_is_named_to_what_stands_before_the_server_without_its_secret(link: str, sent: dict[str, str]) -> None:
    assert welcomed(link=link).resumption.headers() == sent


def test_the_id_of_a_request_to_resume_is_used_up() -> None:
    session = welcomed()
    request = codec.decode_request(session.resume())
    with pytest.raises(errors.ConfigurationError, match="not a new one"):
        session.issue(frames.Open(id=request.id, lanes=1))
