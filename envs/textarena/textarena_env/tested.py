"""The games that were played from beginning to end, and by how many.

Where the settings do not say how many play, it is this number; of a game that is not here, it is the least that the
game can be begun with.
"""

from __future__ import annotations

_ALONE = (
    "2048 Bandit Blackjack Countdown Crosswords FifteenPuzzle FrozenLake GuessTheNumber Hangman LightsOut LogicPuzzle "
    "Mastermind Minesweeper PegJump RushHour Secretary Set Slitherlink Sokoban Sudoku ThreeCardMonte TowerOfHanoi "
    "WordLadder WordSearch Wordle"
)

_BY_TWO = (
    "Alquerque Battleship Breakthrough Briscola Chopsticks ColonelBlotto ConnectFour Crusade DontSayIt "
    "GameOfPureStrategy GermanWhist Golf HighSociety IndianPoker IteratedMatchingPennies IteratedPrisonersDilemma "
    "IteratedRockPaperScissors IteratedTwoThirdsAverage IteratedUltimatumGame KuhnPoker LetterAuction LiarsDice "
    "LinesOfAction MarketEntryGame MemoryGame NewRecruit Nim Othello PigDice Poker PublicGoodsGame QuantumTicTacToe "
    "SantoriniBaseFixed SimpleBlindAuction SimpleNegotiation SimpleTak Snake SpellingBee Stratego Surround Tak "
    "TicTacToe TruthAndDeception TwoDollar UltimateTicTacToe WildTicTacToe WordChains"
)

TESTED: dict[str, int] = {
    **dict.fromkeys(_ALONE.split(), 1),
    **dict.fromkeys(_BY_TWO.split(), 2),
    "ThreePlayerGOPS": 3,
    "ThreePlayerIPD": 3,
    "ThreePlayerTicTacToe": 3,
    "Codenames": 4,
    "SettlersOfCatan": 4,
    "Taboo": 4,
    "SecretMafia": 6,
    "SpiteAndMalice": 1,  # it is played by two, and wants to be begun as if by one
}
"""Games by name, without version, to the number of players that the library is told."""
