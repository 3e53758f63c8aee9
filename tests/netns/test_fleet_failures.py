# SPDX-License-Identifier: MIT
"""What a site's host does and says when its Valkey or Redis fails: all continues, and nothing is lost."""

import contextlib
import re
import socket
import ssl
import subprocess
import threading
import time

import engine
import pytest
from engine import needs_engine
from test_fleet_engine import PREFIX, Host, about, key_of, pair, proxy, start  # noqa: F401
from waiting import wait_until

pytestmark = needs_engine


def test_fleet_unreachable(start):
    server = start()
    server.stop()
    with pair(server.url) as (one, two):
        one.learn(3)
        assert one.line().startswith("the server is not reachable: does it run, ")
        one.learn(4)
        assert one.line().startswith("the server is not reachable")
        server.start()
        one.exchange()
        one.exchange()
        assert two.others() == about(7)


def test_fleet_a_unix_socket_that_is_closed_before_the_answer(tmp_path):
    with socket.socket(socket.AF_UNIX) as server, Host(f"unix://{tmp_path}/socket", "one") as one:
        server.bind(f"{tmp_path}/socket")
        server.listen()

        def close():
            for _ in range(2):
                near = server.accept()[0]
                near.recv(1)
                near.close()
        threading.Thread(target=close, daemon=True).start()  # one or two attempts
        with pytest.raises(engine.site.SiteError, match="the server closed the connection"):
            one.exchange()


def test_fleet_another_server_where_one_is_not_reachable(start):
    live, dead = start(), start("dead")
    dead.stop()
    with Host(f"{dead.url} {live.url}", "one") as one, Host(live.url, "two") as two:
        one.learn(3)
        assert one.line().startswith("the server is not reachable")
        one.exchange()
        assert two.others() == about(3)


def test_fleet_slow(start, proxy):
    behind = proxy(start().port)
    with pair(behind.url, timeout_s=1) as (one, two):
        one.learn(3)
        one.exchange()
        behind.going.clear()
        one.learn(4)
        begin = time.monotonic()
        assert one.line().startswith("no answer within 1 s: is the server busy or far away, does its name resolve,")
        assert time.monotonic() - begin < 1.1 + 1  # the second is for a busy machine
        behind.going.set()
        one.exchange()
        assert two.others() == about(7)


def test_fleet_an_answer_that_comes_too_late_is_not_that_to_the_next_question(start, proxy):
    is_held, is_asked_again, questions = threading.Event(), threading.Event(), []

    def lose(what):
        if is_held.is_set() and what == "question":
            questions.append(what)
            if len(questions) == 2:
                is_asked_again.set()
        elif is_held.is_set():
            is_asked_again.wait()
        return False

    server = start()
    with Host(proxy(server.port, lose).url, "one", timeout_s=1) as one, Host(server.url, "two") as two:
        two.learn(3)
        two.learn(5, "198.51.100.0/24")
        two.exchange()
        one.exchange()
        is_held.set()
        one.line()
        assert one.others("198.51.100.0/24") == about(5)


def test_fleet_an_answer_that_trickles_is_bounded_as_well(start, proxy):
    server = start()
    behind = proxy(server.port, lambda what: what == "answer" and bool(time.sleep(0.2)))
    with Host(behind.url, "one", timeout_s=1) as one:
        for i in range(2000):
            one.learn(prefix=f"192.0.2.{i}")
        begin = time.monotonic()
        assert one.line().startswith("no answer within 1 s")
        assert time.monotonic() - begin < 1.1 + 1


def test_fleet_what_takes_longer_than_an_exchange_may_gets_there_in_several(start, proxy):
    server, n = start(), 3000
    behind = proxy(server.port, lambda what: what == "question" and bool(time.sleep(0.05)))
    with Host(behind.url, "one", timeout_s=1) as one:
        for i in range(n):
            one.learn(prefix=f"192.0.2.{i}")
        assert one.line().startswith("no answer within 1 s")
        for _ in range(50):
            with contextlib.suppress(engine.site.SiteError):
                one.exchange(())
        assert not len(one.outbox)
    with Host(server.url, "two") as two:
        assert two.exchange([f"192.0.2.{i}" for i in range(n)]) == {f"192.0.2.{i}": {"n": about(1)} for i in range(n)}


def test_fleet_full(start):
    server = start("engine", "--maxmemory-policy", "noeviction")
    with pair(server.url) as (one, two):
        one.learn(3)
        one.exchange()
        server.client.config_set("maxmemory", 1)
        one.learn(4)
        assert one.line() == "the server is full: raise its maxmemory, or shorten the half-life"
        assert one.site.found == {PREFIX: {}} and not one.site.own
        assert two.others() == about(3)  # reading still works
        server.client.config_set("maxmemory", 0)
        one.exchange()
        assert two.others() == about(7) and one.others() == 0


def test_fleet_busy_with_a_script(start):
    server = start("engine", "--lua-time-limit", "100")
    with pair(server.url) as (one, two), engine.redis.Redis(unix_socket_path=str(server.socket)) as killer:
        one.learn(3)
        one.exchange()

        def run():
            with contextlib.suppress(engine.redis.exceptions.ResponseError):
                server.client.eval("while true do end", 0)
        script = threading.Thread(target=run)
        script.start()
        time.sleep(0.5)
        one.learn(4)
        assert one.line() == "the server runs somebody's long script: wait, or end it by SCRIPT KILL"
        killer.script_kill()
        script.join()
        one.exchange()
        assert two.others() == about(7)


@contextlib.contextmanager
def serving(talk):
    """A server that talks on one connection after the other; gives its port."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        def serve():
            with contextlib.suppress(OSError):
                while True:
                    near = server.accept()[0]
                    with contextlib.suppress(OSError):
                        talk(near)
        threading.Thread(target=serve, daemon=True).start()
        yield server.getsockname()[1]
        server.shutdown(socket.SHUT_RDWR)


@pytest.mark.parametrize("answer", [b":1\r\n", b"*-1\r\n", b"*1\r\n" * 100_000, b"*2\r\n$1\r\n1\r\n$1\r\n1\r\n:1\r\n", b"-ERR \xff\r\n",
                                    b"HTTP/1.1 400 Bad Request\r\n\r\n"])
def test_fleet_answers_of_something_else(answer):
    def talk(near):
        while near.recv(1 << 16):
            near.sendall(answer * 4)
    with serving(talk) as port, Host(f"redis://127.0.0.1:{port}", "one", timeout_s=1) as one:
        one.learn()
        one.line()
        one.line()
        assert len(one.outbox) == 1 and not one.site.own


@contextlib.contextmanager
def moved(target, tls=None):
    """A server whose keys are all at the target; gives its port."""
    line = f"-MOVED {engine.site.key_slot(f'{{pop:{PREFIX}}}'.encode())} {target}\r\n".encode()
    answers = {b"TIME": b"*2\r\n$1\r\n1\r\n$1\r\n1\r\n", b"CLIENT": b"+OK\r\n"}

    def talk(near):
        near = tls.wrap_socket(near, server_side=True) if tls else near
        for command in iter(lambda: near.recv(1 << 16), b""):
            for word in re.findall(rb"\*\d+\r\n\$\d+\r\n(\w+)", command):
                near.sendall(answers.get(word, line))
    with serving(talk) as port:
        yield port


@pytest.mark.parametrize("target", ["127.0.0.1/0?db=", "127.0.0.1/0?ssl_cert_reqs=none&db=", "me:word@127.0.0.1", "127.0.0.1#"])
def test_fleet_a_node_of_a_cluster_is_a_host_and_a_port_without_options(target):
    with moved(f"{target}:1") as port, Host(f"redis://127.0.0.1:{port}", "one") as one:
        assert one.line().startswith("the server says MOVED")


def test_fleet_a_url_that_the_client_refuses():
    for words in "ssl_cert_reqs=none", "foo=bar":
        with Host(f"rediss://localhost:1?{words}", "one") as one:
            line = one.line()
            assert "is the URL right" in line and "the server says" not in line, line


def test_fleet_what_is_wrong_before_it_is_sent_confirms_nothing(start):
    with Host(start().url, "one") as one:
        one.learn()
        one.exchange()
        assert one.site.own
        with pytest.raises(ValueError):
            one.site.exchange({PREFIX: {"n": 1.0}}, (), 0)
        assert not one.site.own


def test_fleet_restarted_empty(start):
    server = start()
    with pair(server.url) as (one, two):
        one.learn(3)
        one.exchange()
        server.stop()
        server.start()
        one.learn(4)
        assert one.others() == 0
        assert two.others() == about(4)


def test_fleet_a_replica_takes_nothing_and_with_old_data_it_is_consistent(start):
    primary = start("primary")
    replica = start("replica", "--replicaof", f"127.0.0.1 {primary.port}")
    with pair(primary.url) as (one, two):
        one.learn(3)
        one.exchange()
        two.learn(5)
        two.exchange()
        with Host(replica.url, "one") as late:
            wait_until(lambda: late.others() == about(5), "replication")
            late.learn(2)
            assert late.line() == "the server is a replica and accepts no writes: name the primary"
            replica.client.replicaof("no", "one")  # a batch behind the primary
            one.learn(100)
            one.exchange()
            assert late.others() == about(5)
            with Host(replica.url, "two") as other:
                assert other.others() == about(5)  # 3 and the 2 that waited


@pytest.mark.parametrize("options, given", [
    (("--requirepass", "right"), {}), (("--requirepass", "right"), {"password": "wrong"}),
    (("--user", *"me on >right ~* +@all".split()), {"username": "me", "password": "wrong"})])
def test_fleet_wrong_password(start, options, given):
    server = start("engine", *options)
    with Host(server.url, "one", **given) as one:
        one.learn()
        assert one.line() == "the server refuses the password: compare it with requirepass or the ACL there"
        user = {name: value for name, value in given.items() if name == "username"}
        with Host(server.url, "one", password="right", **user) as right:
            right.outbox = one.outbox
            right.exchange()
            assert right.others() == 0 and not len(right.outbox)


def test_fleet_needs_no_more_than_it_says(start):
    allowed = engine.site.RIGHTS.partition("allow it ")[2].partition(" (")[0]
    server = start("engine", "--user", *f"fleet on >word resetchannels {allowed}".split(),
                   "--user", *"other on >word ~other:* +@all".split())
    with Host(server.url, "one", username="fleet", password="word") as one:
        one.learn(3)
        assert one.others() == 0
        with Host(server.url, "two", username="fleet", password="word") as two:
            assert two.others() == about(3)
        with pytest.raises(Exception, match="permission"):
            engine.redis.Redis(port=server.port, username="fleet", password="word").flushall()
    with Host(server.url, "one", username="other", password="word") as one:
        one.learn()
        assert one.line().startswith("the user lacks rights on the server: allow it ~riptide:*")
    server.client.hset(engine.site.Site.key_of(one.site, PREFIX), "host:old", "{")
    for right in allowed.split()[1:]:
        server.client.acl_setuser("fleet", enabled=True, nopass=True, reset=True, keys=["riptide:*"],
                                  commands=[one for one in allowed.split()[1:] if one != right])
        server.client.script_flush()
        with Host(server.url, f"without {right}", username="fleet", password="word") as one:
            one.learn()
            if right == "+hmget":  # the script's right as well
                assert "lacks rights" in one.line()
            assert one.line().startswith("the user lacks rights on the server: allow it ~riptide:*"), right


@pytest.fixture
def certificates(tmp_path):
    """Self-signed certificates, for localhost and for another name."""
    for name in "localhost", "elsewhere":
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                        "-days", "2", "-subj", f"/CN={name}", "-addext", f"subjectAltName=DNS:{name}",
                        "-keyout", tmp_path / f"{name}.key", "-out", tmp_path / f"{name}.crt"],
                       check=True, stderr=subprocess.DEVNULL)
    return tmp_path


@pytest.fixture
def with_certificate(start, certificates):
    """A function that starts a server with the certificate for a name."""
    return lambda name: start(name, "--tls-cert-file", certificates / f"{name}.crt", "--tls-key-file", certificates / f"{name}.key",
                              "--tls-auth-clients", "no", tls=True)


def test_fleet_a_node_of_a_cluster_needs_a_certificate_for_its_name(with_certificate, certificates):
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(certificates / "localhost.crt", certificates / "localhost.key")
    both = certificates / "both.crt"
    both.write_text("".join((certificates / f"{name}.crt").read_text() for name in ("localhost", "elsewhere")))
    for name in "localhost", "elsewhere":
        with moved(f"localhost:{with_certificate(name).port}", tls) as port, \
                Host(f"rediss://localhost:{port}", name, tls_ca=str(both)) as one:
            one.learn(3)
            if name == "localhost":
                assert one.others() == 0 and not len(one.outbox)
            else:
                line = one.line()
                assert line.startswith("the server's certificate is not trusted") and "localhost" in line


def test_fleet_tls(start, with_certificate, certificates):
    server, authority = with_certificate("localhost"), str(certificates / "localhost.crt")
    with Host(server.url, "one", tls_ca=authority) as one, Host(server.url, "two") as two:
        one.learn(3)
        one.exchange()
        assert two.line().startswith("the server's certificate is not trusted: name its authority with tls-ca")
    with Host(server.url, "two", tls_ca=authority) as two:
        assert two.others() == about(3)
    elsewhere = with_certificate("elsewhere")
    with Host(elsewhere.url, "one", tls_ca=str(certificates / "elsewhere.crt")) as one:
        line = one.line()
        assert line.startswith("the server's certificate is not trusted") and "localhost" in line
    with Host(server.url.replace("rediss", "redis"), "one") as one:
        assert "does it want TLS (rediss://)?" in one.line()
    with Host(start("plain").url.replace("redis", "rediss"), "one", timeout_s=1) as one:
        line = one.line()  # Redis waits for the rest of a supposed command, Valkey answers
        assert line.startswith("TLS with the server failed") or line.startswith("no answer within 1 s") and "TLS where the URL says so" in line


def test_fleet_a_key_of_somebody_else_is_left(start):
    server = start()
    with Host(server.url, "one") as one:
        server.client.set(one.site.key_of(PREFIX), "mine")
        one.learn()
        assert one.line().startswith(f"{one.site.key_of(PREFIX)}: not a key of riptide-fleet: delete it, or take another site's name")
        assert server.client.get(one.site.key_of(PREFIX)) == b"mine"


def test_fleet_passwords_are_not_in_lines(start):
    server = start("engine", "--requirepass", "right")
    with Host(f"redis://:secret@localhost:{server.port}/0?client_name=me", "one") as one:
        assert "secret" not in one.line()


@pytest.mark.parametrize("given", [{"url": "http://localhost"}, {"url": ""}, {"site": "a{b"}, {"site": ""}, {"host": "x" * 65},
                                   {"half_life_s": 0}, {"timeout_s": 0}])
def test_fleet_what_a_site_cannot_be(given):
    with pytest.raises(ValueError):
        engine.site.Site(**{"url": "redis://localhost", "site": "pop", "host": "one", **given})
