"""Frames of the standard wire to messages and back."""

from __future__ import annotations

from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, Field, TypeAdapter, ValidationError
from pydantic_core import from_json

from openenv_gym_protocol import errors, json_codec
from openenv_gym_protocol.messages import (
    OTHER_REPLY_TYPES,
    REQUEST_TYPES,
    AnyRequest,
    CloseRequest,
    ErrorData,
    ObservationReply,
    OtherReply,
    Reply,
    Request,
    StateRequest,
    WrittenStep,
    WrongField,
)

_M = TypeVar("_M", bound=BaseModel)

_WITHOUT_DATA = (StateRequest, CloseRequest)
_read_other = TypeAdapter[OtherReply](Annotated[OtherReply, Field(discriminator="type")]).validate_python


def encode_request(request: AnyRequest) -> str:
    """Writes a client's frame. NaN and the infinities travel as bare tokens, as Python's json writes them.

    Raises:
        InvalidAction: The action holds something that JSON cannot carry, such as a lone surrogate.
        InvalidMessage: The data of another request does.
    """
    if isinstance(request, WrittenStep):
        return request.frame
    message: dict[str, Any] = {"type": request.type}
    if not isinstance(request, _WITHOUT_DATA):
        message["data"] = request.data
    return _encoded(message)


def written_step(data: dict[str, Any]) -> WrittenStep:
    """Writes a step request ahead; same errors as ``encode_request``.

    Args:
        data: The action's fields.
    """
    return WrittenStep(_encoded({"type": WrittenStep.type, "data": data}))


def _encoded(message: dict[str, Any]) -> str:
    try:
        return json_codec.encode(message).decode()
    except errors.ExecutionError as error:
        kind = message["type"]
        refusal = errors.InvalidAction if kind == WrittenStep.type else errors.InvalidMessage
        raise refusal(f"The {kind} request cannot be sent: {error}") from error


def decode_request(frame: str | bytes) -> Request:
    """Reads a client's frame.

    Raises:
        InvalidJson: Not JSON, or a binary frame.
        InvalidMessage: Not an object, or an object with wrong or missing keys; ``errors`` names them.
        UnknownMessageType: The ``type`` is none of the wire's.
    """
    if isinstance(frame, bytes):
        raise errors.InvalidJson("Invalid JSON: binary frames are not part of the standard wire; send text.")
    value = json_codec.decode(frame)
    if not isinstance(value, dict):
        raise errors.InvalidMessage(f"A message must be a JSON object, not {_json_kind(value)}.")
    kind = value.get("type", "")
    model = REQUEST_TYPES.get(kind) if isinstance(kind, str) else None
    if model is None:
        raise errors.UnknownMessageType(f"Unknown message type: {_shortened(kind)}")
    return _validate(model, value)


def decode_reply(frame: str | bytes) -> Reply:
    """Reads a server's frame.

    Raises:
        InvalidJson: Not JSON, or a binary frame.
        UnexpectedReply: Not an object, of a ``type`` that is none of the wire's, or with wrong or missing keys.
    """
    if isinstance(frame, bytes):
        raise errors.InvalidJson("The server sent a binary frame, which is not part of the standard wire.")
    try:
        value = from_json(frame)
        if type(value) is dict and value.get("type") == ObservationReply.type:
            return ObservationReply(value.get("data"))
        return _read_other(value)
    except (ValueError, TypeError):
        return _reply_step_by_step(frame)


def _reply_step_by_step(frame: str) -> Reply:
    """Reads a frame that is most likely wrong, to tell what is wrong with it."""
    value = json_codec.decode(frame)
    if not isinstance(value, dict):
        raise errors.UnexpectedReply(f"The server sent {_json_kind(value)} where a JSON object belongs.")
    kind = value.get("type", "")
    model = OTHER_REPLY_TYPES.get(kind) if isinstance(kind, str) else None
    if model is None and kind != ObservationReply.type:
        raise errors.UnexpectedReply(f"The server sent a message of unknown type {_shortened(kind)!r}.")
    try:
        return ObservationReply(value.get("data")) if model is None else model.model_validate(value)
    except WrongField as error:
        raise _wrong_at(kind, error.place, str(error)) from error
    except ValidationError as error:
        fault = error.errors()[0]
        raise _wrong_at(kind, ".".join(map(str, fault["loc"])), fault["msg"]) from error


def _wrong_at(kind: str, where: str, reason: str) -> errors.UnexpectedReply:
    return errors.UnexpectedReply(f"The server's {kind} message is wrong at {where!r}: {reason}.")


def error_from_reply(data: ErrorData) -> errors.OpenEnvGymError:
    """The exception that an error frame stands for."""
    extra = data.model_extra or {}
    text = data.message or f"The server sent an error without a message (code {data.code or 'none'})."
    match data.code:
        case errors.ErrorCode.CAPACITY_REACHED:
            return errors.CapacityReached(
                f"{text} Wait, start another server, or raise MAX_CONCURRENT_ENVS.",
                active_sessions=_count(extra.get("active_sessions")),
                max_sessions=_count(extra.get("max_sessions")),
            )
        case errors.ErrorCode.FACTORY_ERROR:
            name = extra.get("factory_name")
            return errors.FactoryError(
                f"{text} {errors.HOW_TO_READ_THE_LOG}", factory_name=name if isinstance(name, str) else None
            )
        case errors.ErrorCode.VALIDATION_ERROR:
            faults = _faults(extra.get("errors"))
            return errors.InvalidMessage(with_faults(text, faults), errors=faults)
        case errors.ErrorCode.INVALID_JSON:
            return errors.InvalidJson(text)
        case errors.ErrorCode.UNKNOWN_TYPE:
            return errors.UnknownMessageType(text)
        case errors.ErrorCode.SESSION_ERROR:
            return errors.SessionError(text)
        case errors.ErrorCode.EXECUTION_ERROR:
            return errors.ExecutionError(text)
        case _:
            return errors.ProtocolFailure(f"{text} (unknown code {data.code!r})")


def faults_of(error: ValidationError) -> list[dict[str, Any]]:
    """The faults of a validation as the wire carries them: without the exception objects in ``ctx``."""
    faults: list[dict[str, Any]] = []
    for fault in error.errors():
        entry: dict[str, Any] = dict(fault)
        if "ctx" in entry:
            entry["ctx"] = {
                key: str(value) if isinstance(value, Exception) else value for key, value in entry["ctx"].items()
            }
        faults.append(entry)
    return faults


def _validate(model: type[_M], value: dict[str, Any]) -> _M:
    try:
        return model.model_validate(value)
    except ValidationError as error:
        raise errors.InvalidMessage("Invalid message", errors=faults_of(error)) from error


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _faults(value: Any) -> list[dict[str, Any]]:
    return [fault for fault in value if isinstance(fault, dict)] if isinstance(value, list) else []


def with_faults(text: str, faults: list[dict[str, Any]]) -> str:
    """A refusal's text with what was wrong, where that is known."""
    if not faults:
        return text
    told = "; ".join(f"{_place(fault)}: {fault.get('msg', 'wrong')}" for fault in faults[:5])
    more = f"; and {len(faults) - 5} more" if len(faults) > 5 else ""
    return f"{text}: {told}{more}"


def _place(fault: dict[str, Any]) -> str:
    where = fault.get("loc", ())
    return ".".join(map(str, where if isinstance(where, list | tuple) else [where])) or "message"


def _shortened(value: Any) -> str:
    # What a stranger sent goes into a message and a log: not all of it.
    text = str(value)
    return text if len(text) <= 100 else f"{text[:100]}..."


def _json_kind(value: Any) -> str:
    kinds = {list: "an array", str: "a string", bool: "a boolean", int: "a number", float: "a number"}
    return "null" if value is None else kinds.get(type(value), "a value")
