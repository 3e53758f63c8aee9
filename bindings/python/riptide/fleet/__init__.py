# SPDX-License-Identifier: MIT
"""Hosts of one site learn together, through a Valkey or Redis that the user runs: docs/fleet.md.

sums: the shared sums, pure. site: the engine, which needs redis-py. No other
module of riptide imports this package.
"""
