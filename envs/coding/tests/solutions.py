"""What passes the tests of the built-in tasks."""

import re
from bisect import bisect_left
from collections import Counter, deque
from itertools import groupby
from typing import Any


def digit_sum(number: Any) -> Any:
    return sum(map(int, str(abs(number))))


def run_lengths(text: Any) -> Any:
    return [(character, len(list(run))) for character, run in groupby(text)]


def merge_sorted(first: Any, second: Any) -> Any:
    return sorted(first + second)


def roman(number: Any) -> Any:
    if not 1 <= number <= 3999:
        raise ValueError(number)
    parts = ["M", "CM", "D", "CD", "C", "XC", "L", "XL", "X", "IX", "V", "IV", "I"]
    text = ""
    for value, part in zip((1000, 900, 500, 400, 100, 90, 50, 40, 10, 9, 5, 4, 1), parts, strict=True):
        text += part * (number // value)
        number %= value
    return text


def balanced(text: Any) -> Any:
    waiting = []
    for character in text:
        if character in "([{":
            waiting.append(")]}"["([{".index(character)])
        elif character in ")]}" and (not waiting or waiting.pop() != character):
            return False
    return not waiting


def word_counts(text: Any) -> Any:
    return Counter(re.findall("[a-z]+", text.lower()))


def transpose(rows: Any) -> Any:
    return [list(column) for column in zip(*rows, strict=True)]


def primes_below(limit: Any) -> Any:
    sieve = bytearray([0, 0]) + bytearray([1]) * max(limit - 2, 0)
    for number in range(2, int(limit**0.5) + 1):
        if sieve[number]:
            sieve[number * number : limit : number] = bytes(len(range(number * number, limit, number)))
    return [number for number in range(limit) if sieve[number]]


def caesar(text: Any, shift: Any) -> Any:
    def moved(character: Any) -> Any:
        if not (character.isascii() and character.isalpha()):
            return character
        first = ord("a" if character.islower() else "A")
        return chr(first + (ord(character) - first + shift) % 26)

    return "".join(map(moved, text))


def longest_increase(numbers: Any) -> Any:
    ends = []
    for number in numbers:
        at = bisect_left(ends, number)
        ends[at : at + 1] = [number]
    return len(ends)


def intervals(pairs: Any) -> Any:
    merged = []
    for start, end in sorted(pairs):
        if merged and start <= merged[-1][1]:
            merged[-1][1] = max(merged[-1][1], end)
        else:
            merged.append([start, end])
    return merged


def evaluate(expression: Any) -> Any:
    if not re.fullmatch(r"[0-9+*() -]*", expression):
        raise ValueError(expression)
    try:
        return eval(expression)
    except SyntaxError as error:
        raise ValueError(expression) from error


def shortest_path(grid: Any) -> Any:
    rows, columns = len(grid), len(grid[0])
    seen, waiting = {(0, 0)}, deque([((0, 0), 0)])
    while waiting:
        (row, column), steps = waiting.popleft()
        if (row, column) == (rows - 1, columns - 1):
            return steps
        for place in ((row + 1, column), (row - 1, column), (row, column + 1), (row, column - 1)):
            inside = 0 <= place[0] < rows and 0 <= place[1] < columns
            if inside and grid[place[0]][place[1]] == "." and place not in seen:
                seen.add(place)
                waiting.append((place, steps + 1))
    return -1
