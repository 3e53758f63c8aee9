# SPDX-License-Identifier: MIT
"""Hosts of one site learn together, by way of a Valkey or Redis that the user runs: docs/fleet.md.

sums: what is shared, pure. site: the engine, which needs redis-py (riptide[fleet]). Nothing of
riptide imports this package.
"""
