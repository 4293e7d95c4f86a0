"""A picture of steps per second against lanes."""

from __future__ import annotations

from pathlib import Path

import matplotlib

matplotlib.use("Agg")

from matplotlib import pyplot
from matplotlib.axes import Axes

from benchmarks.contenders import CONTENDERS
from benchmarks.samples import Configuration, Samples

_LANES = (8, 32, 128)

TYPED = (
    "arrays", "vector inline", "vector thread", "echo", "standard inline", "standard thread", "our server inline",
    "dm_env_rpc", "openenv",
)  # fmt: skip
POLES = ("envpool poles", "sync poles", "remote poles", "async poles")


def draw(samples: Samples, path: Path) -> None:
    """Writes the picture as a PNG file; what was not measured is not in it."""
    figure, (left, right) = pyplot.subplots(1, 2, figsize=(17, 5.5), layout="constrained")
    _lines(left, samples, TYPED, "typed")
    left.set_title("an integer in, four floats out")
    _lines(right, samples, POLES, "poles")
    right.set_title("CartPole-v1")
    figure.savefig(path, dpi=120)
    pyplot.close(figure)


def _lines(axes: Axes, samples: Samples, names: tuple[str, ...], group: str) -> None:
    for name in names:
        found = {
            lanes: spread
            for lanes in _LANES
            if (spread := samples.spread(f"{group} {lanes}", Configuration(name, lanes), "rate")) is not None
        }
        if not found:
            continue
        medians = [spread.median for spread in found.values()]
        (line,) = axes.plot(list(found), medians, marker="o", label=CONTENDERS[name].title)
        bounds = [spread.least for spread in found.values()], [spread.most for spread in found.values()]
        axes.fill_between(list(found), *bounds, alpha=0.15, color=line.get_color())
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xticks(_LANES, [str(lanes) for lanes in _LANES])
    axes.set_xlabel("lanes")
    axes.set_ylabel("steps per second (median; band: least to most)")
    axes.grid(visible=True, which="both", alpha=0.3)
    if axes.has_data():
        axes.legend(fontsize="small", loc="center left", bbox_to_anchor=(1.0, 0.5))
