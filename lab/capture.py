# SPDX-License-Identifier: MIT
"""Data segments of TCP over IPv4 on a host's device into the WAN, with the kernel's times."""

import ipaddress
import socket
import struct
from typing import NamedTuple

import wanbox

ETH_P_IP = 0x0800
ETH_P_ALL = 3  # with those that leave
SO_RCVBUFFORCE, SO_TIMESTAMPNS = 33, 35  # not named by Python
BUFFER_BYTES = 16 << 20  # of all that is captured until it is read
HEADERS_BYTES = 120


class Segment(NamedTuple):
    at_ns: int  # CLOCK_REALTIME, of all namespaces
    packet: int  # the IPv4 identification: a segment sent again has another
    sequence: int
    n_bytes: int


class Capture:
    """What a host sends and receives, from here on."""

    def __init__(self, netns):
        self._socket = wanbox.socket_in(netns, socket.AF_PACKET, socket.SOCK_DGRAM, 0)
        self._socket.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, BUFFER_BYTES)
        self._socket.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
        self._socket.bind(("wan0", ETH_P_ALL))
        self._socket.setblocking(False)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._socket.close()

    def segments(self, source):
        """Those with data that an address has sent, in the order in which they passed."""
        found = []
        while True:
            try:
                packet, (control, *_), _, (_, protocol, *_) = self._socket.recvmsg(HEADERS_BYTES, 64)
            except BlockingIOError:
                return found
            seconds, nanoseconds = struct.unpack("qq", control[2])
            if protocol == ETH_P_IP and packet[9] == socket.IPPROTO_TCP:
                segment = _parse(packet, seconds * 10**9 + nanoseconds, source)
                found += [segment] if segment else []


def _parse(packet, at_ns, source):
    total, identification = struct.unpack_from("!HH", packet, 2)
    tcp = 4 * (packet[0] & 15)
    sequence, offset = struct.unpack_from("!I4xB", packet, tcp + 4)
    n_bytes = total - tcp - 4 * (offset >> 4)
    if packet[12:16] != ipaddress.IPv4Address(source).packed or not n_bytes:
        return None
    return Segment(at_ns, identification, sequence, n_bytes)
