import socket

import pytest

from tagger.integrations.service.server import bind, is_local, names_of, url_of


def test_a_busy_port_is_said_in_one_line():
    with bind("127.0.0.1", 0) as bound:
        port = bound.getsockname()[1]
        message = f"`--port` {port} of 127.0.0.1 is in use; give another, or 0 for any that is free"
        with pytest.raises(OSError, match=message):
            bind("127.0.0.1", port)
        assert url_of(bound) == f"http://127.0.0.1:{port}"


def test_a_host_that_is_not_this_machine_is_refused():
    with pytest.raises(OSError, match="`--host` 192.0.2.1 is no address of this machine"):
        bind("192.0.2.1", 0)
    with pytest.raises(OSError, match="`--host` a b is no address or name of this machine"):
        bind("a b", 0)


def test_a_port_of_localhost_is_not_reached_by_other_addresses():
    with bind("127.0.0.1", 0) as bound, socket.socket() as other:
        # Another address of this machine, which a socket for all of them would have taken.
        other.bind(("127.0.0.2", bound.getsockname()[1]))


@pytest.mark.parametrize(
    ("host", "local"),
    [("127.0.0.1", True), ("::1", True), ("localhost", True), ("0.0.0.0", False), ("::", False)],
)
def test_addresses_that_others_reach_are_known(host, local):
    assert is_local(host) == local


def test_the_service_answers_to_its_host_and_to_names_that_are_allowed():
    assert set(names_of("Mine.example", [])) == {"localhost", "mine.example"}
    assert {"localhost", "tagger.example"} <= set(names_of("0.0.0.0", ["Tagger.example"]))
    assert names_of("0.0.0.0", ["*"]) is None
