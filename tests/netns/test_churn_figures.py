# SPDX-License-Identifier: MIT
"""The soak's judgement of memory and open files."""

from churn_figures import Figures


def figures_of(resident_kb, files=30):
    """Figures of a daemon, one per second."""
    figures = Figures()
    figures.lives = [0]
    figures.rows = [(s, kb, files if s else 30) for s, kb in enumerate(resident_kb)]
    return figures


def growing(seconds, full_after_s):
    """Figures of tables that grow by 1,200 kB, and then stay."""
    return [2800 + 1200 * min(s / full_after_s, 1) for s in range(seconds)]


def test_memory_is_judged_once_it_had_time_to_grow_to_its_size():
    for seconds in (0, 45, 60):
        figures = figures_of(growing(seconds, 40))
        assert figures.judge() is None and "too short to judge memory" in str(figures)
    for seconds in (90, 180, 1600):
        figures = figures_of(growing(seconds, 40))
        assert figures.judge() is None and "growth 0," in str(figures)
        assert "memory grew by" in figures_of(growing(seconds, seconds)).judge()


def test_files_of_a_short_run_are_judged():
    assert figures_of([3000] * 10, files=100).judge() == "files went from 30 to 100"
