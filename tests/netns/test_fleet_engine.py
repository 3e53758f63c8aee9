# SPDX-License-Identifier: MIT
"""Sums of a site in a real Valkey or Redis: whatever is lost, nothing counts twice, nor not at all."""

import contextlib
import os
import random
import subprocess
import sys
import threading
import time

import pytest
from netns import REPOSITORY
from waiting import wait_until

sys.path.insert(0, str(REPOSITORY / "bindings/python/riptide"))  # the package's C is of no use here
from fleet import sums  # noqa: E402
import engine  # noqa: E402
from engine import HALF_LIFE_S, Engine, Proxy, needs_engine  # noqa: E402

pytestmark = needs_engine
PREFIX = "192.0.2.0/24"
SEED = int(os.environ.get("SEED", random.SystemRandom().randrange(10 ** 6)))


@pytest.fixture
def start(tmp_path):
    """A function that starts a server, with options of its own."""
    with contextlib.ExitStack() as stack:
        def started(name="engine", *options, **more):
            one = Engine(tmp_path / name, *options, **more)
            stack.callback(one.stop)
            return one
        yield started


@pytest.fixture
def proxy():
    """A function that puts a network before a port."""
    with contextlib.ExitStack() as stack:
        def made(*arguments):
            one = Proxy(*arguments)
            stack.callback(one.close)
            return one
        yield made


class Host:
    """One with a Site and an Outbox, as riptide-fleet has them."""

    def __init__(self, url, name, site="pop", **options):
        self.site = engine.site.Site(url, site, name, **{"half_life_s": HALF_LIFE_S, "timeout_s": 10, **options})
        self.outbox = sums.Outbox()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.site.close()

    def learn(self, n=1.0, prefix=PREFIX):
        self.outbox.put(prefix, {"n": n})

    def exchange(self, wanted=(PREFIX,)):
        sequence, batch = self.outbox.batch(time.time_ns() // 1_000_000)
        others = self.site.exchange(batch, wanted, sequence)
        self.outbox.confirm()
        return others

    def others(self, prefix=PREFIX):
        return self.exchange([prefix]).get(prefix, {}).get("n", 0)

    def line(self):
        """What an exchange that fails says."""
        with pytest.raises(engine.site.SiteError) as failed:
            self.exchange()
        line = str(failed.value)
        print(line)
        assert "\n" not in line and line.startswith(("localhost:", "127.0.0.1:"))
        return line.partition(": ")[2]


def about(value):
    return pytest.approx(value, rel=1e-6)


@contextlib.contextmanager
def pair(url, **options):
    with Host(url, "one", **options) as one, Host(url, "two", **options) as two:
        yield one, two


# Whatever the order

def random_steps(host, chance, prefixes, n_steps):
    """Learns and exchanges by chance, until the engine has all of it: {prefix: {name: the sum}}."""
    learned = {}
    for _ in range(n_steps):
        for prefix in chance.sample(prefixes, chance.randrange(4)):
            one = {name: chance.uniform(-10, 100) for name in chance.sample(("n", "cost", "again", "r3"), 2)}
            host.outbox.put(prefix, one)
            learned[prefix] = sums.add(learned.get(prefix, {}), one)
        with contextlib.suppress(engine.site.SiteError):
            host.exchange(chance.sample(prefixes, 3))
    for _ in range(200):
        with contextlib.suppress(engine.site.SiteError):
            if not len(host.outbox):
                return learned
            host.exchange(())
    raise AssertionError("never confirmed")


def interleave(urls, prefixes):
    """Hosts beside each other; then what each sees of the others is what a plain model says."""
    hosts = [Host(url, f"host{i}") for i, url in enumerate(urls)]
    learned = [None] * len(hosts)

    def run(i):
        learned[i] = random_steps(hosts[i], random.Random(SEED + i), prefixes, 100)

    threads = [threading.Thread(target=run, args=(i,)) for i in range(len(hosts))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert None not in learned
    return hosts, learned


def check_model(hosts, learned, prefixes):
    for i, host in enumerate(hosts):
        seen = None
        while seen is None:
            with contextlib.suppress(engine.site.SiteError):
                seen = host.exchange(prefixes)
        for prefix in prefixes:
            expected = {}
            for j, one in enumerate(learned):
                if j != i:
                    expected = sums.add(expected, one.get(prefix, {}))
            assert seen.get(prefix, {}) == pytest.approx(expected, rel=1e-6, abs=1e-6), (prefix, i)
        host.site.close()


def loser():
    """Ends one of six connections with a question that is lost, or an answer."""
    chance, lock, count = random.Random(SEED), threading.Lock(), {"question": 0, "answer": 0}

    def lose(what):
        with lock:
            is_lost = chance.random() < 0.08
            count[what] += is_lost
        return is_lost
    return lose, count


def test_fleet_any_order_of_hosts_and_losses_gives_the_same_sums(start, proxy):
    print("SEED", SEED)
    lose, count = loser()
    behind = proxy(start().port, lose)
    prefixes = [f"192.0.2.{i}" for i in range(12)]
    hosts, learned = interleave([behind.url] * 6, prefixes)
    assert count["question"] > 5 and count["answer"] > 5
    check_model(hosts, learned, prefixes)


def test_fleet_the_same_on_a_cluster(tmp_path, proxy):
    print("SEED", SEED)
    lose, count = loser()
    proxies = []

    def announced(port):
        proxies.append(proxy(port, lose))
        return proxies[-1].port

    prefixes = [f"192.0.2.{i}" for i in range(12)]
    with engine.cluster(tmp_path / "cluster", announced) as nodes:
        hosts, learned = interleave([one.url for one in proxies] * 2, prefixes)
        assert count["question"] > 5 and count["answer"] > 5
        check_model(hosts, learned, prefixes)
        assert all(node.client.dbsize() > 0 for node in nodes)


def test_fleet_a_cluster_without_one_of_its_nodes(tmp_path):
    prefixes = [f"192.0.2.{i}" for i in range(12)]
    with engine.cluster(tmp_path / "cluster") as nodes, Host(" ".join(node.url for node in nodes), "one") as one, \
            Host(nodes[2].url, "two") as two:
        one.exchange(prefixes)
        nodes[0].stop()
        for prefix in prefixes:
            one.learn(3, prefix)
        assert one.line().startswith(("not reachable", "nobody has some of the slots", "it closed"))
        nodes[0].start()
        wait_until(lambda: all(node.client.execute_command("CLUSTER INFO")["cluster_state"] == "ok" for node in nodes),
                   "the cluster")
        for _ in nodes:  # to each in turn, where one fails
            with contextlib.suppress(engine.site.SiteError):
                one.exchange()
        assert not len(one.outbox)
        assert {prefix: seen["n"] for prefix, seen in two.exchange(prefixes).items()} == dict.fromkeys(prefixes, about(3))


def test_fleet_what_is_old_has_faded_alike_for_all(start):
    """Hosts that write early and late, often and seldom; between what was possible at the first and the last moment."""
    print("SEED", SEED)
    url, half_life_s, chance = start().url, 2, random.Random(SEED)
    with contextlib.ExitStack() as stack:
        hosts = [stack.enter_context(Host(url, f"host{i}", half_life_s=half_life_s)) for i in range(4)]
        reader = stack.enter_context(Host(url, "reader", half_life_s=half_life_s))
        written, begin = [], time.monotonic()
        while time.monotonic() < begin + 3:
            i = chance.randrange(len(hosts))
            before, n = time.monotonic(), chance.uniform(1, 100)
            hosts[i].learn(n)
            hosts[i].exchange()
            written.append((i, n, before, time.monotonic()))
        for i, host in (*enumerate(hosts), (None, reader)):
            before = time.monotonic()
            seen = host.others()
            after = time.monotonic()
            low, high = (sum(n * 0.5 ** ((end - at[side]) / half_life_s) for j, n, *at in written if j != i)
                         for side, end in ((0, after), (1, before)))
            assert low * 0.999 <= seen <= high * 1.001  # the engine's clock is read in ms
            assert high < 1.2 * low


# What is kept

def test_fleet_a_batch_that_comes_twice_counts_once(start):
    with pair(start().url) as (one, two):
        for _ in range(3):
            one.site.exchange({PREFIX: {"n": 5.0}}, (), 1000)
        assert two.others() == about(5) and one.others() == 0
        one.site.exchange({PREFIX: {"n": 2.0}}, (), 1001)
        assert two.others() == about(7)
        with pytest.raises(engine.site.SiteError, match="a later batch of this host"):
            one.site.exchange({PREFIX: {"n": 2.0}}, (), 999)
        assert two.others() == about(7)


def test_fleet_a_host_takes_off_its_own_part_after_a_restart_as_well(start):
    url = start().url
    with pair(url) as (one, two):
        one.learn(3)
        assert one.others() == 0
        two.learn(4)
        assert two.others() == about(3)
    with Host(url, "one") as again:
        assert again.others() == about(4)


def test_fleet_keys_and_parts_go_when_they_have_faded(start):
    server = start()
    with Host(server.url, "one", half_life_s=60) as one:
        one.learn()
        one.exchange()
        key = one.site.key_of(PREFIX)
        assert 590_000 < server.client.pttl(key) <= 600_000
        old = (time.time_ns() // 1_000_000) - 600_001
        server.client.hset(key, mapping={f"host:gone{i}": '{"at":%d,"sums":{"n":1},"seq":1}' % old for i in range(200)})
        for i in range(100):
            with Host(server.url, f"new{i}", half_life_s=60) as new:
                new.learn()
                new.exchange()
        names = [name.decode() for name in server.client.hkeys(key)]
        assert sum(name.startswith("host:gone") for name in names) < 60
        assert sum(name.startswith("host:new") for name in names) == 100 and {"sums", "host:one"} < set(names)


def test_fleet_prefixes_leave_the_host_hashed_where_there_is_a_key(start):
    server = start()
    with pair(server.url, key=b"of the site") as (one, two), Host(server.url, "three", key=b"another") as three:
        one.learn(3)
        one.exchange()
        assert two.others() == about(3) and three.others() == 0
        stored = server.client.keys("*")
        assert len(stored) == 1 and b"192" not in stored[0] and stored[0].startswith(b"riptide:{pop:")
        assert set(server.client.hkeys(stored[0])) == {b"sums", b"host:one"}


def test_fleet_sites_have_nothing_of_each_other(start):
    url = start().url
    with Host(url, "one", "paris") as one, Host(url, "two", "oslo") as two, Host(url, "three", "paris") as three:
        one.learn(3)
        one.exchange()
        assert two.others() == 0 and three.others() == about(3)


@pytest.mark.parametrize("text", ["", "{", "[]", '{"at":1}', '{"at":1,"sums":7}', "\x00\xff", '{"at":"x","sums":{},"seq":"x"}',
                                  '{"at":1,"sums":{"n":"x"},"seq":{}}', '{"at":1,"sums":{"n":1e999}}', '{"at":null,"sums":null}'])
def test_fleet_what_is_damaged_begins_anew(start, text):
    server = start()
    with pair(server.url) as (one, two):
        server.client.hset(one.site.key_of(PREFIX), mapping={"sums": text, "host:one": text})
        assert two.others() == 0
        one.learn(3)
        one.exchange()
        assert two.others() == about(3) and one.others() == 0


# Without the engine everything goes on, and nothing is lost

def test_fleet_unreachable(start):
    server = start()
    server.stop()
    with pair(server.url) as (one, two):
        one.learn(3)
        assert one.line().startswith("not reachable: does it run there")
        one.learn(4)
        assert one.line().startswith("not reachable")
        server.start()
        one.exchange()
        one.exchange()
        assert two.others() == about(7)


def test_fleet_another_server_where_one_is_not_reachable(start):
    live, dead = start(), start("dead")
    dead.stop()
    with Host(f"{dead.url} {live.url}", "one") as one, Host(live.url, "two") as two:
        one.learn(3)
        assert one.line().startswith("not reachable")
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
        assert one.line().startswith("no answer within 1 s: is it busy or far away")
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


def test_fleet_full(start):
    server = start("engine", "--maxmemory-policy", "noeviction")
    with pair(server.url) as (one, two):
        one.learn(3)
        one.exchange()
        server.client.config_set("maxmemory", 1)
        one.learn(4)
        assert one.line() == "full: raise its maxmemory, or shorten the half-life"
        assert two.others() == about(3)  # reading goes on
        server.client.config_set("maxmemory", 0)
        one.exchange()
        assert two.others() == about(7) and one.others() == 0


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
            assert late.line() == "a replica, which takes nothing: name the primary"
            replica.client.replicaof("no", "one")  # with what it has, behind the primary by a batch
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
        assert one.line() == "password refused: compare it with requirepass or the ACL there"
        user = {name: value for name, value in given.items() if name == "username"}
        with Host(server.url, "one", password="right", **user) as right:
            right.outbox = one.outbox
            right.exchange()
            assert right.others() == 0 and not len(right.outbox)


def test_fleet_needs_no_more_than_it_says(start):
    line = next(line for _, _, line in engine.site.LINES if "script|load" in line)
    allowed = line.partition("allow it ")[2].partition(" (")[0]
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
        assert one.line().startswith("its user may not: allow it ~riptide:*")


@pytest.fixture
def certificates(tmp_path):
    """Of localhost and of another name, signed by themselves."""
    for name in "localhost", "elsewhere":
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                        "-days", "2", "-subj", f"/CN={name}", "-addext", f"subjectAltName=DNS:{name}",
                        "-keyout", tmp_path / f"{name}.key", "-out", tmp_path / f"{name}.crt"],
                       check=True, stderr=subprocess.DEVNULL)
    return tmp_path


def test_fleet_tls(start, certificates):
    def with_certificate(name):
        return start(name, "--tls-cert-file", certificates / f"{name}.crt", "--tls-key-file", certificates / f"{name}.key",
                     "--tls-auth-clients", "no", tls=True)

    server, authority = with_certificate("localhost"), str(certificates / "localhost.crt")
    with Host(server.url, "one", tls_ca=authority) as one, Host(server.url, "two") as two:
        one.learn(3)
        one.exchange()
        assert two.line().startswith("its certificate is not trusted: name its authority with tls-ca")
    with Host(server.url, "two", tls_ca=authority) as two:
        assert two.others() == about(3)
    elsewhere = with_certificate("elsewhere")
    with Host(elsewhere.url, "one", tls_ca=str(certificates / "elsewhere.crt")) as one:
        line = one.line()
        assert line.startswith("its certificate is not trusted") and "localhost" in line
    with Host(server.url.replace("rediss", "redis"), "one") as one:
        assert "does it want TLS (rediss://)?" in one.line()
    with Host(start("plain").url.replace("redis", "rediss"), "one", timeout_s=1) as one:
        line = one.line()  # Redis waits for more of what it takes for a command, Valkey answers
        assert line.startswith("no TLS there") or line.startswith("no answer within 1 s") and "TLS where the URL says so" in line


def test_fleet_a_key_of_somebody_else_is_left(start):
    server = start()
    with Host(server.url, "one") as one:
        server.client.set(one.site.key_of(PREFIX), "mine")
        one.learn()
        assert one.line() == "a key there is not riptide's: use another site's name, or another DB"
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
