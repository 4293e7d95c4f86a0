"""Moves that are made of what a player was told: of the last board, the cards in hand, the letters and bids so far."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from itertools import permutations, product
from random import Random

_LETTER_ROW = re.compile(r"^ *(\d) +\|((?: ?\|? *[A-Z.]? *)+)", re.M)
_CARD = re.compile(r"(?:[2-9AJQK])[♠♥♦♣]")
_NEAR = [(right, up) for right, up in product((-2, -1, 0, 1, 2), repeat=2) if right or up]


def guesses(told: str) -> list[str]:
    """GuessTheNumber: every number that it may be."""
    return [f"[{number}]" for number in range(1, 1 + _last_number(r"between 1 and (\d+)", told, 20))]


def allocations(told: str, random: Random) -> list[str]:
    """ColonelBlotto: some ways to spread the units."""
    fields = re.findall(r"Available fields: ([A-Z, ]+)", told)
    names = [name.strip() for name in fields[-1].split(",")] if fields else ["A", "B", "C"]
    units = _last_number(r"Units to allocate: (\d+)", told, 20)
    cuts = sorted(random.choices(range(units + 1), k=len(names) - 1))
    parts = [high - low for low, high in zip([0, *cuts], [*cuts, units], strict=True)]
    return ["[" + " ".join(f"{name}{part}" for name, part in zip(names, parts, strict=True)) + "]"]


def steps(form: str) -> Callable[[str], list[str]]:
    """Steps of at most two squares from every piece, of either side.

    Args:
        form: How a step is written, with two places for squares.
    """

    def make(told: str) -> list[str]:
        moves = []
        for (column, row), (right, up) in product(_pieces(told), _NEAR):
            if 0 <= column + right < 8 and 0 <= row + up < 8:
                moves.append(form.format(_square(column, row), _square(column + right, row + up)))
        return moves

    return make


def lines(told: str) -> list[str]:
    """LinesOfAction: moves along rows, columns and diagonals from every piece, of either side."""
    moves = []
    for (column, row), right, up, far in product(_pieces(told), (-1, 0, 1), (-1, 0, 1), range(1, 8)):
        to = column + far * right, row + far * up
        if (right or up) and min(to) >= 0 and max(to) < 8:
            moves.append(f"[{_square(column, row)}{_square(*to)}]")
    return moves


def cards(told: str) -> list[str]:
    """SpiteAndMalice: the cards that were named lately, on every pile."""
    seen = dict.fromkeys(_CARD.findall(told[-4000:]))
    return ["[draw]", *(f"[{act} {card} {pile}]" for act, card, pile in product(("play", "discard"), seen, range(4)))]


def bids(told: str, random: Random) -> list[str]:
    """LiarsDice: a higher bid, three times as likely as a call."""
    quantity, face = 0, 6
    for bid in re.findall(r"\[?Bid: (\d+), (\d+)\]?", told)[-1:]:
        quantity, face = int(bid[0]), int(bid[1])
    higher = [f"[Bid: {quantity + 1}, {random.randint(1, 6)}]" for _ in range(3)]
    return [*higher, "[Call]"] + ([f"[Bid: {quantity}, {face + 1}]"] if face < 6 and quantity else [])


def words(pattern_of: Callable[[str], str]) -> Callable[[str, Random], list[str]]:
    """English words that match a pattern made of what was told."""

    def make(told: str, random: Random) -> list[str]:
        fits = re.compile(pattern_of(told)).fullmatch
        fitting = [word for word in _english() if fits(word)]
        return [f"[{word}]" for word in random.sample(fitting, min(len(fitting), 100))]

    return make


def spelled(told: str) -> str:
    """SpellingBee: a pattern of words of the allowed letters, as long as the last one at least."""
    letters = re.findall(r"Allowed Letters: ([a-z]+)", told)
    lengths = [len(word) for word in re.findall(r"submitted the word: ([a-z]+)", told)]
    return f"[{letters[-1] if letters else 'a-z'}]{{{lengths[-1] if lengths else 4},}}"


def chained(told: str) -> str:
    """WordChains: a pattern of words that may follow."""
    starts, lengths = re.findall(r"Start with '([a-z])'", told), re.findall(r"exactly (\d+) letters", told)
    return f"{starts[-1]}[a-z]{{{int(lengths[-1]) - 1}}}" if starts and lengths else "[a-z]+"


def built(told: str) -> list[str]:
    """Santorini: a worker of the player's colour moves to a neighbouring square and builds next to it."""
    colours = re.findall(r"You are playing (Navy|White|Grey)", told)
    rows = re.findall(r"^([A-E]) │(.*)│ \1$", told, re.M)[-5:]
    moves = []
    for row, (_, cells) in enumerate(rows):
        for column, cell in enumerate(cells.split("│")):
            worker = re.search(r"[NWG][12]", cell)
            if worker is None or not colours or worker.group()[0] != colours[-1][0]:
                continue
            for to in _around(row, column):
                moves += [f"[{worker.group()}{_place(row, column)}{_place(*to)}{_place(*at)}]" for at in _around(*to)]
    return moves


def auctioned(told: str, random: Random) -> list[str]:
    """LetterAuction: bids, and words of the letters that were won."""
    letters = re.findall(r"letters:? *\[?([A-Z', ]*)\]?", told)
    held = re.findall("[A-Z]", letters[-1]) if letters else []
    short = ["".join(some).lower() for count in (1, 2, 3) for some in permutations(held[:6], count)]
    return [f"[bid {random.randint(1, 9)}]", "[pass]", *(f"[{word}]" for word in short)]


def codenames(told: str) -> list[str]:
    """Codenames: a clue, and the words on the board."""
    board = re.findall(r"^([a-z]+) +(?:[RBNA])? *$", told, re.M)
    return ["[idea 1]", "[pass]", *(f"[{word}]" for word in dict.fromkeys(board))]


def _last_number(pattern: str, told: str, default: int) -> int:
    found = re.findall(pattern, told)
    return int(found[-1]) if found else default


def _pieces(told: str) -> list[tuple[int, int]]:
    """Column and row, from 0, of what stands on the last board whose rows are numbered and columns have letters."""
    found: dict[int, str] = {}
    for row, cells in _LETTER_ROW.findall(told):
        found[int(row)] = cells
    squares = []
    for row, cells in found.items():
        each = [cell.strip() for cell in cells.split("|")] if "|" in cells else cells.split()
        squares += [(column, row - 1) for column, cell in enumerate(each) if cell.isalpha()]
    return squares


def _square(column: int, row: int) -> str:
    return f"{'abcdefgh'[column]}{row + 1}"


@cache
def _english() -> list[str]:
    from nltk.corpus import words as corpus

    return [word for word in corpus.words("en") if word.islower()]


def _around(row: int, column: int) -> list[tuple[int, int]]:
    near = [(row + down, column + right) for down, right in product((-1, 0, 1), repeat=2) if down or right]
    return [(row, column) for row, column in near if 0 <= row < 5 and 0 <= column < 5]


def _place(row: int, column: int) -> str:
    return f"{'ABCDE'[row]}{column + 1}"
