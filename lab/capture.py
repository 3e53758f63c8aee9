# SPDX-License-Identifier: MIT
"""Captures TCP data segments over IPv4 on a host's device into the WAN, with kernel timestamps."""

import ipaddress
import socket
import struct
from typing import NamedTuple

import wanbox

ETH_P_IP = 0x0800
ETH_P_ALL = 3  # includes outgoing packets
SO_RCVBUFFORCE, SO_TIMESTAMPNS = 33, 35  # not named by Python
BUFFER_BYTES = 16 << 20  # for captured packets until they are read
HEADERS_BYTES = 120


class Segment(NamedTuple):
    at_ns: int  # CLOCK_REALTIME
    sequence: int


class Capture:
    """The packets that a host sends and receives from now on."""

    def __init__(self, netns):
        self._socket = wanbox.socket_in(netns, socket.AF_PACKET, socket.SOCK_DGRAM, 0)
        self._socket.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, BUFFER_BYTES)
        self._socket.setsockopt(socket.SOL_SOCKET, SO_TIMESTAMPNS, 1)
        self._socket.bind((wanbox.DEVICE, ETH_P_ALL))
        self._socket.setblocking(False)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._socket.close()

    def segments(self, source):
        """The segments with data from an address, in order."""
        found = []
        while True:
            try:
                packet, (control, *_), _, (_, protocol, *_) = self._socket.recvmsg(HEADERS_BYTES, 64)
            except BlockingIOError:
                return found
            seconds, nanoseconds = struct.unpack("qq", control[2])
            if protocol != ETH_P_IP or packet[9] != socket.IPPROTO_TCP:
                continue
            sequence = sequence_of(packet, source)
            if sequence is not None:
                found.append(Segment(seconds * 10**9 + nanoseconds, sequence))


def sequence_of(packet, source):
    """The sequence number of a segment with data from that address; None: it is none."""
    total, = struct.unpack_from("!H", packet, 2)
    tcp = 4 * (packet[0] & 15)
    sequence, offset = struct.unpack_from("!I4xB", packet, tcp + 4)
    has_data = total > tcp + 4 * (offset >> 4)
    return sequence if has_data and packet[12:16] == ipaddress.IPv4Address(source).packed else None
