# SPDX-License-Identifier: MIT
"""The initial receive window: how much of a first flight leaves at once, by the opening side.

The window of a SYN-ACK has no scale, so a sender that opens can send at most 65,535 bytes; a
receiver that opens announces a scaled one in its first acknowledgement, as large as tcp_rmem[1]
allows.
"""

from testbed import RMEM_BYTES, Testbed
from traffic import Transfer

WINDOWS = (10, 24, 44, 50, 100, 200)
OBJECT_BYTES = 290000  # 200 segments
DEFAULT_RMEM_BYTES = 131072


def run(evaluation):
    table = evaluation.table("receive_window", "tcp_rmem_bytes", "opener", "window", "flight_first",
                             "peer_window_bytes", "time_ms", "on_time")
    for rmem_bytes in (DEFAULT_RMEM_BYTES, RMEM_BYTES):
        with Testbed(evaluation, {"sender": "10.9.1.1", "receiver": "10.9.2.1"},
                     ["delay=50ms,rate=1gbit,buffer=25mb"],
                     sysctls={"ipv4/tcp_rmem": f"4096 {rmem_bytes} 6291456"}) as testbed:
            found = []
            for window in WINDOWS[1::2] if evaluation.quick else WINDOWS:
                testbed.set_route("sender", "initcwnd", window)
                found += [(window, one) for one in testbed.transfer(
                    [Transfer("sender", "receiver", OBJECT_BYTES, kind=kind)
                     for kind in ("pull", "push")])]
        for window, one in found:
            table.add(rmem_bytes, "receiver" if one.kind == "pull" else "sender", window,
                      one.flight_first, one.peer_window_bytes, one.done_us / 1e3, testbed.on_time)
    draw(evaluation, table.rows)
    flights = {(row["tcp_rmem_bytes"], row["opener"]): row["flight_first"] for row in table.rows}
    return ("of a window of {}, {} segments leave at once by default; with tcp_rmem[1] at 1 MB {} where"
            " the receiver opens, {} where the sender does".format(
                table.rows[-1]["window"], flights[DEFAULT_RMEM_BYTES, "receiver"],
                flights[RMEM_BYTES, "receiver"], flights[RMEM_BYTES, "sender"]))


def draw(evaluation, rows):
    with evaluation.picture("receive_window", 1, 2) as (_, (left, right)):
        for rmem_bytes in (DEFAULT_RMEM_BYTES, RMEM_BYTES):
            for opener, line in (("receiver", "-"), ("sender", "--")):
                chosen = [row for row in rows if row["tcp_rmem_bytes"] == rmem_bytes
                          and row["opener"] == opener]
                for axes, column in ((left, "flight_first"), (right, "time_ms")):
                    axes.plot([row["window"] for row in chosen], [row[column] for row in chosen],
                              line, marker="o", markersize=4,
                              label=f"{opener} opens, tcp_rmem[1] {rmem_bytes}")
        left.set(xlabel="initial window, segments", ylabel="segments that leave at once")
        right.set(xlabel="initial window, segments", ylabel="time of 290 KB at 100 ms, ms",
                  ylim=(0, None))
        left.legend(fontsize=7)
