"""Moves that may be legal, for opponents that move at random.

Nothing here looks into a game: moves come from what its player was told. Whether the library takes one is tried on a
copy.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from itertools import permutations, product
from random import Random
from typing import TypeAlias

from textarena_env import reading

Moves: TypeAlias = Iterable[str]

PHRASES = (
    "I am thinking about it.",
    "What do you suggest?",
    "That sounds fair to me.",
    "I am not sure about that.",
    "Let us see how it goes.",
)
"""What is said where a game lets its players talk."""

_LISTED = re.compile(
    r"(?:available|valid|viable|possible|legal|options|targets|remaining)[^\n]*?:((?:[^\n]*\[[^\n]*)+)", re.IGNORECASE
)
_TOKEN = re.compile(r"\[([^\[\]\n]{1,60})\]")


def moves_for(game: str, told: str, random: Random) -> Iterator[str]:
    """Moves in a random order: the game's own, those that the game lists, other tokens in brackets, and phrases.

    Args:
        game: The game's name, without version.
        told: What the player was told, the newest last.
        random: What the order is drawn from.
    """
    for moves in (_own(game, told, random), _listed(told), _mentioned(told), PHRASES):
        shuffled = list(dict.fromkeys(moves))
        random.shuffle(shuffled)
        yield from shuffled


def _own(game: str, told: str, random: Random) -> Moves:
    talks = game in TALKS
    if game in READ:
        moves = READ[game](told)
    elif game in DRAWN:
        moves = DRAWN[game](told, random)
    else:
        moves = FIXED.get(game, ())
    return [f"{random.choice(PHRASES)} {move}" for move in moves] if talks else moves


def _listed(told: str) -> Moves:
    """The moves of the last line that lists some."""
    found = _LISTED.findall(told)
    return [f"[{token}]" for token in _TOKEN.findall(found[-1])] if found else []


def _mentioned(told: str) -> Moves:
    return [f"[{token}]" for token in _TOKEN.findall(told)][-200:]


def _numbers(form: str, low: int, high: int, places: int = 1) -> tuple[str, ...]:
    """All moves of a form with numbers in its places."""
    return tuple(form.format(*numbers) for numbers in product(range(low, high + 1), repeat=places))


def _neighbours() -> tuple[str, ...]:
    moves = []
    for row, column, (down, right) in product(range(10), range(10), ((0, 1), (0, -1), (1, 0), (-1, 0))):
        if 0 <= row + down < 10 and 0 <= column + right < 10:
            moves.append(f"[{'ABCDEFGHIJ'[row]}{column} {'ABCDEFGHIJ'[row + down]}{column + right}]")
    return tuple(moves)


_DIRECTIONS = ("[up]", "[down]", "[left]", "[right]")

FIXED: dict[str, tuple[str, ...]] = {
    "2048": ("[Up]", "[Down]", "[Left]", "[Right]"),
    "Bandit": ("[red]", "[blue]", "[green]", "[yellow]", "[purple]"),
    "Battleship": tuple(f"[{row}{column}]" for row, column in product("ABCDEFGHIJ", range(10))),
    "Blackjack": ("[Hit]", "[Stand]"),
    "Briscola": _numbers("[play {}]", 1, 3),
    "Chopsticks": _numbers("[attack {} {}]", 0, 1, 2) + _numbers("[split {} {}]", 0, 4, 2),
    "ConnectFour": _numbers("[col {}]", 0, 6),
    "Countdown": tuple(f"[{i} {j} {sign}]" for i, j, sign in product(range(6), range(6), "+-*/") if i != j),
    "DontSayIt": PHRASES,
    "FifteenPuzzle": _DIRECTIONS,
    "GermanWhist": _numbers("[play {}]", 1, 13),
    "Golf": ("[draw]", "[take]", "[discard]", *_numbers("[swap {} {}]", 1, 3, 2)),
    "Hangman": tuple(f"[{letter}]" for letter in "ABCDEFGHIJKLMNOPQRSTUVWXYZ"),
    "IndianPoker": ("[check]", "[bet 1]", "[bet 3]", "[call]", "[raise 2]", "[fold]"),
    "IteratedMatchingPennies": ("[heads]", "[tails]"),
    "IteratedPrisonersDilemma": ("[Cooperate]", "[Defect]"),
    "IteratedRockPaperScissors": ("[rock]", "[paper]", "[scissors]"),
    "IteratedStagHunt": ("[Stag]", "[Hare]"),
    "IteratedTwoThirdsAverage": _numbers("[{}]", 0, 100),
    "IteratedUltimatumGame": ("[Offer: $1]", "[Offer: $3]", "[Offer: $5]", "[Accept]", "[Reject]"),
    "LightsOut": _numbers("[{} {}]", 0, 4, 2),
    "MarketEntryGame": ("[E]", "[S]", "{We should not all enter.}"),
    "Mastermind": tuple(f"[{' '.join(map(str, code))}]" for code in permutations(range(1, 7), 4)),
    "MemoryGame": _numbers("[{} {} {} {}]", 0, 3, 4),
    "Minesweeper": _numbers("[{} {}]", 0, 7, 2),
    "Nim": _numbers("[{} {}]", 0, 7, 2),
    "PegJump": _numbers("[{} {}]", 1, 15, 2),
    "Poker": ("[Check]", "[Call]", "[Fold]", "[Bet 40]", "[Raise 40]"),
    "PublicGoodsGame": ("{I give half.}", *_numbers("[{}]", 0, 20)),
    "QuantumTicTacToe": _numbers("[{},{}]", 0, 8, 2),
    "RushHour": tuple(f"[{car}{way}]" for car, way in product("ABCDEFGHIJKLX", "+-")),
    "Secretary": ("[continue]", "[accept]"),
    "SimpleNegotiation": ("[Deny]", "[Accept]", "[Offer: 1 Wood -> 1 Ore]", "[Offer: 1 Ore -> 1 Wood]"),
    "Slitherlink": tuple(f"[{way} {row} {column}]" for way, row, column in product("hv", range(5), range(5))),
    "Snake": _DIRECTIONS,
    "Sokoban": ("[w]", "[a]", "[s]", "[d]"),
    "Stratego": _neighbours(),
    "Sudoku": _numbers("[{} {} {}]", 1, 9, 3),
    "Surround": _DIRECTIONS,
    "Taboo": PHRASES,
    "Tak": tuple(f"[place () {{({r},{c}): [F{stone}]}}]" for r, c, stone in product(range(6), range(6), "01")),
    "ThreeCardMonte": _numbers("[{}]", 0, 2),
    "TowerOfHanoi": tuple(f"[{source} {target}]" for source, target in permutations("ABC", 2)),
    "TruthAndDeception": ("[Fact 1]", "[Fact 2]"),
    "TwoDollar": ("[Propose] $1.00", "[Propose] $1.20", "[Accept]", "[Reject]"),
    "UltimateTicTacToe": _numbers("[{} {}]", 0, 8, 2),
}
"""Moves that are the same at every turn."""

READ: dict[str, Callable[[str], Moves]] = {
    "Alquerque": reading.steps("[{} {}]"),
    "Breakthrough": reading.steps("[{}{}]"),
    "Codenames": reading.codenames,
    "GuessTheNumber": reading.guesses,
    "LinesOfAction": reading.lines,
    "SantoriniBaseFixed": reading.built,
    "SpiteAndMalice": reading.cards,
}
"""Moves that are read from what was told."""

DRAWN: dict[str, Callable[[str, Random], Moves]] = {
    "ColonelBlotto": reading.allocations,
    "LetterAuction": reading.auctioned,
    "LiarsDice": reading.bids,
    "NewRecruit": lambda _, random: ("[Propose] " + "".join(random.choices("ABCDE", k=8)), "[Accept]", "[Reject]"),
    "Set": lambda _, random: [f"[{', '.join(map(str, random.sample(range(1, 13), 3)))}]" for _ in range(5)],
    "SimpleBlindAuction": lambda _, random: [f"[Bid on Item {random.randrange(5)}: {random.randint(10, 150)}]"],
    "SpellingBee": reading.words(reading.spelled),
    "ThreePlayerIPD": lambda _, random: [
        " ".join(f"[{other} {random.choice(('cooperate', 'defect'))}]" for other in range(3))
    ],
    "WordChains": reading.words(reading.chained),
}
"""Moves that are drawn anew at every turn."""

TALKS = {
    "IteratedPrisonersDilemma",
    "IteratedStagHunt",
    "MarketEntryGame",
    "NewRecruit",
    "SimpleBlindAuction",
    "SimpleNegotiation",
    "TruthAndDeception",
    "TwoDollar",
}
"""Games that talk and decide in turn: a phrase goes before each move."""
