# SPDX-License-Identifier: MIT
"""riptided.conf: what --check refuses."""

import pytest
from control import one_line
from netns import RIPTIDED


@pytest.fixture
def config(tmp_path):
    """Writes a configuration file, whole: returns its path."""
    path = tmp_path / "riptided.conf"

    def write(text):
        beside = tmp_path / "new"
        beside.write_text(text)
        beside.rename(path)
        return path

    return write


def test_check_looks_for_the_group(host, config):
    path = config("\ncontrol-group = nosuchgrp\n")
    for words in (("--config", path), ("--control-group", "nosuchgrp")):
        line = one_line(host.run(RIPTIDED, *words, "--check", check=False), 2)
        assert line.startswith("riptided: control-group: ") and "no group" in line
    config("control-group = daemon\n")
    host.run(RIPTIDED, "--config", path, "--check")


def test_section_for_a_part_of_a_destination(host, config):
    path = config("prefix-len6 = 64\n[prefix 2001:db8::1]\noff = yes\n")
    line = one_line(host.run(RIPTIDED, "--config", path, "--check", check=False), 2)
    assert line == "riptided: 2001:db8::1: is part of the destination 2001:db8::/64, by prefix-len6\n"


def test_file_that_cannot_be_read(host, tmp_path):
    binary = tmp_path / "binary"
    binary.write_bytes(b"ttl = 1s\n\0")
    for path, words in ((tmp_path / "none", "No such file"), (tmp_path, "no regular file"),
                        ("/dev/zero", "no regular file"), (binary, "is no text")):
        line = one_line(host.run(RIPTIDED, "--config", path, "--check", check=False), 2)
        assert str(path) in line and words in line
