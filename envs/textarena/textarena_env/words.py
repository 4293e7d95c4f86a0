"""Word lists on this machine, where TextArena would download them.

Its word games read NLTK's corpus ``words`` and its tagger of parts of speech, which both lie on the network. Here the
words come from two packages instead: all English words of Webster's dictionary (english-words), which is where NLTK's
list comes from too, and the common nouns (wonderwords) in the place of its list of 850 basic words. As these are nouns
already, the tagger that is put there calls every word one. Whoever has NLTK's own data keeps them: nothing is put
where NLTK finds something.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Sequence
from functools import cache
from importlib import resources
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

logger = logging.getLogger(__name__)

_TAGGER = "averaged_perceptron_tagger_eng"

_FOLDERS = {"words": "corpora/words", _TAGGER: f"taggers/{_TAGGER}"}


def keep_offline(nltk: Any) -> None:
    """Replaces NLTK's download by the lists of this machine. No network is tried from then on."""
    nltk.download = provide


def provide(names: str | Sequence[str], *_: Any, **__: Any) -> bool:
    """Puts data where NLTK looks for them, in place of its ``download``, whose other arguments it takes.

    Args:
        names: What is asked for: one name, or several.

    Returns:
        Whether all of them are there now.
    """
    wanted = [names] if isinstance(names, str) else list(names)
    return all([_is_there(name) or _put(name) for name in wanted])


def _is_there(name: str) -> bool:
    import nltk

    try:
        nltk.data.find(_FOLDERS.get(name, name))
    except LookupError:
        return False
    return True


def _put(name: str) -> bool:
    folder = _FOLDERS.get(name)
    if folder is None:
        logger.error("NLTK's %s is not on this machine, and nothing is downloaded.", name)
        return False
    place = _root() / folder
    place.mkdir(parents=True, exist_ok=True)
    for file, text in (_lists() if name == "words" else _tagger()).items():
        (place / file).write_text(text, encoding="utf-8")
    return True


@cache
def _root() -> Path:
    """A folder for this process, where NLTK looks; it goes when the process ends."""
    import nltk

    folder = TemporaryDirectory(prefix="openenv-gym-nltk-")
    _kept.append(folder)
    nltk.data.path.append(folder.name)
    return Path(folder.name)


_kept: list[TemporaryDirectory[str]] = []


def _lists() -> dict[str, str]:
    from english_words import get_english_words_set

    nouns = resources.files("wonderwords").joinpath("assets", "nounlist.txt").read_text("utf-8").split()
    # In order: sets of text have another one in every process, and games draw by position.
    every = sorted(word for word in get_english_words_set(["web2"]) if word.isascii())
    basic = sorted({noun for noun in nouns if noun.isascii() and noun.isalpha() and noun.islower()})
    return {"en": "\n".join(every) + "\n", "en-basic": "\n".join(basic) + "\n"}


def _tagger() -> dict[str, str]:
    """A tagger that knows one class, and no word."""
    parts: dict[str, Any] = {"weights": {}, "tagdict": {}, "classes": ["NN"]}
    return {f"{_TAGGER}.{part}.json": json.dumps(value) for part, value in parts.items()}
