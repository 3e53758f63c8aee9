# SPDX-License-Identifier: MIT
"""Sums of a site in a real Valkey or Redis: whatever is lost, all sums count exactly once."""

import contextlib
import json
import os
import random
import threading
import time

import engine
import pytest
from engine import HALF_LIFE_S, Engine, Proxy, needs_engine
from fleet import config, host, sums
from test_fleet_host import Ladder
from waiting import wait_until

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
    """A function that puts a Proxy before a port."""
    with contextlib.ExitStack() as stack:
        def made(*arguments):
            one = Proxy(*arguments)
            stack.callback(one.close)
            return one
        yield made


class Host:
    """A host with a Site and an Outbox, as in riptide-fleet."""

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
        try:
            return self.site.exchange(batch, wanted, sequence)
        finally:
            self.outbox.confirm(self.site.own)

    def others(self, prefix=PREFIX):
        return self.exchange([prefix]).get(prefix, {}).get("n", 0)

    def line(self):
        """The error line of an exchange that fails."""
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
    """Learns and exchanges at random, until the engine has all: {prefix: {name: the sum}}."""
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
    """Runs hosts in parallel; then the others' sums that each sees are those of a plain model."""
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
    """Loses a question or an answer on one of six connections, and closes it."""
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
        assert one.line().startswith(("the server is not reachable", "no node has some of the slots", "the server closed"))
        nodes[0].start()
        wait_until(lambda: all(node.client.execute_command("CLUSTER INFO")["cluster_state"] == "ok" for node in nodes),
                   "the cluster")
        for _ in nodes:  # after a failure each is tried in turn
            with contextlib.suppress(engine.site.SiteError):
                one.exchange()
        assert not len(one.outbox)
        assert {prefix: seen["n"] for prefix, seen in two.exchange(prefixes).items()} == dict.fromkeys(prefixes, about(3))


def test_fleet_what_is_old_has_faded_alike_for_all(start):
    """Hosts write early or late, often or seldom; the sums are within the possible range."""
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
            assert low * 0.999 <= seen <= high * 1.001  # the engine's clock has ms
            assert high < 1.2 * low


class Riptided:
    """Answers riptide-fleet, from ladders that grow at random; has the true sums by key, name."""

    KEYS = [f"192.0.2.{i}" for i in range(9)]
    BOOKS = "books 5 20 50000 loss"

    def __init__(self, chance, fails):
        self.chance, self.fails, self.life, self.revision = chance, fails, 1, 0
        self.ladders, self.revisions, self.n_books, self.all, self.site = {}, {}, 0, {}, {}
        self.keep()

    def learn(self):
        for dst in self.chance.sample(self.KEYS, 3):
            cwnd, cost, again = self.chance.choice([20, 28, 40]), self.chance.uniform(0, 2), self.chance.choice([0, 0.5])
            self.ladders.setdefault(dst, Ladder()).enter(cwnd, cost, again)
            self.revision += 1
            self.revisions[dst] = self.revision
            self.add(dst, {f"{cwnd}n": 1, f"{cwnd}c": cost, f"{cwnd}a": again})
        self.n_books += 1
        self.add(self.BOOKS, {"w65536n": 1, "w65536t": 1024, "w65536tt": 1 << 20})

    def add(self, key, one):
        self.all[key] = sums.add(self.all.get(key, {}), one)

    def keep(self):
        """Writes its file."""
        self.file = json.dumps([{dst: one.rungs for dst, one in self.ladders.items()}, self.n_books])

    def start(self):
        """Starts again from its file."""
        ladders, self.n_books = json.loads(self.file)
        self.ladders = {dst: Ladder() for dst in ladders}
        for dst, rungs in ladders.items():
            self.ladders[dst].rungs = {int(cwnd): rung for cwnd, rung in rungs.items()}
        self.life += 1
        self.revision = len(ladders)
        self.revisions = {dst: 1 + i for i, dst in enumerate(ladders)}

    def ask(self, name, **members):
        if self.fails and self.chance.random() < 0.05:
            raise OSError(0, "no answer")
        if name == "books":
            line = (f"window bytes=65536 rtt_us=50000 control=loss n={self.n_books} n_again=0 time={self.n_books << 10},"
                    f"{self.n_books << 20} again=0,0\n") if self.n_books else ""
            return {"holdout_percent": 5, "trial_percent": 20, "connections": self.n_books, "since_s": 1, "pooled": None,
                    "books": f"riptide books 1\n{line}" if self.n_books != members["known"] else None}
        if name == "site":
            self.site.update(members["ladders"])
            return {}
        since, at = members["since"] if members["life"] == self.life else 0, members["from"]
        found = [dst for dst in self.ladders if self.revisions[dst] > since]
        next_at = at + 3 if at + 3 < len(found) else None
        return {"life": self.life, "revision": self.revision, "next": next_at, "trial_percent": 20,
                "ladders": [self.ladders[dst].row(dst) for dst in found[at:at + 3]]}


class Machine:
    """A host: a Riptided and this repository's riptide-fleet, over a network that loses data."""

    def __init__(self, url, name, chance, crashes):
        self.given = config.Config(site="pop", engine=url, host=name, half_life=HALF_LIFE_S, books_half_life=HALF_LIFE_S)
        self.riptided, self.chance, self.crashes, self.n_lost = Riptided(chance, not crashes), chance, crashes, 0
        self.start(None)

    def start(self, saved):
        self.fleet = engine.program.Fleet(self.given, saved)
        self.fleet._riptided = self.riptided

    def stop(self):
        self.n_lost += self.fleet.figures["lost"]
        self.fleet.close()

    def turn(self):
        self.fleet.turn()
        return self.fleet._engine_said.is_up and self.fleet._riptided_said.is_up

    def settle(self):
        """Runs turns until the site has all of its sums."""
        for _ in range(100):
            if self.turn() and not len(self.fleet._share.outbox) and not len(self.fleet._books_share.outbox):
                return
        raise AssertionError("never confirmed")

    def waits(self):
        return self.fleet._share.outbox._waiting | self.fleet._share.outbox._sent

    def steps(self, n, lose):
        for _ in range(n):
            for _ in range(self.chance.randrange(3)):
                self.riptided.learn()
            event = self.chance.random()
            if event < 0.1:
                saved = json.loads(json.dumps(self.fleet.save()))
                self.stop()
                self.riptided.learn()
                self.start(None if self.crashes and self.chance.random() < 0.5 else saved)
            elif event < 0.2:
                if not self.crashes:
                    self.settle()  # results since the last answer are lost
                    self.riptided.keep()
                self.riptided.start()
            elif event < 0.3:
                self.riptided.keep()
            elif event < 0.33:
                lose()
            self.turn()
        self.settle()


def check_site(server, machines, least=0.94):
    """The site has the sums of all machines once, or the share `least` of them."""
    keys = [*Riptided.KEYS, *host.books_keys("5 20")]
    with Host(server.url, "reader") as reader:
        seen = reader.site.exchange({}, keys, 0)
    learned = {}
    for one in machines:
        for key, found in one.riptided.all.items():
            learned[key] = sums.add(learned.get(key, {}), found)
    for key, expected in learned.items():
        for name, value in expected.items():
            had = seen.get(key, {}).get(name, 0)
            assert least * value - 0.3 <= had <= 1.01 * value + 0.1, (key, name, seen.get(key), expected)


@pytest.mark.parametrize("crashes, clock_s", [(False, 0), (True, 0), (True, 86400)], ids=["stops", "crashes", "clocks"])
def test_fleet_whatever_stops_is_added_once(start, proxy, monkeypatch, crashes, clock_s):
    """riptide-fleets and riptideds restart, and the engine loses all of its data, or a part.

    Without crashes the site has all sums in the end. Otherwise it may lack some, never have more.
    That is so as well where the hosts' clocks jump by days.
    """
    print("SEED", SEED)
    lose_some, _ = loser()
    now, jumps = time.time_ns, random.Random(SEED)
    monkeypatch.setattr(time, "time_ns", lambda: now() + 10 ** 9 * clock_s * jumps.randrange(-2, 3))
    server, chance = start(), random.Random(SEED)
    behind = proxy(server.port, lose_some)
    machines = [Machine(behind.url, f"host{i}", random.Random(SEED + i), crashes) for i in range(4)]

    def lose():
        for key in server.client.keys():
            if chance.random() < 0.5:
                server.client.delete(key)

    threads = [threading.Thread(target=one.steps, args=(60, lose)) for one in machines]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    behind.lose = lambda what: False
    for one in machines:
        one.riptided.fails = False
        for _ in range(engine.program.TURNS):  # each key has its turn
            one.settle()
    check_site(server, machines, 0 if crashes else 0.94)
    for one in machines:
        one.stop()
    assert sum(one.n_lost for one in machines) > 0


@pytest.fixture
def machines(start):
    """A server and two machines, of which it has all sums."""
    server = start()
    found = [Machine(server.url, f"host{i}", random.Random(SEED + i), True) for i in range(2)]
    for one in found:
        for _ in range(20):
            one.riptided.learn()
    settle(found)
    yield server, found
    for one in found:
        one.stop()


def settle(machines):
    for _ in range(engine.program.TURNS):
        for one in machines:
            one.settle()


def test_fleet_metrics_have_all_digits(machines):
    fleet = machines[1][0].fleet
    fleet.figures["exchanges"], fleet._took_s = 1234567, 0.123456789
    lines = fleet.metrics().splitlines()
    assert "riptide_fleet_exchanges_total 1234567" in lines and "riptide_fleet_exchange_seconds 0.123456789" in lines
    assert "riptide_fleet_engine_up 1" in lines


def key_of(prefix):
    return f"riptide:{{pop:{prefix}}}"


POISON = ["", "{", "[]", '{"at":1}', '{"at":1,"sums":7}', "\x00\xff", '{"at":"x","sums":{},"seq":"x"}',
          '{"at":1,"sums":{"n":"x"},"seq":{}}', '{"at":1,"sums":{"n":1e999}}', '{"at":null,"sums":null}', '{"at":1,"sums":{"n":"5"}}',
          '{"at":NOW,"sums":{"²n":5}}', '{"at":NOW,"sums":{"57n":1e307,"57c":1}}', b'{"at":NOW,"sums":{"57n":5,"\xff":1}}',
          json.dumps({"at": 1, "sums": {f"n{i}": 1 for i in range(5000)}}), json.dumps({"at": 1, "sums": {"n" * 10 ** 5: 1}})]


@pytest.mark.parametrize("field", ["sums", "host:host0"])
@pytest.mark.parametrize("text", POISON, ids=range(len(POISON)))
def test_fleet_a_poisoned_key_ends_and_adds_nothing(machines, capfd, field, text):
    server, found = machines
    text = text.replace(*(("NOW", str(int(time.time() * 1000))) if isinstance(text, str) else (b"NOW", b"%d" % (time.time() * 1000))))
    server.client.hset(key_of(Riptided.KEYS[0]), field, text)
    for _ in range(3):
        for one in found:
            one.turn()
    for one in found:
        for _ in range(10):
            one.riptided.learn()
    settle(found)
    check_site(server, found)
    lines = capfd.readouterr().err
    assert lines.count("added again") <= 2 and lines.count("not sums of riptide-fleet") <= 2, lines


@pytest.mark.parametrize("ahead_ms", [86_400_000, 10 ** 12, 9 * 10 ** 13])
def test_fleet_a_sequence_that_is_ahead_locks_nobody_out(machines, ahead_ms):
    """The clock was a day ahead, or somebody wrote it."""
    server, (one, other) = machines
    key, field = key_of(Riptided.KEYS[0]), "host:host0"
    held = json.loads(server.client.hget(key, field))
    server.client.hset(key, field, json.dumps({**held, "seq": int(time.time() * 1000) + ahead_ms}))
    for machine in one, other:
        for _ in range(10):
            machine.riptided.learn()
    settle([one, other])
    check_site(server, [one, other])


def test_fleet_a_batch_between_which_another_of_the_name_writes_counts_once(start, proxy):
    """An answer is lost, and before the batch is repeated somebody writes a later sequence."""
    server = start()
    for is_added in False, True:
        server.client.flushall()
        losing = threading.Event()
        machine = Machine(proxy(server.port, lambda what: losing.is_set() and (what == "answer" or not is_added)).url, "host0",
                          random.Random(SEED), True)
        for _ in range(20):
            machine.riptided.learn()
        settle([machine])
        machine.riptided.learn()
        losing.set()
        assert not machine.turn() and machine.waits()
        losing.clear()
        with Host(server.url, "host0") as twin:
            for key in machine.waits():
                twin.site.exchange({key: {"x": 1.0}}, (), int(time.time() * 1000) + 10 ** 6)
        machine.turn()
        for _ in range(30):
            machine.riptided.learn()
        settle([machine])
        check_site(server, [machine])
        machine.stop()


def test_fleet_a_full_server_is_read_also_where_it_takes_nothing(machines, capfd):
    server, (one, other) = machines
    server.client.config_set("maxmemory", 1)
    before = {key: one.riptided.site[key] for key in Riptided.KEYS}
    one.riptided.site.clear()
    one.fleet._is_told = False
    for _ in range(5):
        for _ in range(5):
            one.riptided.learn()
        assert not one.turn()
    assert one.waits().keys() == set(Riptided.KEYS) and one.riptided.site == before
    lines = capfd.readouterr().err
    assert lines.count("engine: ") == 1 and "the server is full" in lines and "alone" not in lines
    server.client.config_set("maxmemory", 0)
    settle([one, other])
    check_site(server, [one, other])


def test_fleet_a_key_of_somebody_else_stops_no_other(machines, capfd):
    server, (one, other) = machines
    key, *rest = Riptided.KEYS
    server.client.set(key_of(key), "mine")
    for machine in one, other:
        for _ in range(20):
            machine.riptided.learn()
        machine.riptided.site.clear()
    for _ in range(engine.program.TURNS):
        for machine in one, other:
            assert not machine.turn()
    for machine in one, other:
        assert machine.waits().keys() == {key} and set(machine.riptided.site) >= set(rest)
        assert not len(machine.fleet._books_share.outbox)
    lines = capfd.readouterr().err
    assert lines.count("engine: ") == 2 and lines.count(f"{key_of(key)}: not a key of riptide-fleet: delete it") == 2
    server.client.delete(key_of(key))
    settle([one, other])
    check_site(server, [one, other])


def test_fleet_says_once_that_the_engine_lost_ladders_and_books(machines, capfd):
    server, (one, other) = machines
    server.client.flushall()
    for _ in range(3 * engine.program.TURNS):
        one.turn()
    lines = capfd.readouterr().err
    assert lines.count("it had lost sums of this host, which are added again") == 1, lines


def test_fleet_a_state_that_is_none_is_said(start, tmp_path, monkeypatch, capfd):
    monkeypatch.setenv("STATE_DIRECTORY", str(tmp_path))
    machine = Machine(start().url, "host0", random.Random(SEED), True)
    machine.riptided.learn()
    machine.settle()
    saved = machine.fleet.save()
    engine.program._write_state(saved)
    assert engine.program._read_state() == json.loads(json.dumps(saved)) and not capfd.readouterr().err
    for text in "{}", "null", "7", json.dumps(saved):
        (tmp_path / "state").write_text(text)
        assert engine.program._read_state() is None
        assert "damaged: results from the time without riptide-fleet are not shared" in capfd.readouterr().err
    machine.given.host = "other"
    machine.start(saved)
    assert "state: of another site, host, half-life or key: results" in capfd.readouterr().err
    machine.stop()


# What the engine keeps

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


def test_fleet_a_name_that_two_hosts_have(start, capsys):
    url = start().url
    for _ in range(2):  # the second as after a crash
        with Host(url, "one") as one, Host(url, "two") as two:
            for _ in range(3):
                for host in one, two:
                    host.learn()
                    host.exchange()
            assert not one.site.is_shared and not two.site.is_shared
    with Host(url, "one") as one, Host(url, "one") as other:
        for host in one, other:
            host.learn()
            host.exchange()
        assert one.others() == about(6) and one.site.is_shared and not other.site.is_shared
    machines = [Machine(url, "same", random.Random(i), crashes=False) for i in range(2)]
    for one in 10 * machines:
        one.riptided.fails = False
        one.riptided.learn()
        assert one.turn()
    assert capsys.readouterr().err.count("host: somebody else has this host's name") == 2
    for one in machines:
        one.stop()


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


@pytest.mark.parametrize("text", POISON, ids=range(len(POISON)))
def test_fleet_what_is_damaged_begins_anew(start, text):
    server = start()
    with pair(server.url) as (one, two):
        server.client.hset(one.site.key_of(PREFIX), mapping={"sums": text, "host:one": text})
        assert two.line() == f"{one.site.key_of(PREFIX)}: not sums of riptide-fleet: it begins anew with the next addition; or delete it"
        one.learn(3)
        one.exchange()
        assert two.others() == about(3) and one.others() == 0


def test_fleet_another_half_life_is_refused(start):
    server = start()
    with pair(server.url) as (one, two), Host(server.url, "three", half_life_s=60) as three:
        one.learn(3)
        one.exchange()
        assert three.line().startswith(f"{one.site.key_of(PREFIX)}: its sums fade with another half-life (HALFLIFE: 1e+09 s): set the same")
        three.learn(5)
        three.line()
        assert len(three.outbox) == 1 and two.others() == about(3)
        server.client.delete(one.site.key_of(PREFIX))
        three.exchange()
        assert not len(three.outbox)
