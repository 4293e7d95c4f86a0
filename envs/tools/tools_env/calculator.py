"""Arithmetic from a text, without running it: what is no arithmetic is refused, and so is what would grow too large."""

from __future__ import annotations

import ast
import math
import operator
import re
from collections.abc import Callable, Mapping
from typing import TypeAlias

from openenv_gym_protocol.errors import InvalidAction

Number: TypeAlias = int | float

MAX_LENGTH = 500
"""Characters of an expression."""

MAX_BITS = 1024
"""Bits of a whole number, of which the largest has 309 digits; floats end there too."""

_MAX_EXPONENT = 1024
_MAX_DEPTH = 60
_ALLOWED = re.compile(r"[0-9a-z_.+\-*/%(), \t]*")
_RUN_TOGETHER = re.compile(r"[0-9a-f_.](?:and|else|for|if|in|is|or)")
"""A number and a keyword, such as ``1or 2``, of which Python would warn the server."""

_BINARY: Mapping[type[ast.operator], Callable[[Number, Number], Number]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
_UNARY: Mapping[type[ast.unaryop], Callable[[Number], Number]] = {ast.UAdd: operator.pos, ast.USub: operator.neg}
_FUNCTIONS: Mapping[str, tuple[Callable[..., Number], int, int]] = {
    "abs": (abs, 1, 1),
    "ceil": (math.ceil, 1, 1),
    "floor": (math.floor, 1, 1),
    "max": (lambda *values: max(values), 1, 20),
    "min": (lambda *values: min(values), 1, 20),
    "round": (round, 1, 2),
    "sqrt": (math.sqrt, 1, 1),
}
"""Each with the fewest and the most arguments that it takes."""

_CONSTANTS: Mapping[str, float] = {"pi": math.pi, "e": math.e}


class ArithmeticRefused(InvalidAction):
    """An expression that has no value here; the message says why."""


def calculate(expression: str) -> Number:
    """The value of an expression.

    Args:
        expression: Numbers, ``+ - * / // % **``, parentheses, ``pi`` and ``e``, and the functions ``abs``, ``ceil``,
            ``floor``, ``max``, ``min``, ``round`` and ``sqrt``. At most 500 characters.

    Returns:
        An int where all that was met is whole and nothing was divided by ``/``, else a finite float.

    Raises:
        ArithmeticRefused: It is no such expression, a number grows beyond 1024 bits, or there is no value.
    """
    if len(expression) > MAX_LENGTH:
        raise ArithmeticRefused(f"The expression has {len(expression)} characters; it may have {MAX_LENGTH}.")
    if not _ALLOWED.fullmatch(expression):
        raise ArithmeticRefused("The expression may have digits, names, spaces and the signs + - * / % ( ) , . only.")
    if _RUN_TOGETHER.search(expression):
        raise ArithmeticRefused(f"{expression!r} is no arithmetic expression.")
    try:
        return _value(ast.parse(expression.strip(), mode="eval").body, 0)
    except (SyntaxError, RecursionError, MemoryError) as error:
        raise ArithmeticRefused(f"{expression!r} is no arithmetic expression.") from error
    except ZeroDivisionError as error:
        raise ArithmeticRefused("Nothing can be divided by zero.") from error
    except OverflowError as error:
        raise ArithmeticRefused("A number grows too large.") from error


def _value(node: ast.expr, depth: int) -> Number:
    if depth > _MAX_DEPTH:
        raise ArithmeticRefused(f"The expression is nested more than {_MAX_DEPTH} deep.")
    match node:
        case ast.Constant(value=int() | float() as value) if not isinstance(value, bool):
            return _bounded(value)
        case ast.Name(id=name) if name in _CONSTANTS:
            return _CONSTANTS[name]
        case ast.UnaryOp(op=sign, operand=operand) if type(sign) in _UNARY:
            return _UNARY[type(sign)](_value(operand, depth + 1))
        case ast.BinOp(left=left, op=ast.Pow(), right=right):
            return _power(_value(left, depth + 1), _value(right, depth + 1))
        case ast.BinOp(left=left, op=sign, right=right) if type(sign) in _BINARY:
            return _bounded(_BINARY[type(sign)](_value(left, depth + 1), _value(right, depth + 1)))
        case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]) if name in _FUNCTIONS:
            return _applied(name, [_value(argument, depth + 1) for argument in arguments])
    known = ", ".join([*sorted(_FUNCTIONS), *_CONSTANTS])
    raise ArithmeticRefused(f"{ast.unparse(node)!r:.80} is no arithmetic. There are + - * / // % ** ( ) and {known}.")


def _power(base: Number, exponent: Number) -> Number:
    if abs(exponent) > _MAX_EXPONENT:
        raise ArithmeticRefused(f"The exponent {exponent!r:.40} is beyond {_MAX_EXPONENT}.")
    if isinstance(base, int) and isinstance(exponent, int) and (base.bit_length() - 1) * exponent > MAX_BITS:
        raise ArithmeticRefused("A number grows too large.")
    value = base**exponent
    if isinstance(value, complex):
        raise ArithmeticRefused("A negative number has no such power among the real numbers.")
    return _bounded(value)


def _applied(name: str, arguments: list[Number]) -> Number:
    function, fewest, most = _FUNCTIONS[name]
    if not fewest <= len(arguments) <= most:
        wanted = str(fewest) if fewest == most else f"{fewest} to {most}"
        raise ArithmeticRefused(f"{name} takes {wanted} arguments, not {len(arguments)}.")
    if name == "round" and len(arguments) == 2 and not (isinstance(arguments[1], int) and abs(arguments[1]) <= 300):
        raise ArithmeticRefused("round takes a whole number of places, at most 300.")
    try:
        return _bounded(function(*arguments))
    except ValueError as error:
        raise ArithmeticRefused(f"{name} has no value there.") from error


def _bounded(value: Number) -> Number:
    if isinstance(value, float) and not math.isfinite(value):
        raise ArithmeticRefused("A number grows too large.")
    if isinstance(value, int) and value.bit_length() > MAX_BITS:
        raise ArithmeticRefused("A number grows too large.")
    return value
