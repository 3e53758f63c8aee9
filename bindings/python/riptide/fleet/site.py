# SPDX-License-Identifier: MIT
"""The sums of a site, in a Valkey or Redis that the user runs (6.2 or later, alone or a cluster).

A prefix is one key, a hash:

    riptide:{SITE:PREFIX}    sums       {"at":MS,"sums":{NAME:SUM,..},"half_life":MS}    of all hosts
                             host:ID    {"at":MS,"sums":{..},"seq":SEQUENCE}             of that host only

The braces are a cluster's hash tag: each command uses only one key. A script adds, so that fading
(by the server's clock), the sums of all hosts, the host's own sums and its sequence number change
together, also on replicas, which get what the script wrote. The same sequence number again changes
nothing: after a lost answer the host repeats its request.

The server keeps what each host has added, so that the host can subtract it from the sums of all. A
ledger on the host would have to be written to disk before each answer, and would be wrong after a
restart of either side. On the server both are of the same moment, even on a replica that lags, or a
server that begins empty. It costs a set of sums for each host that uses a prefix; a set that has
faded (sums.HALVES_KEPT) is removed when another host comes to that prefix.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import hmac
import json
import re
import ssl
from collections import deque
from typing import Any, Iterable, Mapping

import redis.asyncio
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.crc import key_slot
from redis.exceptions import (AuthenticationError, BusyLoadingError, NoPermissionError, NoScriptError,
                              ReadOnlyError, RedisError, ResponseError)

from . import sums

MAX_SEQUENCE = 10 ** 14 - 1  # the server's JSON keeps 14 digits
AHEAD_MS = 10 ** 13  # of the server's clock: no host's sequence
MOST, LEAST = 1000, 16  # commands at a time: fewer after a failure, so that each exchange does some
ATTEMPTS = 5  # for another node, for its script, and again while slots move
CLOSING_S = 0.1
# No more than a host and a port, as redis-py takes options from a URL: of TLS, of files.
MOVED = re.compile(r"MOVED (\d{1,5}) ([\w.:-]+):(\d{1,5})", re.ASCII)

# Writes come last, as a full server refuses only the first command. Where `sums` or the host's own
# part are damaged the key begins anew, as parts of others would no longer be parts of `sums`.
ADD = """
local host, sequence, half_life, keep = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local time, added = redis.call('TIME'), cjson.decode(ARGV[5])
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local none = {at = now, sums = {}}

local function is_right(number)
  return type(number) == 'number' and math.abs(number) <= 1e30
end

local function read(text)
  local held, n = cjson.decode(text), 0
  for name, sum in pairs(held.sums) do
    n = n + 1
    assert(n <= 4096 and #name <= 32 and name:find('^[!-~]+$') and is_right(sum))
  end
  assert(is_right(held.at) and is_right(held.seq or 0) and is_right(held.half_life or 0))
  assert((held.seq or 0) < now + 1e13)
  return held
end

local function held_of(text)
  if not text then return none end
  local is_whole, held = pcall(read, text)
  return is_whole and held
end

local function write(held)
  return held ~= none and cjson.encode({at = held.at, sums = held.sums, seq = held.seq, half_life = held.half_life})
end

local function add(held, seq, half)
  local factor, sums = 0.5 ^ (math.max(0, now - held.at) / half_life), {}
  for name, sum in pairs(held.sums) do sums[name] = sum * factor end
  for name, sum in pairs(added) do sums[name] = (sums[name] or 0) + sum end
  return write({at = now, sums = sums, seq = seq, half_life = half})
end

local had = redis.call('HMGET', KEYS[1], 'sums', host)
local site, own = held_of(had[1]), held_of(had[2])
if not site or not own or site == none and own ~= none then
  redis.call('PEXPIRE', KEYS[1], 0)
  site, own = none, none
end
if (own.seq or 0) >= sequence or (site.half_life or half_life) ~= half_life then
  return {write(site), write(own)}
end
local has = {add(site, nil, half_life), add(own, sequence)}
redis.call('HSET', KEYS[1], 'sums', has[1], host, has[2])
redis.call('PEXPIRE', KEYS[1], keep)
if own == none then
  local some = redis.call('HRANDFIELD', KEYS[1], 4, 'WITHVALUES')
  for i = 1, #some, 2 do
    local other = held_of(some[i + 1])
    if some[i] ~= 'sums' and (not other or now - other.at > keep) then
      redis.call('HDEL', KEYS[1], some[i])
    end
  end
end
return has
"""
SHA = hashlib.sha1(ADD.encode()).hexdigest()


class SiteError(Exception):
    """The engine could not be used, or not for all prefixes: one line, with the remedy. The sums may
    have been added or not: the same sums with the same sequence number are added only once.
    """


class Site:
    """The sums of one site, for one host. Use it in one thread, without a running event loop.

    `url` is redis://HOST:PORT/DB, rediss:// with TLS, or unix:///PATH; after a failure the next of
    several, separated by blanks, is used. Any node of a cluster will do. The password is in the URL
    or `password`, with `username`; `tls_ca` is a file of authorities besides the system's. `site`
    and `host` are names without braces; `host` is unique and stays the same after restarts. With
    `key`, the same on all hosts of the site, prefixes leave the host only as HMAC-SHA256 with it.
    `half_life_s` must be that of all hosts. No call takes longer than `timeout_s` plus CLOSING_S.
    """

    def __init__(self, url: str, site: str, host: str, *, half_life_s: float = 86400,
                 timeout_s: float = 2, username: str | None = None, password: str | None = None,
                 tls_ca: str | None = None, key: bytes | None = None) -> None:
        for what, name in ("site", site), ("host", host):
            if not 0 < len(name) <= 64 or set(name) & set("{}") or not name.isprintable():
                raise ValueError(f"{what}: no name of 1 to 64 characters without braces: {name!r:.80}")
        if not half_life_s >= 1 or not timeout_s > 0:
            raise ValueError("half_life_s: at least 1; timeout_s: above 0")
        self._urls = url.split()
        if not self._urls or not all(one.startswith(("redis://", "rediss://", "unix://"))
                                     for one in self._urls):
            raise ValueError("url: must begin with redis://, rediss:// or unix://")
        self._site, self._field, self._half_life_s = site, f"host:{host}", half_life_s
        self._timeout_s, self._key = timeout_s, key
        login = {"username": username, "password": password}
        self._options: dict[str, Any] = {name: value for name, value in login.items() if value}
        self._tls: dict[str, Any] = {"ssl_ca_certs": tls_ca, "ssl_check_hostname": True}
        self._slots: dict[int, str] = {}  # of a cluster: the node of each slot, as far as known
        self._nodes: dict[str, redis.asyncio.Redis[Any]] = {}
        self._loop = asyncio.new_event_loop()
        self._batch = MOST
        # Of the prefixes that the last exchange has read, even if it failed later: others' sums, and
        # the engine's sums of this host, where it has added the batch, or knew a later one.
        self.found: dict[str, dict[str, float]] = {}
        self.own: dict[str, sums.Sums] = {}
        self.sequence = 0  # the highest of this host that the engine has shown
        self._sent: deque[int] = deque(maxlen=100)  # sequences
        self.is_shared = False  # whether somebody else has added under this host's name meanwhile
        self._errors: dict[str, Exception] = {}

    def exchange(self, added: Mapping[str, sums.Sums], wanted: Iterable[str],
                 sequence: int) -> dict[str, dict[str, float]]:
        """Adds sums by prefix, and returns other hosts' sums for these prefixes and for `wanted`.

        Prefixes that no other host knows are missing. `sequence` must exceed those of this host's
        earlier batches, and `self.sequence`; the same batch again has the same one (sums.Outbox).
        Errors: SiteError: repeat later all prefixes that are not in `own`; ValueError: nothing was sent.
        """
        self.own, self.found, self._errors = {}, {}, {}
        if added:
            self._sent.append(sequence)
        if not 0 < sequence <= MAX_SEQUENCE and added:
            raise ValueError(f"sequence: 1 to {MAX_SEQUENCE}, a time in ms say: {sequence}")
        for one in added.values():
            sums.check(one)
        commands = {prefix: self._command(prefix, added.get(prefix), sequence)
                    for prefix in dict.fromkeys([*added, *wanted])}
        work = asyncio.wait_for(self._exchange(commands), self._timeout_s)
        try:
            self._loop.run_until_complete(work)
            for answer in self._errors.values():
                if not str(answer).startswith(OF_KEY):
                    raise answer
        except Exception as failure:  # redis-py raises any on an answer that is not Redis's
            self._batch = max(self._batch // 2, LEAST)
            self._disconnect()
            where = self._where()
            self._urls = [*self._urls[1:], self._urls[0]]
            raise SiteError(f"{where}: {self._explain(failure)}") from failure
        except BaseException:  # a late answer must not be read as the answer to another request
            self._disconnect()
            raise
        self._batch = min(2 * self._batch, MOST)
        for prefix, answer in self._errors.items():
            raise SiteError(f"{self._where()}: {self.key_of(prefix)}: {self._explain(answer)}") from answer
        return {prefix: one for prefix, one in self.found.items() if one}

    def close(self) -> None:
        """Ends its connections. The object cannot be used after that."""
        if not self._loop.is_closed():
            self._disconnect()
            self._loop.close()

    def __enter__(self) -> Site:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def key_of(self, prefix: str) -> str:
        """The engine's key for a prefix."""
        if not 0 < len(prefix) <= 128 or set(prefix) & set("{}"):
            raise ValueError(f"prefix: none of 1 to 128 characters without braces: {prefix!r:.80}")
        name = hmac.new(self._key, prefix.encode(), "sha256").hexdigest()[:32] if self._key else prefix
        return f"riptide:{{{self._site}:{name}}}"

    def _command(self, prefix: str, added: sums.Sums | None, sequence: int) -> tuple[Any, ...]:
        key, half_life_ms = self.key_of(prefix), round(1000 * self._half_life_s)
        if not added:
            return "HMGET", key, "sums", self._field
        return ("EVALSHA", SHA, 1, key, self._field, sequence, half_life_ms,
                sums.HALVES_KEPT * half_life_ms, json.dumps(dict(added)))

    async def _exchange(self, commands: dict[str, tuple[Any, ...]]) -> None:
        failure: Exception | None = None
        for _ in range(ATTEMPTS):
            by_node: dict[str, list[str]] = {} if commands else {self._urls[0]: []}  # whether it answers
            for prefix in commands:
                slot = key_slot(self.key_of(prefix).encode()) if self._slots else 0
                by_node.setdefault(self._slots.get(slot, self._urls[0]), []).append(prefix)
            answers = await asyncio.gather(*(self._ask(node, prefixes, commands) for node, prefixes
                                             in by_node.items()), return_exceptions=True)
            for node_failure in answers:
                if isinstance(node_failure, BaseException):
                    raise node_failure
            left = {}
            for prefix, answer in (one for node in answers for one in node):
                if isinstance(answer, NoScriptError) or self._is_moved(answer):
                    left[prefix], failure = commands[prefix], answer
                    continue
                self._errors[prefix] = answer
                if commands[prefix][0] == "EVALSHA":  # a full server, or a replica, can still be read
                    left[prefix] = self._command(prefix, None, 0)
            commands = left
            if not commands:
                return
        raise failure or RedisError("no answer")

    async def _ask(self, node: str, prefixes: list[str],
                   commands: dict[str, tuple[Any, ...]]) -> list[tuple[str, Exception]]:
        """Sends commands to a node and takes the answers; returns errors with their prefixes."""
        client, errors = self._node(node), []
        for at in range(0, len(prefixes) or 1, self._batch):
            some = prefixes[at:at + self._batch]
            pipeline = client.pipeline(transaction=False)
            pipeline.execute_command("TIME")
            for prefix in some:
                pipeline.execute_command(*commands[prefix])
            now, *rest = await pipeline.execute(raise_on_error=False)
            if isinstance(now, Exception):
                raise now
            for prefix, answer in zip(some, rest):
                if isinstance(answer, Exception):
                    errors.append((prefix, answer))
                else:
                    self._take(prefix, answer, 1000 * now[0] + now[1] / 1000, commands[prefix][5:6])
            if any(isinstance(answer, NoScriptError) for answer in rest):
                await client.script_load(ADD)
        return errors

    def _take(self, prefix: str, answer: list[bytes | None], now_ms: float, sequence: tuple[int, ...]) -> None:
        """`sequence`: of the batch that this is the answer to; empty: it was only read."""
        site, own = map(sums.read, answer)
        if ([site is None, own is None] != [text is None for text in answer] or own and not site
                or own and own.sequence >= now_ms + AHEAD_MS):
            self._errors[prefix] = ResponseError("DAMAGED")
        elif site and site.half_life_ms not in (0, round(1000 * self._half_life_s)):
            self._errors[prefix] = ResponseError(f"HALFLIFE: {site.half_life_ms / 1000:g} s")
        else:
            self.found[prefix] = sums.others(site, own, now_ms, self._half_life_s)
            if prefix not in self._errors:
                self.own[prefix] = sums.fade(own, now_ms, self._half_life_s) if own else {}
            if own:
                self.sequence = max(self.sequence, int(own.sequence))
                self.is_shared |= bool(self._sent) and own.sequence > self._sent[0] and own.sequence not in self._sent
                if sequence and own.sequence > sequence[0]:
                    self._errors[prefix] = ResponseError("SEQUENCE")

    def _node(self, url: str) -> redis.asyncio.Redis[Any]:
        if url not in self._nodes:
            options = {**self._options, **(self._tls if url.startswith("rediss:") else {})}
            retry = Retry(NoBackoff(), 1)  # once, as a restart of the server ends connections
            self._nodes[url] = redis.asyncio.Redis.from_url(url, retry=retry, **options)
        return self._nodes[url]

    def _is_moved(self, answer: Any) -> bool:
        """Whether another cluster node has the key; notes which. redis-py 4 has no class for it."""
        words = str(answer).split() if isinstance(answer, RedisError) else []
        if type(answer).__name__ == "MovedError":
            words = ["MOVED", *words[-2:]]
        moved = MOVED.fullmatch(" ".join(words))
        if not moved:
            return False
        scheme, _, rest = self._urls[0].partition("://")
        login = rest.rpartition("@")[0]
        slot, host, port = moved.groups()
        host = f"[{host}]" if ":" in host else host
        self._slots[int(slot)] = f"{scheme}://{login}{'@' if login else ''}{host}:{port}"
        return True

    def _disconnect(self) -> None:
        """Ends all connections, and forgets the nodes of slots, which may have moved."""
        nodes, self._nodes, self._slots = self._nodes, {}, {}

        async def disconnect() -> None:
            closing = (node.connection_pool.disconnect() for node in nodes.values())
            with contextlib.suppress(asyncio.TimeoutError):
                await asyncio.wait_for(asyncio.gather(*closing, return_exceptions=True), CLOSING_S)

        self._loop.run_until_complete(disconnect())

    def _where(self) -> str:
        return self._urls[0].rpartition("@")[2].partition("?")[0].split("://")[-1]

    def _explain(self, failure: BaseException) -> str:
        """The remedy for a failure, from all its causes, as redis-py's own text omits details."""
        causes: list[BaseException] = []
        at: BaseException | None = failure
        while at:
            causes.append(at)
            at = at.__cause__ or at.__context__
        for kind, words, line in LINES:
            for one in causes:
                if isinstance(one, kind) and words in str(one):
                    return line.format(said=one, timeout_s=self._timeout_s)
        if isinstance(causes[-1], RedisError):
            return f"the server says {failure}: see its log"
        return f"{causes[-1]!r}: is the URL right, and is this a Valkey or Redis?"


OF_KEY = "SEQUENCE", "HALFLIFE", "DAMAGED", "WRONGTYPE"  # errors of one key
CLOSED = "the server closed the connection: is it going down, or does it want TLS (rediss://)?"
UNREACHABLE = "the server is not reachable: does it run, and may this host connect? ({said})"
RIGHTS = ("the user lacks rights on the server: allow it ~riptide:* +time +hmget +evalsha +script|load +hset +hdel"
          " +hrandfield +pexpire ({said})")
REFUSED = "the server refuses the password: compare it with requirepass or the ACL there"
# Known failures: class, part of the server's text, and line. The first one that matches counts.
LINES: list[tuple[Any, str, str]] = [
    (asyncio.TimeoutError, "", "no answer within {timeout_s:g} s: is the server busy or far away, does"
     " its name resolve, and is there TLS where the URL says so?"),
    (ssl.SSLCertVerificationError, "", "the server's certificate is not trusted: name its authority with"
     " tls-ca ({said})"),
    (ssl.SSLError, "", "TLS with the server failed: if it has none, use redis:// ({said})"),
    (BusyLoadingError, "", "the server is loading its data: wait"),
    (ReadOnlyError, "", "the server is a replica and accepts no writes: name the primary"),
    (AuthenticationError, "", REFUSED),
    (RedisError, "WRONGPASS", REFUSED),
    (NoPermissionError, "", RIGHTS),
    (RedisError, "can't run this command", RIGHTS),  # within the script
    (RedisError, "BUSY ", "the server runs somebody's long script: wait, or end it by SCRIPT KILL"),
    (RedisError, "used memory", "the server is full: raise its maxmemory, or shorten the half-life"),
    (RedisError, "MISCONF", "the server cannot save to its disk, and accepts no writes: see its log"),
    (RedisError, "CLUSTERDOWN", "no node has some of the slots: run redis-cli --cluster check"),
    (RedisError, "SEQUENCE", "the server knows a later batch of this host, which goes on from there: if"
     " this comes again, another host has the same name: set host ="),
    (RedisError, "HALFLIFE", "its sums fade with another half-life ({said}): set the same on all hosts; for"
     " a new one take another site's name, or delete the key"),
    (RedisError, "DAMAGED", "not sums of riptide-fleet: it begins anew with the next addition; or delete it"),
    (RedisError, "WRONGTYPE", "not a key of riptide-fleet: delete it, or take another site's name or DB"),
    (ConnectionResetError, "", CLOSED),
    (RedisError, "closed", CLOSED),
    (OSError, "", UNREACHABLE),
    (RedisError, "connecting to", UNREACHABLE),
]
