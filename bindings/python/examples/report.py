# SPDX-License-Identifier: MIT
# %% [markdown]
# # How large have the windows of this host grown?
# A notebook in a plain file: editors that know `# %%` run it cell by cell, `report.py PICTURE` at
# once. It shows what share of the connections to each destination have which congestion window:
# where a curve lies right of the ten segments that a connection starts with, there is something
# to learn.

# %%
import ipaddress
import sys

import pandas
import riptide
from matplotlib.figure import Figure

connections = pandas.DataFrame(riptide.observe_columns())
if connections.empty:
    sys.exit("no connections here")

# %% [markdown]
# The columns hold addresses as numbers, since a Python object for each connection would cost more
# than the look itself. Names are made for the destinations alone.

# %%
BITS_OF_HALF = 64


def name(family: int, high: int, low: int) -> str:
    """A peer's address as people write it."""
    if family == 2:
        return str(ipaddress.IPv4Address(low))
    return str(ipaddress.IPv6Address(high << BITS_OF_HALF | low))


peers = connections.groupby(["family", "dst_high", "dst_low"])
table = peers["cwnd"].describe(percentiles=[0.1, 0.5, 0.9])
table["rtt_ms"] = peers["rtt_us"].median() / 1000
table.index = pandas.Index([name(*map(int, key)) for key in table.index], name="destination")
table = table.sort_values("count", ascending=False)
print(table[["count", "10%", "50%", "90%", "rtt_ms"]].head(20).to_string(float_format="%.1f"))

# %%
figure = Figure(figsize=(7, 4))
axes = figure.subplots()
busiest = peers.size().sort_values(ascending=False).head(6).index
for key in busiest:
    windows = peers.get_group(key)["cwnd"].sort_values()
    share = [i / len(windows) for i in range(len(windows) + 1)]
    axes.step([windows.iloc[0], *windows], share, where="post", label=name(*map(int, key)))
axes.axvline(10, color="grey", linestyle=":", label="start of a connection")
axes.set(xlabel="congestion window, segments", ylabel="share of connections", ylim=(0, 1))
axes.legend(fontsize="small")
figure.savefig(sys.argv[1] if len(sys.argv) > 1 else "windows.png", dpi=120)
