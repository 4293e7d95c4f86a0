"""The one place that prints: data to standard output, all else to standard error.

Text from elsewhere (a Space's title, a container's label) may hold what steers a terminal: none of it gets there.
"""

from __future__ import annotations

import json
import logging
import sys
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import typer
from openenv_gym_protocol.errors import ConfigurationError

_WIDTH_OF_A_FILE = 10_000
"""Columns where nobody looks at a terminal: a row is a line, whatever its length."""


def data(text: str) -> None:
    """Writes a line of what was asked for."""
    print(clean(text), flush=True)


def data_json(value: Any) -> None:
    """Writes what was asked for as JSON."""
    print(json.dumps(value, indent=2, default=_plain), flush=True)


def to_file(path: Path, text: str) -> None:
    """Writes a file that was asked for.

    Raises:
        ConfigurationError: It cannot be written.
    """
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise ConfigurationError(f"{path} cannot be written: {error.strerror}.") from error


def note(text: str) -> None:
    """Says something beside the data."""
    print(clean(text), file=sys.stderr, flush=True)


class _Notes(logging.Handler):
    """Says what is logged as a note."""

    def emit(self, record: logging.LogRecord) -> None:
        note(record.getMessage())


def tell_warnings() -> None:
    """Has the warnings that the library logs said beside the data, from now on."""
    logging.getLogger().addHandler(_Notes(logging.WARNING))


def error(text: str) -> None:
    """Says what went wrong and what to do about it."""
    console = _console(sys.stderr)
    from rich.text import Text

    console.print(Text.assemble(("Error: ", "bold red"), clean(text)), soft_wrap=True)


def table(columns: Sequence[str], rows: Sequence[Sequence[object]], *, empty: str) -> None:
    """Writes rows as a table.

    Args:
        columns: The headings.
        rows: One cell a column; None is an empty one.
        empty: What is said, beside the data, where there are no rows.
    """
    if not rows:
        note(empty)
        return
    from rich.table import Table
    from rich.text import Text

    made = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        made.add_column(column, overflow="fold")
    for row in rows:
        made.add_row(*(Text("" if cell is None else _on_a_line(cell)) for cell in row))
    _console(sys.stdout).print(made)


def facts(pairs: Mapping[str, object]) -> None:
    """Writes names and their values, one pair a line; pairs without a value are left out."""
    told = {name: value for name, value in pairs.items() if value not in (None, "", [], {}, ())}
    width = max(map(len, told), default=0)
    for name, value in told.items():
        data(f"{name:<{width}}  {_on_a_line(value)}")


class Progress:
    """How far something is: a bar on a terminal, lines elsewhere.

    Args:
        title: What is being done.
    """

    def __init__(self, title: str) -> None:
        from rich.progress import BarColumn, TextColumn, TimeElapsedColumn
        from rich.progress import Progress as Bar

        console = _console(sys.stderr)
        self._is_seen = console.is_terminal
        columns = (TextColumn("{task.description}", markup=False), BarColumn(), TimeElapsedColumn())
        self._bar = Bar(*columns, console=console, transient=True, disable=not self._is_seen)
        self._task = self._bar.add_task(clean(title), total=None)

    def to(self, done: float, total: float | None, text: str) -> None:
        """Says how far it is.

        Args:
            done: How much is done.
            total: Of how much; None where nobody knows.
            text: What is being done now.
        """
        self._bar.update(self._task, completed=done, total=total, description=clean(text)[:60])

    def line(self, text: str) -> None:
        """Shows a line of detail: above the bar, or as it is."""
        if self._is_seen:
            from rich.text import Text

            self._bar.console.print(Text(clean(text), style="dim"))
        else:
            note(text)


@contextmanager
def progress(title: str) -> Iterator[Progress]:
    """Shows how far something is, until the end of the block."""
    shown = Progress(title)
    with shown._bar:
        yield shown


def confirmed(question: str, *, yes: bool) -> bool:
    """Asks before something that cannot be undone.

    Args:
        question: What to ask.
        yes: It was answered already (``--yes``).

    Returns:
        Whether it may be done; where nobody can be asked, it may not.
    """
    if yes:
        return True
    if not sys.stdin.isatty():
        error(f"{question} Nobody can be asked here: say --yes.")
        return False
    return typer.confirm(clean(question), err=True)


def _on_a_line(value: object) -> str:
    """A value without line ends: a row of a listing is a line, whatever somebody calls their Space."""
    return " ".join(clean(str(value)).splitlines())


def clean(text: str) -> str:
    """The text without characters that steer a terminal; line ends and tabs stay."""
    return "".join(
        character
        for character in text
        if character in "\n\t" or (unicodedata.category(character) not in ("Cc", "Cs") and character not in _BIDI)
    )


_BIDI = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
"""Characters that turn the order of what follows them."""


def _plain(value: Any) -> Any:
    """What stands in JSON for what is none: a model's fields, or a text."""
    dump = getattr(value, "model_dump", None)
    return str(value) if dump is None else dump(mode="json", by_alias=True, exclude_unset=True)


def _console(stream: Any) -> Any:
    from rich.console import Console

    return Console(file=stream, highlight=False, width=None if stream.isatty() else _WIDTH_OF_A_FILE)
