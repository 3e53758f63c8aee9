# SPDX-License-Identifier: MIT
"""riptide.fleet.host and config, without riptided or an engine."""

import json
import random
import re
import subprocess
import sys
import textwrap

import pytest
from netns import REPOSITORY, RIPTIDE, RIPTIDED

sys.path.insert(0, str(REPOSITORY / "bindings/python/riptide"))  # imported without the C extension
from fleet import config, host, sums  # noqa: E402

DST = "192.0.2.1"


class Ladder:
    """A ladder as in riptided: lib/proof/ladder.c."""

    def __init__(self):
        self.rungs, self.entered, self.halved = {}, 0, 0

    def scale(self, factor):
        self.rungs = {cwnd: [factor * value for value in rung] for cwnd, rung in self.rungs.items()}

    def enter(self, cwnd, cost, again):
        self.scale(host.KEPT)
        self.rungs[cwnd] = [one + more for one, more in zip(self.rungs.get(cwnd, [0, 0, 0]), (1, cost, again))]
        self.entered = (self.entered + 1) % host.ENTERED

    def halve(self):
        self.scale(0.5)
        self.halved = (self.halved + 1) % host.HALVED

    def row(self, dst):
        text = ";".join(["5,5,0", *(f"{cwnd}:" + ",".join(str(round(1000 * value)) for value in rung)
                                    for cwnd, rung in self.rungs.items())])
        return [dst, text, self.entered, self.halved]

    def read(self):
        dst, found = host.read_ladder(self.row(DST))
        assert dst == DST
        return found


def connections(found):
    return sum(value for name, value in found.items() if name.endswith("n"))


@pytest.mark.parametrize("entered, halved", [(0, 0), (host.ENTERED - 20, host.HALVED - 1)])
def test_what_has_come_since_is_what_was_entered(entered, halved):
    drawn, ladder, before, shared, added = random.Random(1), Ladder(), None, {}, {}
    ladder.entered, ladder.halved = entered, halved
    for turn in range(200):
        for _ in range(drawn.randrange(4)):
            cwnd, cost, again = drawn.choice([20, 28, 40]), drawn.uniform(-1, 2), drawn.choice([0, 0.5])
            ladder.enter(cwnd, cost, again)
            added = sums.add(added, {f"{cwnd}n": 1, f"{cwnd}c": cost, f"{cwnd}a": again})
        if turn % 20 == 9:
            ladder.halve()
        now = ladder.read()
        if before or not entered:
            shared = sums.add(shared, host.learned_since(before, now))
        else:
            shared = dict(added)
        before = now
    assert set(shared) == set(added)
    for name, value in added.items():
        assert abs(shared[name] - value) < 0.02 * connections(added), name


def test_what_a_restart_has_read_from_its_file_is_not_said_again():
    ladder = Ladder()
    for _ in range(50):
        ladder.enter(28, 1, 0)
    before = ladder.read()
    ladder.entered, ladder.halved = 0, 0
    assert host.learned_since(before, ladder.read()) == {}
    assert host.learned_since(None, ladder.read()) == {}
    for _ in range(3):
        ladder.enter(40, 1, 0)
    assert host.learned_since(before, ladder.read()) == pytest.approx({"40n": 3, "40c": 3, "40a": 0}, abs=0.01)
    fresh = Ladder()
    fresh.enter(28, 1, 0)
    assert connections(host.learned_since(before, fresh.read())) == 1
    for _ in range(60):  # dropped and learned anew, more than before
        fresh.enter(40, 1, 0)
    assert connections(host.learned_since(before, fresh.read())) == pytest.approx(connections(fresh.read().sums))


def test_a_site_is_written_as_riptided_takes_it():
    site = {"28n": 400.0, "28c": -200.0, "28a": 20.0, "40n": 100.0, "40c": 1e9, "40a": -5.0, "57n": -3.0, "xn": 9.0, "squares": 3.0}
    assert host.write_ladder(site, 200) == "0,0,90043752;28:175000,-87500,8750;40:100000,3000000,0"
    assert host.write_ladder({}, 200) == "0,0,0"


def test_a_false_number_of_connections_mutes_no_other_rung():
    site = {"28n": 90.0, "28c": 45.0, "40n": 900.0, "40c": 900.0, "57n": 1800.0}
    honest = host.write_ladder(site, 200).split(";")
    assert honest[1:] == ["28:90000,45000,0", "40:188889,188889,0", "57:194444,0,0"]
    false = {"10n": sums.MAX_SUM, "58n": 5.0, "028n": 5.0, "²n": 5.0}
    assert host.write_ladder({**site, **false}, 200).split(";")[1:] == ["10:200000,0,0", *honest[1:]]


BOOKS = """riptide books 1
window bytes=65536 rtt_us=50000 control=loss n=950 n_again=40 time=2918400,9002291200 again=60000,90000000
holdout bytes=65536 rtt_us=50000 control=loss n=50 n_again=2 time=166400,557056000 again=3000,4500000
window bytes=0 rtt_us=5000 control=bbr n=3 n_again=0 time=3072,3145728 again=0,0
"""


def test_books_are_the_same_behind_a_site():
    books = host.read_books(BOOKS, "5 0")
    assert set(books) == {"books 5 0 50000 loss", "books 5 0 5000 bbr"} <= set(host.books_keys("5 0"))
    text = host.write_books(books, 5, 0)
    assert host.read_books(text, "5 0") == books
    assert text.startswith("riptide state 2 ") and text.endswith("\nholdout_percent=5 trial_percent=0\n")
    assert host.books_since({}, books) == books
    assert host.books_since(books, books) == {}
    more = {key: {name: 2 * value for name, value in cells.items()} for key, cells in books.items()}
    assert host.books_since(books, more) == books
    assert host.books_since(more, books) == {}  # loaded from a file from before a crash
    more["books 5 0 5000 bbr"] = {name: value / 4 for name, value in more["books 5 0 5000 bbr"].items()}
    assert host.books_since(more, {key: {name: 4 * value for name, value in cells.items()} for key, cells in books.items()}) == {
        key: {name: factor * value for name, value in cells.items()} for (key, cells), factor in zip(books.items(), (2, 3.5))}


def test_books_that_have_faded_are_still_books():
    share = sums.share_left(1, 3)
    faded = {key: {name: value * share for name, value in cells.items()}
             for key, cells in host.read_books(BOOKS, "5 0").items()}
    for line in host.BOOK_LINE.findall(host.write_books(faded, 5, 0)):
        n, n_again, time, time_squares, again, again_squares = map(int, line[4:])
        assert 0 < n and n_again <= n and time ** 2 <= n * time_squares and again ** 2 <= n * again_squares


def test_false_books_are_books_or_nothing(tmp_path):
    """`riptide verdict` takes each line."""
    cells = {"w65536n": 5.0, "w65536t": -1e9, "w65536tt": 1e29, "w²n": 5.0, "w15n": 5.0, "w065536n": 9.0, "h0n": 1e30, "h0m": 1e30, "h0t": 1e30,
             "s0n": 3.0, "s0a": 1e30, "s0\nw0n": 7.0, "x0n": 8.0, "": 1.0, "n": 2.0}
    text = host.write_books({"books 5 0 50000 loss": cells}, 5, 0)
    assert [line[:5] for line in host.BOOK_LINE.findall(text)] == [
        ("window", "65536", "50000", "loss", "5"), ("holdout", "0", "50000", "loss", str(1 << 35)), ("smaller", "0", "50000", "loss", "3")]
    (tmp_path / "state").write_text(text)
    found = subprocess.run([RIPTIDE, "verdict", tmp_path / "state"], capture_output=True, text=True, check=False)
    assert "invalid" not in found.stderr and found.stdout, found


def play(share, site, batch=None):
    """Exchanges with a site that is a dict, in which nothing fades."""
    _, added = share.outbox.batch(1) if batch is None else (0, batch)
    for key, one in added.items():
        site[key] = sums.add(site.get(key, {}), one)
    return share.confirm(added, {key: site.get(key, {}) for key in {*added, "a"}}, 0)


def test_a_site_that_began_empty_has_all_of_it_again():
    share, site = host.Share(60), {}
    share.put("a", {"n": 5.0}, {"n": 5.0})
    assert share.unsure == {"a"} and play(share, site) == 0
    assert play(share, site) == 0 and site == {"a": {"n": 5.0}} and not share.unsure
    share.put("a", {"n": 7.0}, {"n": 2.0})
    play(share, site)
    assert site == {"a": {"n": 7.0}}
    site.clear()
    assert play(share, site) == 1
    play(share, site)
    assert site == {"a": {"n": 7.0}}
    site.clear()
    share.put("a", {"n": 8.0}, {"n": 1.0})  # the answer to this addition shows the loss
    assert play(share, site) == 1
    play(share, site)
    assert site == {"a": {"n": 8.0}} and play(share, site) == 0
    site["a"] = {"n": 4.0}  # the engine restored an older dump
    assert play(share, site) == 1
    play(share, site)
    assert site == {"a": {"n": 8.0}} and play(share, site) == 0


def test_what_is_added_again_has_faded():
    share, site = host.Share(60), {}
    share.put("a", {"n": 8.0}, {})
    play(share, site)
    play(share, site)
    assert share.confirm({}, {"a": {"n": 3.9}}, 60_000) == 0  # within the tolerance for clocks
    assert share.confirm({}, {"a": {}}, 120_000) == 1
    assert share.outbox.batch(1)[1] == {"a": {"n": 2.0}}


def test_what_comes_while_an_answer_is_lost_counts_once():
    share, site = host.Share(60), {}
    share.put("a", {"n": 5.0}, {})
    play(share, site)
    play(share, site)
    share.put("a", {"n": 6.0}, {"n": 1.0})
    _, batch = share.outbox.batch(2)
    share.put("a", {"n": 9.0}, {"n": 3.0})
    site.clear()
    play(share, site, batch)
    play(share, site)
    play(share, site)
    assert site == {"a": {"n": 9.0}}


def test_a_host_that_comes_back_adds_nothing_twice():
    share, site = host.Share(60), {"a": {"n": 5.0}}
    share.put("a", {"n": 5.0}, {"n": 5.0})
    play(share, site)
    play(share, site)
    assert site == {"a": {"n": 5.0}}
    share.put("a", {"n": 6.0}, {"n": 1.0})
    play(share, site)
    assert site == {"a": {"n": 6.0}}


def test_what_waits_is_added_by_the_next_process():
    share, site = host.Share(60), {"a": {"n": 5.0}}
    share.put("a", {"n": 5.0}, {})
    play(share, site)
    share.put("a", {"n": 7.0}, {"n": 2.0})
    share.outbox.batch(1)
    share = host.Share(60, json.loads(json.dumps(share.save())))
    share.put("a", {"n": 10.0}, {"n": 3.0})
    play(share, site)
    play(share, site)
    assert site == {"a": {"n": 10.0}}


def test_a_configuration(tmp_path):
    path, secret = tmp_path / "fleet.conf", tmp_path / "secret"
    secret.write_text("word\n")
    path.write_text("# all\nsite = pop\nengine = redis://a:1 rediss://u:w@[::1]:2/3 unix:///b\nhalf-life = 12 h\n\n  interval=500ms\nhost = h\n"
                    f"password-file = {secret}\nkey-file={secret}\n")
    found = config.read(path)
    assert (found.site, found.half_life, found.interval, found.weight) == ("pop", 43200, 0.5, 200)
    assert (found.password, found.key, found.name) == ("word", b"word", "h")


ENGINE = "engine = redis://a\n"


@pytest.mark.parametrize("text, line", [
    ("site = a\n", ": engine: missing: add engine = "),
    (ENGINE + "site = a\n\nweigth = 1\n", ":4: weigth: unknown key"),
    (ENGINE + "weight = 0\n", ":2: weight: 0; must be 1 to 1000"),
    (ENGINE + "interval = -1\n", ":2: interval: -1; must be 0.1 to 3600 s"),
    (ENGINE + "interval = 5 weeks\n", ":2: interval: 5 weeks: not a number with ms, s, min, h or d"),
    ("site = a\n#\nsite = b\n", ":3: site: was given in line 1 already"),
    ("[fleet]\n", ":1: [fleet]: no `key = value` in one line; there are no sections"),
    ("engine = redis://a\n redis://b\n", ":2: redis://b: no `key = value` in one line"),
    (ENGINE + "site = a\nhost = h\nkeep = 1\ninterval = 1 h\n", ": keep: 1 s; must be at least twice interval"),
    *((f"engine = redis://a {url}\n", f":1: engine: {url.rpartition('@')[2]}: not redis://HOST:PORT/DB") for url in (
        "a", "redis://", "redis:///0", "redis://h:abc/0", "redis://h:70000", "redis://h/abc", "redis://:secret@h/0?foo=bar", "unix://a/b", "http://a")),
    *((f"{ENGINE}site = a\nhost = h\n{key} = EMPTY\n", f": {key}: EMPTY: its first line is empty: ") for key in ("key-file", "password-file")),
    (f"{ENGINE}site = a\nhost = h\ntls-ca = EMPTY\n", ": tls-ca: EMPTY: "),
    (f"{ENGINE}site = a\nhost = h\ntls-ca = /nope\n", ": tls-ca: /nope: No such file or directory"),
    (f"{ENGINE}site = a\n", ": host: EMPTY: its first line is empty: "),
])
def test_a_configuration_that_is_refused(tmp_path, monkeypatch, text, line):
    """The line has the file, the line in it or the key, and what to do."""
    path, empty = tmp_path / "fleet.conf", tmp_path / "empty"
    empty.write_text(" \n\n")
    monkeypatch.setattr(config, "MACHINE", str(empty))
    path.write_text(text.replace("EMPTY", str(empty)))
    with pytest.raises(ValueError) as refused:
        config.read(path)
    assert str(refused.value).startswith(f"{path}{line.replace('EMPTY', str(empty))}")
    assert "\n" not in str(refused.value) and "secret" not in str(refused.value)


def test_the_first_hour_follows_the_quick_start(tmp_path):
    """Files that the documents show: riptided's of the README with the section of docs/fleet.md, and those of riptide-fleet."""
    quick = re.search(r"printf '(.*)' > /etc/riptide/riptided.conf", (REPOSITORY / "README.md").read_text())[1].replace("\\n", "\n")
    shown = re.findall(r"\n\n((?: {7}.*\n)+)", (REPOSITORY / "docs/fleet.md").read_text())
    section, fleet = (next(filter(lambda one: begin in one, map(textwrap.dedent, shown))) for begin in ("[apply]", "engine = "))
    path, group = tmp_path / "riptided.conf", "control-group = riptide-control"
    assert "[apply]" in quick and group in section and ">>" not in "".join(shown)
    path.write_text((quick.partition("[apply]")[0] + section).replace(group, "control-group = nogroup"))
    done = subprocess.run([RIPTIDED, "--config", path, "--check"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    assert done.stdout == f"{path}: valid\n"
    example = (REPOSITORY / "packaging/fleet/fleet.conf").read_text()
    assert config.parse(fleet) == config.parse(re.sub("(?m)^#(?=[a-z])", "", example).replace("redis://", "rediss://"))
