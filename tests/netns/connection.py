# SPDX-License-Identifier: MIT
"""TCP connections between two hosts, and the kernel's data on them."""

import contextlib
import socket
import struct
import threading
import time

from waiting import DEADLINE_S, Closing, stopped, wait_until

SO_COOKIE = 57
SO_MAX_PACING_RATE = 47
NO_LIMIT = (1 << 64) - 1  # no limit of the pacing rate
TCP_CONGESTION = 13  # Python 3.9 to 3.11 name it on some builds only
TCP_SAVE_SYN = 27


class Connection(Closing):
    """A TCP connection with both ends in this process: `near` is the host's, `far` the peer's.

    The host opens it, or, if `passive`, the peer. `mapped`: the host's socket is an IPv6 socket
    with an IPv4 peer, ::ffff:a.b.c.d. `source`: the host's address. `port` and `save_syn` are the
    listener's.
    """

    def __init__(self, host, peer, address, congestion=None, passive=False, mapped=False,
                 source=None, port=0, save_syn=0):
        far_family = socket.AF_INET6 if ":" in address else socket.AF_INET
        near_family = socket.AF_INET6 if mapped else far_family
        self.near = self.far = None
        opener, listener = (peer, host) if passive else (host, peer)
        families = (far_family, near_family) if passive else (near_family, far_family)
        with opener.socket(families[0]) as client, listener.socket(families[1]) as server:
            near = server if passive else client
            if near_family == socket.AF_INET6:
                near.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, int(not mapped))
            if congestion:
                near.setsockopt(socket.IPPROTO_TCP, TCP_CONGESTION, congestion.encode())
            if passive:
                client.bind((address, 0))
                target = source or host.ip_json("route", "get", address)[0]["prefsrc"]
            else:
                if source:
                    client.bind((source, 0))
                target = f"::ffff:{address}" if mapped else address
            server.bind(("", port))
            server.setsockopt(socket.IPPROTO_TCP, TCP_SAVE_SYN, save_syn)
            server.listen()
            client.settimeout(DEADLINE_S)
            server.settimeout(DEADLINE_S)
            with opener.entered():  # as a link-local address needs the index of its device there
                client.connect(socket.getaddrinfo(target, server.getsockname()[1])[0][4])
            accepted, _ = server.accept()
            opened = socket.socket(fileno=client.detach())
        self.near, self.far = (accepted, opened) if passive else (opened, accepted)
        self.near.setblocking(False)
        self.far.setblocking(False)

    def close(self):
        """Resets the connection, so that neither end lingers."""
        for end in (self.near, self.far):
            end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            end.close()

    def finish(self):
        """Closes the connection, the host first; unlike after a reset, its counters stay."""
        self.near.close()
        self.far.close()

    def cwnd(self):
        return tcp_info(self.near).cwnd

    def send(self, n_bytes):
        """Moves n_bytes from the host to its peer, until all of it is acknowledged."""
        data = bytes(1 << 16)
        unsent = unread = n_bytes
        end = time.monotonic() + DEADLINE_S
        while unread or tcp_info(self.near).unacked:
            with contextlib.suppress(BlockingIOError):
                if unsent:
                    unsent -= self.near.send(data[:unsent])
            with contextlib.suppress(BlockingIOError):
                unread -= len(self.far.recv(1 << 20))
            assert time.monotonic() < end, f"{unread} of {n_bytes} bytes not received"

    def grow(self, cwnd):
        """Sends until the window is at least cwnd; then the connection is quiet."""
        wait_until(lambda: self.send(self.cwnd() * 1448) or self.cwnd() >= cwnd,
                   f"a window of {cwnd}")

    @contextlib.contextmanager
    def busy(self):
        """Sends a little again and again, as policies ignore connections that are idle since their
        last segment was sent."""
        is_over = threading.Event()

        def send():
            while not is_over.wait(0.01):
                self.send(1000)

        sending = threading.Thread(target=send)
        self.send(1000)
        sending.start()
        try:
            yield
        finally:
            is_over.set()
            sending.join()


class TcpInfo:
    """The part of struct tcp_info (include/uapi/linux/tcp.h) that tests use."""

    def __init__(self, data):
        words = struct.unpack_from("=24I", data, 8)
        self.state = data[0]
        self.mss_bytes, self.unacked, self.rtt_us, self.cwnd = words[2], words[4], words[15], words[18]
        self.rto_us, self.idle_us = words[0], 1000 * words[9]  # since data was sent
        self.retrans_segs = words[23]
        self.pacing_rate = struct.unpack_from("=Q", data, 104)[0]
        self.data_segs_out = struct.unpack_from("=I", data, 156)[0]
        self.snd_wnd_bytes = struct.unpack_from("=I", data, 228)[0]

    def pace(self, rtt_us):
        """The pacing rate, in windows per round trip."""
        return self.pacing_rate * rtt_us / 1e6 / (self.cwnd * self.mss_bytes)


def tcp_info(end):
    return TcpInfo(end.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 232))


def pacing_limit(end):
    """The limit of a socket's pacing rate, bytes/s, or NO_LIMIT."""
    return int.from_bytes(end.getsockopt(socket.SOL_SOCKET, SO_MAX_PACING_RATE, 8), "little")


def first_pace(near, end, n_bytes=100_000, idle_reduces=0):
    """Begins to send; returns the pacing rate, in windows per round trip. TCP's own is 1.2 or 2. Until it is
    read no acknowledgement arrives, which would change it. near: the host of the fixture path; idle_reduces:
    the window, where the end was idle for longer than its timeout of retransmission."""
    near.sysctl("ipv4/tcp_slow_start_after_idle", idle_reduces)
    end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4 * n_bytes)
    with stopped(near.wan_pid):
        rtt_us = tcp_info(end).rtt_us or 100_000
        end.send(bytes(n_bytes))
        return tcp_info(end).pace(rtt_us)


def transfer(connect, n_bytes, **options):
    """Opens a connection by cubic with that function, sends and closes."""
    connection = connect(congestion="cubic", **options)
    connection.send(n_bytes)
    connection.finish()


def cookie_of(end):
    """The socket's cookie, by which the kernel distinguishes sockets."""
    return struct.unpack("Q", end.getsockopt(socket.SOL_SOCKET, SO_COOKIE, 8))[0]
