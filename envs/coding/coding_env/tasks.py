"""The built-in tasks: what is to be written, and the tests that it has to pass."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from types import MappingProxyType
from typing import Any

from openenv_gym_protocol.errors import InvalidAction, nearest


@dataclass(frozen=True)
class Task:
    """One task.

    Attributes:
        name: Its name.
        text: What the agent is told.
        tests: What it is not told: code that calls the function and fails by an exception.
    """

    name: str
    text: str
    tests: tuple[str, ...]

    def told(self) -> dict[str, Any]:
        """What a list of tasks says of it: all but the tests."""
        return {"name": self.name, "text": self.text, "tests": len(self.tests)}


_TRAIN = (
    Task(
        "digit_sum",
        "Write a function digit_sum(number) that returns the sum of the decimal digits of a whole number; a minus "
        "sign does not count.",
        (
            "assert digit_sum(0) == 0",
            "assert digit_sum(7) == 7",
            "assert digit_sum(1234) == 10",
            "assert digit_sum(-905) == 14",
            "assert digit_sum(10**30 + 1) == 2",
        ),
    ),
    Task(
        "run_lengths",
        "Write a function run_lengths(text) that returns a list of pairs (character, count), one for each run of "
        "equal characters, in their order.",
        (
            "assert run_lengths('') == []",
            "assert [tuple(pair) for pair in run_lengths('a')] == [('a', 1)]",
            "assert [tuple(pair) for pair in run_lengths('aaabcc')] == [('a', 3), ('b', 1), ('c', 2)]",
            "assert [tuple(pair) for pair in run_lengths('abab')] == [('a', 1), ('b', 1), ('a', 1), ('b', 1)]",
            "assert [tuple(pair) for pair in run_lengths('  x')] == [(' ', 2), ('x', 1)]",
        ),
    ),
    Task(
        "merge_sorted",
        "Write a function merge_sorted(first, second) that merges two sorted lists of numbers into one sorted list. "
        "The given lists stay as they are.",
        (
            "assert merge_sorted([], []) == []",
            "assert merge_sorted([1, 4], []) == [1, 4]",
            "assert merge_sorted([], [2]) == [2]",
            "assert merge_sorted([1, 3, 5], [2, 3, 9]) == [1, 2, 3, 3, 5, 9]",
            "assert merge_sorted([-2, 0], [-3, 7, 8]) == [-3, -2, 0, 7, 8]",
            "assert merge_sorted(list(range(0, 2000, 2)), list(range(1, 2000, 2))) == list(range(2000))",
        ),
    ),
    Task(
        "roman",
        "Write a function roman(number) that writes a whole number from 1 to 3999 in Roman numerals. Other numbers "
        "raise a ValueError.",
        (
            "assert roman(1) == 'I'",
            "assert roman(4) == 'IV'",
            "assert roman(1994) == 'MCMXCIV'",
            "assert roman(3888) == 'MMMDCCCLXXXVIII'",
            "assert roman(49) == 'XLIX'",
            "assert raises(ValueError, roman, 0) and raises(ValueError, roman, 4000)",
        ),
    ),
    Task(
        "balanced",
        "Write a function balanced(text) that tells whether the brackets ( ) [ ] { } in a text are balanced and "
        "properly nested. All other characters are ignored.",
        (
            "assert balanced('') is True",
            "assert balanced('f(x[1], {2})') is True",
            "assert balanced('([)]') is False",
            "assert balanced('((') is False",
            "assert balanced(')(') is False",
            "assert balanced('(' * 3000 + ')' * 3000) is True",
        ),
    ),
    Task(
        "word_counts",
        "Write a function word_counts(text) that returns a dictionary of how often each word is in a text. Words are "
        "runs of letters; upper and lower case are the same, and the keys are lower case.",
        (
            "assert word_counts('') == {}",
            "assert word_counts('A cat, a dog.') == {'a': 2, 'cat': 1, 'dog': 1}",
            "assert word_counts('one-two ONE') == {'one': 2, 'two': 1}",
            "assert word_counts('x1y') == {'x': 1, 'y': 1}",
            "assert word_counts('...  ') == {}",
        ),
    ),
    Task(
        "transpose",
        "Write a function transpose(rows) that turns the rows of a table, a list of lists of equal length, into its "
        "columns, a list of lists.",
        (
            "assert transpose([]) == []",
            "assert transpose([[1, 2, 3]]) == [[1], [2], [3]]",
            "assert transpose([[1, 2], [3, 4], [5, 6]]) == [[1, 3, 5], [2, 4, 6]]",
            "assert transpose([['a'], ['b']]) == [['a', 'b']]",
        ),
    ),
    Task(
        "primes_below",
        "Write a function primes_below(limit) that returns the list of all prime numbers below a limit, which is at "
        "most a million.",
        (
            "assert primes_below(2) == []",
            "assert primes_below(3) == [2]",
            "assert primes_below(20) == [2, 3, 5, 7, 11, 13, 17, 19]",
            "assert primes_below(50)[-1] == 47",
            "assert len(primes_below(200_000)) == 17_984",
        ),
    ),
)

_VALIDATION = (
    Task(
        "caesar",
        "Write a function caesar(text, shift) that moves every letter a to z and A to Z by a number of places in the "
        "alphabet, around its end, and leaves all other characters as they are. The shift may be negative.",
        (
            "assert caesar('abc', 1) == 'bcd'",
            "assert caesar('xyz', 3) == 'abc'",
            "assert caesar('Hello, World!', 13) == 'Uryyb, Jbeyq!'",
            "assert caesar('bcd', -1) == 'abc'",
            "assert caesar('Zebra', 52) == 'Zebra'",
        ),
    ),
    Task(
        "longest_increase",
        "Write a function longest_increase(numbers) that returns the length of the longest strictly increasing "
        "subsequence of a list of numbers; its members need not stand side by side.",
        (
            "assert longest_increase([]) == 0",
            "assert longest_increase([5]) == 1",
            "assert longest_increase([3, 1, 2, 5, 4]) == 3",
            "assert longest_increase([2, 2, 2]) == 1",
            "assert longest_increase([10, 9, 2, 5, 3, 7, 101, 18]) == 4",
            "assert longest_increase(list(range(500)) + list(range(250))) == 500",
        ),
    ),
)

_TEST = (
    Task(
        "intervals",
        "Write a function intervals(pairs) that merges intervals, given as a list of pairs [start, end] in any order,"
        " where they overlap or touch, and returns them as a sorted list of such pairs.",
        (
            "assert intervals([]) == []",
            "assert [list(pair) for pair in intervals([[1, 3]])] == [[1, 3]]",
            "assert [list(pair) for pair in intervals([[5, 8], [1, 3], [2, 4]])] == [[1, 4], [5, 8]]",
            "assert [list(pair) for pair in intervals([[1, 2], [2, 3]])] == [[1, 3]]",
            "assert [list(pair) for pair in intervals([[1, 9], [2, 3], [4, 5]])] == [[1, 9]]",
        ),
    ),
    Task(
        "evaluate",
        "Write a function evaluate(expression) that computes an expression of whole numbers, + - *, parentheses and "
        "spaces, with the usual precedence. What is no such expression raises a ValueError.",
        (
            "assert evaluate('42') == 42",
            "assert evaluate('1 + 2 * 3') == 7",
            "assert evaluate('(1 + 2) * 3') == 9",
            "assert evaluate('10 - 4 - 3') == 3",
            "assert evaluate('2*(3+(4-1))*5') == 60",
            "assert raises(ValueError, evaluate, '1 +') and raises(ValueError, evaluate, '(1')",
        ),
    ),
    Task(
        "shortest_path",
        "Write a function shortest_path(grid) that returns the fewest steps from the upper left to the lower right "
        "cell of a grid, a list of texts of equal length in which '#' is a wall and '.' is free. A step goes up, "
        "down, left or right. Without a way it returns -1.",
        (
            "assert shortest_path(['.']) == 0",
            "assert shortest_path(['..', '..']) == 2",
            "assert shortest_path(['.#', '#.']) == -1",
            "assert shortest_path(['..#', '#..', '##.']) == 4",
            "assert shortest_path(['.#...', '.#.#.', '...#.']) == 10",
            "assert shortest_path(['.' * 60] * 60) == 118",
        ),
    ),
)

SPLITS: Mapping[str, tuple[Task, ...]] = MappingProxyType({"train": _TRAIN, "validation": _VALIDATION, "test": _TEST})
"""The tasks of each split."""


def task_named(name: str) -> Task:
    """A task by its name.

    Raises:
        InvalidAction: There is none; the message names the nearest.
    """
    known = {task.name: task for tasks in SPLITS.values() for task in tasks}
    if name in known:
        return known[name]
    near = get_close_matches(name, known, 1) or list(known)
    raise InvalidAction(f"task: there is no task {name!r:.60}. Is it one of {', '.join(near)}?")


def size_of(split: str) -> int:
    """How many tasks a split has.

    Raises:
        InvalidAction: There is no such split.
    """
    if split not in SPLITS:
        raise InvalidAction(f"split: there is no split {split!r}. {nearest(split, SPLITS)}")
    return len(SPLITS[split])


def task_at(split: str, index: int) -> Task:
    """A task by its place.

    Raises:
        IndexError: The split has none there.
    """
    if not 0 <= index < size_of(split):
        raise IndexError(f"{split} has the tasks 0 to {size_of(split) - 1}, not {index}.")
    return SPLITS[split][index]
