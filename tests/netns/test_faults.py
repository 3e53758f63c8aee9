"""Every call of the library that can fail, made to fail: the agent recovers or takes all back."""

import pytest
from netns import MOUNTED

PEERS = ("203.0.113.1", "203.0.113.2", "198.51.100.1", "2001:db8::1", "2001:db8::2")


@pytest.fixture
def connected(net):
    """A host with windows to learn."""
    for n, peer in enumerate(PEERS):
        net.learned(peer, 20 + 5 * n)
    return net.host


def fail_each(host, directory, *plan):
    done = host.run(MOUNTED / "tests" / "netns" / "faults", directory / "state", *plan,
                    check=False, timeout=300)
    print(done.stdout + done.stderr)
    assert done.returncode == 0


CALL_ERRORS = ("EINTR", "EAGAIN", "ENOBUFS", "ENOMEM", "EPERM", "EMFILE", "ENODEV", "ENOSPC", "EBUSY",
               "EIO", "ECANCELED")
REQUEST_ERRORS = ("EINTR", "EAGAIN", "ENOBUFS", "ENOMEM", "EPERM", "ENODEV", "EBUSY")


@pytest.mark.parametrize("n_fail", [1, 10])
def test_allocations_that_fail(connected, tmp_path, n_fail):
    fail_each(connected, tmp_path, "allocation", "ENOMEM", n_fail)


@pytest.mark.parametrize("error", CALL_ERRORS)
def test_system_calls_that_fail(connected, tmp_path, error):
    fail_each(connected, tmp_path, "call", error, 1)


@pytest.mark.parametrize("error", REQUEST_ERRORS)
def test_requests_that_the_kernel_refuses(connected, tmp_path, error):
    fail_each(connected, tmp_path, "request", error, 1)
