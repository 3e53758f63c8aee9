# SPDX-License-Identifier: MIT
"""The scenes on which arms are compared, their objects, and the arms. Pure."""

import itertools
import re
from typing import NamedTuple

PACKET_BYTES = 1500
SEGMENT_BYTES = 1448
BUSY_CONNECTIONS = 3
CROSS_SHARE = 0.2
PAGE_CONNECTIONS = 6
BUSY_KB, BUSY_CELL_KB = (30, 100), 60  # of busy paths, evenly over the logarithm; how cells name them
BLOCK_S = 2  # of arrivals: what busy paths have in place of a repetition
SLOW_SHARE, SLOW_MBIT, SLOW_BUFFER_BYTES, SLOW_KB = 0.2, 2, 20_000, 30


class Scene(NamedTuple):
    """A path and how connections use it; with one of its objects it is a cell."""
    rtt_ms: float
    rate_mbit: float
    buffer_bdp: float  # of the bottleneck, in bandwidth-delay products
    loss_percent: float
    congestion: str
    openers: int  # connections that open at once
    objects_kb: tuple
    cross_share: float = 0  # of the path's rate, used by other connections of the same host
    is_quiet: bool = False  # all sent data is counted
    per_s: float = 0  # connections a second, at random moments, in place of openings
    has_slow: bool = False  # a fifth of them to clients behind a slow link, which share the window

    @property
    def is_page(self):
        """Whether the connections that open at once are a page, which is as slow as its slowest."""
        return bool(self.cross_share) and self.openers > 1

    @property
    def capacity_segs(self):
        """Segments on the path without its buffer."""
        return self.rate_mbit * 1e6 / 8 * self.rtt_ms / 1e3 / PACKET_BYTES

    @property
    def buffer_bytes(self):
        return max(round(self.buffer_bdp * self.capacity_segs), 4) * PACKET_BYTES

    @property
    def busy_bytes(self):
        """Bytes that a busy connection sends at once: together these fill the path for two rounds
        if that is not too slow, but at least windows of a hundred segments."""
        return round(min(max(150e3, 0.7 * self.capacity_segs * PACKET_BYTES), 2e6))

    def label(self):
        return (f"{self.rtt_ms:g} ms, {self.rate_mbit:g} Mbit/s, {self.buffer_bdp:g} BDP,"
                f" {self.loss_percent:g} %, {self.congestion}, {self.openers}"
                + (", cross traffic" if self.cross_share else "")
                + (", pages" if self.is_page else "")
                + (", nothing else" if self.is_quiet else "")
                + (f", {self.per_s:g} a second" if self.per_s else "")
                + (", a fifth of clients slow" if self.has_slow else ""))


class Arm(NamedTuple):
    """One way of giving initial windows: a static one, by a route or paced over a part of the round
    trip by the program, or a riptided with these options."""
    name: str
    initcwnd: int = 0
    pacing_percent: int = 0
    riptided: tuple = ()
    is_settled: bool = False  # with a control group, after its first verdict
    is_other_build: bool = False  # riptided of the build directory $RIPTIDE_OTHER_BUILD


CAREFUL = ("--policy", "careful")
BY_ROUTES = ("--apply", "routes")
ARMS = (
    Arm("none"),
    Arm("static 24", initcwnd=24),
    Arm("static 32", initcwnd=32),
    Arm("static 50", initcwnd=50),
    Arm("static 100", initcwnd=100),
    Arm("50 over half", initcwnd=50, pacing_percent=50),
    Arm("100 over one", initcwnd=100, pacing_percent=100),
    Arm("paper", riptided=("--policy", "paper", *BY_ROUTES)),
    Arm("careful", riptided=(*CAREFUL, *BY_ROUTES)),
    Arm("paced", riptided=CAREFUL),
)
# Played if --arms names them.
MORE_ARMS = (
    Arm("settled", riptided=CAREFUL, is_settled=True),
    Arm("program", riptided=(*CAREFUL, "--apply", "program")),
    Arm("other", riptided=(*CAREFUL, "--apply", "both"), is_other_build=True),
    Arm("other routes", riptided=(*CAREFUL, *BY_ROUTES), is_other_build=True),
)


def arms_named(*names):
    return tuple(arm for arm in (*ARMS, *MORE_ARMS) if arm.name in names)


def some_scenes():
    """Combinations of two levels of the main factors; then each other level once or twice."""
    small, large = (30, 100, 300), (10, 30, 100)
    crossed = [Scene(rtt, rate, buffer, 0, "cubic", openers, small if openers == 1 else large)
               for rtt, rate, buffer, openers in
               itertools.product((20, 100), (20, 100), (0.25, 1), (1, 8))]
    return crossed + [
        Scene(10, 100, 0.5, 0, "cubic", 1, small),
        Scene(200, 20, 0.5, 0, "cubic", 1, small),
        Scene(200, 100, 2, 0, "cubic", 1, (30, 100, 1000)),
        Scene(50, 500, 0.5, 0, "cubic", 1, (30, 100, 1000)),
        Scene(100, 20, 1, 0.1, "cubic", 1, small),
        Scene(100, 20, 1, 1, "cubic", 1, small),
        Scene(50, 100, 0.5, 1, "cubic", 1, small),
        Scene(100, 20, 0.25, 0, "bbr", 1, small),
        Scene(100, 20, 1, 0, "bbr", 8, large),
        Scene(20, 100, 0.5, 0.1, "bbr", 1, small),
        Scene(50, 100, 1, 0, "cubic", 32, (1, 10, 30)),
        Scene(100, 20, 2, 0, "cubic", 32, (1, 10, 30)),
    ]


def cross_scenes():
    """Paths that are never idle, most of them with buffers too small for a large flight."""
    objects = (30, 100, 200)
    return [Scene(*path, 0, congestion, 1, objects, CROSS_SHARE) for *path, congestion in (
        (20, 20, 0.5, "cubic"), (20, 20, 0.5, "bbr"), (100, 20, 0.5, "cubic"), (100, 20, 0.5, "bbr"),
        (100, 5, 0.512, "cubic"), (100, 5, 0.512, "bbr"), (100, 20, 0.1, "cubic"), (50, 100, 0.25, "cubic"),
        (100, 20, 0.1, "bbr"), (50, 100, 0.25, "bbr"), (20, 100, 0.5, "bbr"), (50, 50, 1, "cubic"))]


def page_scenes():
    """Paths to which a page opens each second: connections at once, whose flights share a queue."""
    return [Scene(80, 50, buffer, 0, congestion, PAGE_CONNECTIONS, objects, CROSS_SHARE)
            for buffer, congestion, objects in (
                (0.5, "cubic", (100,)), (0.5, "cubic", (100, 30)),
                (0.5, "bbr", (100, 30)), (0.1, "cubic", (100, 30)))]


def short_scenes():
    """Paths on which every connection is short, as on many hosts."""
    return [Scene(*path, 0, congestion, openers, objects, is_quiet=True)
            for *path, congestion, openers, objects in (
                (100, 8, 0.1, "reno", 1, (100,)), (100, 8, 0.1, "cubic", 1, (100,)),
                (100, 20, 0.1, "bbr", 1, (30, 100, 200)), (100, 20, 0.1, "cubic", 1, (30, 100, 200)),
                (50, 20, 0.25, "reno", 4, (30, 100)), (50, 50, 1, "cubic", 4, (30, 100)),
                (20, 50, 0.25, "cubic", 1, (100, 200)), (20, 20, 1, "bbr", 4, (30, 100)))]


def busy_scenes():
    """Destinations with many connections a second, of which none is watched alone."""
    def busy(per_s, rtt, rate, buffer, loss, congestion, has_slow=False):
        objects = (BUSY_CELL_KB, SLOW_KB) if has_slow else (BUSY_CELL_KB,)
        in_block = round(per_s * BLOCK_S * (SLOW_SHARE if has_slow else 1))
        return Scene(rtt, rate, buffer, loss, congestion, in_block, objects, is_quiet=True,
                     per_s=per_s, has_slow=has_slow)

    return [busy(*path) for path in (
        (10, 20, 20, 0.5, 0, "cubic"), (10, 100, 20, 0.1, 0, "cubic"), (10, 100, 20, 1, 0.5, "cubic"),
        (10, 150, 20, 0.25, 0, "bbr"), (10, 50, 20, 1, 0.5, "bbr"),
        (40, 20, 50, 0.25, 0, "cubic"), (40, 100, 50, 0.1, 0.1, "cubic"), (40, 150, 50, 1, 0, "cubic"),
        (40, 50, 50, 0.5, 0, "bbr"), (40, 100, 50, 0.1, 0, "bbr"),
        (100, 50, 120, 0.25, 0, "cubic"), (100, 150, 120, 0.1, 0, "cubic"), (100, 100, 120, 1, 0.5, "cubic"),
        (100, 100, 120, 0.5, 0, "bbr"), (10, 50, 50, 1, 0, "cubic", True), (10, 50, 50, 1, 0, "bbr", True))]


def quick_scenes():
    return [Scene(50, 20, 0.5, 0, "cubic", 1, (100,)), busy_scenes()[-1], page_scenes()[0]]


GRIDS = {"quick": quick_scenes, "some": some_scenes, "cross": cross_scenes, "pages": page_scenes,
         "short": short_scenes, "busy": busy_scenes}


def numbered_scenes(cells):
    """(number, scene) of a grid, or of the scenes of "some" whose label has the regular expression;
    of another grid with "GRID:" before it. Random values of a scene depend on its number in the grid.
    Raises ValueError if there is none."""
    grid, _, pattern = cells.rpartition(":")
    if cells in GRIDS:
        return list(enumerate(GRIDS[cells](), 1))
    try:
        found = [(number, scene) for number, scene in enumerate(GRIDS[grid or "some"](), 1)
                 if re.search(pattern, scene.label())]
    except re.error as error:
        raise ValueError(f"{cells}: {error}") from None
    if not found:
        raise ValueError(f"{cells}: in no scene's name; one is: {some_scenes()[0].label()}")
    return found
