"""What the README shows in its section from nothing to a Space."""

from __future__ import annotations

import re
import shlex

from tests.support.servers import ROOT

_README = (ROOT / "README.md").read_text(encoding="utf-8")
_SECTION = _README.partition("\n## From nothing to a Space\n")[2].partition("\n## ")[0]

COMMANDS = [shlex.split(line, comments=True) for line in re.findall(r"^\$ openenv (.*)$", _SECTION, re.MULTILINE)]
"""The commands, each as its arguments."""

(PROGRAM,) = re.findall(r"```python\n(.*?)```", _SECTION, re.DOTALL)
"""The program by which others have the environment, as ``env``."""


def named(command: str) -> list[str]:
    """The arguments of a command that is shown, beginning with its name."""
    (found,) = [words for words in COMMANDS if words[0] == command]
    return found
