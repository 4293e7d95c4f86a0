"""Which answers are plain arithmetic.

Some datasets give an answer to sympy's parser, which runs Python and computes any power. They get it only if it is made
of numbers, variables, ``+ - * / **`` and known functions, and small.
"""

from __future__ import annotations

import ast
import re

NUMBERS_ONLY = frozenset({"countdown", "puzzle24"})
"""The datasets whose answers are arithmetic of numbers."""

WITH_VARIABLES = frozenset({"intermediate_integration", "polynomial_multiplication", "simple_integration"})
"""The datasets whose answers are formulas."""

_ANGLES = ("sin", "cos", "tan", "sec", "csc", "cot")

FUNCTIONS = frozenset(
    {"Abs", "exp", "ln", "log", "sqrt"}.union(*({name, f"a{name}", f"{name}h", f"a{name}h"} for name in _ANGLES))
)
"""What sympy knows as functions of one number."""

MOST_CHARACTERS, MOST_PARTS, DEEPEST = 2000, 500, 60

GREATEST_POWER = 100
"""Of one power, and of powers of powers together."""

_STRANGE = re.compile(r"[^A-Za-z0-9\s.,+*/()_-]")
"""Nothing else stands in a formula: no quote, no comment, no letter that Python would read as another one."""

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9]{0,15}")
_OPERATORS = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.Pow, ast.UAdd, ast.USub)


class NotPlain(ValueError):
    """An answer that is no plain arithmetic; the message says why."""


def check_expression(answer: str, *, variables: bool) -> None:
    """Checks an answer that is to be computed.

    Args:
        answer: What was answered.
        variables: Whether it may have variables and functions.

    Raises:
        NotPlain: It is something else, or too large.
    """
    if len(answer) > MOST_CHARACTERS:
        raise NotPlain(f"a formula of {len(answer)} characters; at most {MOST_CHARACTERS} are computed")
    if strange := _STRANGE.search(answer):
        raise NotPlain(f"a formula with {strange[0]!r} in it")
    try:
        tree = ast.parse(answer.strip(), mode="eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
        raise NotPlain("it is no formula") from error
    if sum(1 for _ in ast.walk(tree)) > MOST_PARTS:
        raise NotPlain(f"a formula of more than {MOST_PARTS} parts")
    _check(tree, variables, 1)


def _check(node: ast.expr, variables: bool, depth: int) -> float:
    """Checks a part of a formula, and returns to which power it may raise what stands in it."""
    if depth > DEEPEST:
        raise NotPlain(f"parts within parts, more than {DEEPEST} deep")
    match node:
        case ast.Constant(value=int() | float()) if not isinstance(node.value, bool):
            return 1.0
        case ast.Name(id=name) if variables and _NAME.fullmatch(name):
            return 1.0
        case ast.UnaryOp(op=ast.UAdd() | ast.USub(), operand=operand):
            return _check(operand, variables, depth + 1)
        case ast.BinOp(left=left, op=ast.Pow(), right=right):
            power = _check(left, variables, depth + 1) * _exponent(right, variables, depth + 1)
            if power > GREATEST_POWER:
                raise NotPlain(f"a power greater than {GREATEST_POWER}")
            return power
        case ast.BinOp(left=left, op=op, right=right) if isinstance(op, _OPERATORS):
            return max(_check(left, variables, depth + 1), _check(right, variables, depth + 1))
        case ast.Call(func=ast.Name(id=name), args=[argument], keywords=[]) if variables and name in FUNCTIONS:
            return _check(argument, variables, depth + 1)
    raise NotPlain(f"a formula with {ast.unparse(node)[:40]!r} in it")


def _exponent(node: ast.expr, variables: bool, depth: int) -> float:
    """The size of an exponent, which may have variables but no powers of its own."""
    _check(node, variables, depth)
    size = 1.0
    for part in ast.walk(node):
        if isinstance(part, ast.Pow):
            raise NotPlain("a power in an exponent")
        if isinstance(part, ast.Constant) and isinstance(part.value, int | float):
            # What they could be multiplied to: a bound is enough.
            size *= min(max(abs(part.value), 1), GREATEST_POWER + 1)
    return size
