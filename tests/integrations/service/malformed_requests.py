"""Hundreds of malformed requests, while an ordinary client keeps tagging."""

import asyncio
import json
import random
import socket
import time
from contextlib import asynccontextmanager, suppress
from typing import NamedTuple, Optional, Tuple

TEXT = "Maria Lindqvist met Paulo Ferraz in Lisbon."
#: The number of malformed requests in flight at a time.
ATTACKERS = 16


class Attack(NamedTuple):
    """A malformed request, sent in parts with pauses in seconds. A status of None means any 4xx."""

    name: str
    parts: Tuple[bytes, ...]
    status: Optional[int] = None
    pause: float = 0.0


def request(body=b"", method="POST", path="/tag", content_type="application/json", **headers):
    """Returns the bytes of a request. A `_` in the name of a header becomes `-`."""
    all_headers = {"Host": "127.0.0.1", "Content-Type": content_type}
    all_headers["Content-Length"] = str(len(body))
    all_headers.update({name.replace("_", "-"): value for name, value in headers.items()})
    head = [f"{method} {path} HTTP/1.1", *(f"{n}: {v}" for n, v in all_headers.items())]
    return "\r\n".join([*head, "", ""]).encode("latin-1") + body


def attacks(draw, body_seconds):
    """Yields one malformed request of each kind, with random parts."""

    def body(content):
        return request(json.dumps(content).encode())

    valid = json.dumps({"text": TEXT, "decode_bias": {}}).encode()
    cut = draw.randrange(1, len(valid) - 1)
    yield Attack("JSON that is cut off", (request(valid[:cut]),), 400)
    yield Attack("no JSON", (request(draw.randbytes(draw.randrange(1, 300))),))
    yield Attack("no body", (request(),), 422)
    yield Attack("invalid UTF-8", (request(b'{"text": "\xff\xfe"}'),), 400)
    yield Attack("deep nesting", (request(b"[" * draw.randrange(50_000, 900_000)),), 400)
    deep = b'{"text":' * 40_000 + b"1" + b"}" * 40_000
    yield Attack("deep nesting, closed", (request(deep),))
    yield Attack("a number of many digits", (request(b'{"text": ' + b"9" * 9_000 + b"}"),))
    yield Attack("half a surrogate pair", (request(b'{"text": "\\ud83d"}'),), 422)
    yield Attack("half a pair in inputs", (request(b'{"inputs": ["a", "\\udc00"]}'),), 422)
    yield Attack("half a pair in tokens", (request(b'{"tokens": ["a", "\\udc00"]}'),), 422)
    yield Attack(
        "half a pair as a label", (request(b'{"text": "a", "decode_bias": {"\\ud800": 1}}'),)
    )
    yield Attack("half a pair as a field", (request(b'{"text": "a", "\\ud800": 1}'),), 422)
    single = (None, 1, 1.5, True, "a", [], [1], {})
    wrong = (*single, [None], [[]], [[1]], [[""]], {"a": 1})
    for field in ("text", "tokens", "inputs", "probabilities", "decode_bias"):
        allowed = {
            "text": ("a",),
            "tokens": ([],),
            "inputs": ([], [[]]),
            "probabilities": (True,),
            "decode_bias": ({},),
        }
        value = draw.choice([each for each in wrong if each not in allowed[field]])
        others = {} if field in ("text", "tokens", "inputs") else {"text": TEXT}
        if value is None and not others:
            value = 7
        if (field, value) == ("probabilities", 1):
            value = 2
        yield Attack(f"`{field}` of a wrong type", (body({**others, field: value}),), 422)
    yield Attack("an unknown field", (body({"text": TEXT, "txet": 1}),), 422)
    yield Attack("no text", (body({}),), 422)
    yield Attack("two kinds of text", (body({"text": "a", "tokens": ["a"]}),), 422)
    yield Attack("an unknown label", (body({"text": TEXT, "decode_bias": {"NONE": 1}}),), 422)
    for number in ("NaN", "Infinity", "-Infinity", "1e999", "1" * 400, '"1"', "null", "1000"):
        biased = f'{{"text": "a", "decode_bias": {{"PER": {number}}}}}'.encode()
        yield Attack(f"a bias of {number[:9]}", (request(biased),), 422)
    yield Attack("too many texts", (body({"inputs": ["a"] * draw.randrange(257, 5_000)}),), 413)
    yield Attack("a long text", (body({"text": "a " * 15_000}),), 413)
    yield Attack("too many tokens", (body({"text": "a " * 2_500}),), 413)
    yield Attack("too many tokens together", (body({"inputs": ["a " * 1_500] * 20}),), 413)
    character = draw.choice([")", "a", "\U0001f600", "'s", "."])
    yield Attack("a long word", (body({"text": (character * 15_000)[:15_000]}),), 413)
    yield Attack("a long token", (body({"tokens": ["a" * 15_000]}),), 413)
    yield Attack("a huge body", (request(b" " * draw.randrange(1_000_001, 9_000_000)),), 413)
    chunk = b"4000\r\n" + b" " * 0x4000 + b"\r\n"
    head = request(Transfer_Encoding="chunked").replace(b"Content-Length: 0\r\n", b"")
    yield Attack("a huge body in chunks", (head + chunk * 100 + b"0\r\n\r\n",), 413)
    yield Attack("chunks that are none", (head + b"zz\r\nabc\r\n",))
    too_large = request(Content_Length="99999999999", Expect="100-continue")
    yield Attack("a huge body, asked for", (too_large,), 413)
    yield Attack("a length below 0", (request(b"{}", Content_Length="-1"),), 400)
    yield Attack("a length that is none", (request(b"{}", Content_Length="many"),), 400)
    yield Attack("a slow body", (request(valid)[:-5], b"x"), 408, 1.5 * body_seconds)
    slow = tuple(bytes([each]) for each in request(valid)[-20:])
    yield Attack("a body byte by byte", (request(valid)[:-20], *slow), 408, body_seconds / 8)
    yield Attack("no media type", (request(valid, content_type=""),))
    yield Attack("a form", (request(valid, content_type="application/x-www-form-urlencoded"),), 422)
    yield Attack("plain text", (request(valid, content_type="text/plain"),), 422)
    for method in ("GET", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "HEAD"):
        yield Attack(f"{method} of /tag", (request(method=method),), 405)
    path = draw.choice(["/", "/labels", "/health", "/metrics"])
    yield Attack("POST of what can be read", (request(valid, path=path),), 405)
    for name in ("/nowhere", "/../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "/tag/%ff", "/docs"):
        yield Attack(f"a path that is not there, {name}", (request(method="GET", path=name),), 404)
    yield Attack("a path of bytes", (request(method="GET", path="/\xff\xfe"),))
    yield Attack("another host", (request(valid, Host="evil.example"),), 421)
    yield Attack("another site", (request(valid, Origin="http://evil.example"),), 403)
    yield Attack("no site", (request(valid, Origin="null"),), 403)
    yield Attack("an unknown method", (request(method="BREW"),))
    yield Attack("no HTTP", (draw.randbytes(200) + b"\r\n\r\n",))
    yield Attack("HTTP of the future", (b"GET / HTTP/9.9\r\n\r\n",))
    yield Attack("large headers", (request(valid, X="x" * 60_000),), 431)
    yield Attack("a large path", (request(method="GET", path="/" + "x" * 60_000),))


@asynccontextmanager
async def connected(port, source="127.0.0.1", is_read=True):
    """Connects to a port. Unless `is_read`, with a small receive buffer."""
    with suppress(ConnectionError), socket.socket() as connection:
        connection.setblocking(False)
        if not is_read:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.bind((source, 0))
        await asyncio.get_running_loop().sock_connect(connection, ("127.0.0.1", port))
        reader, writer = await asyncio.open_connection(sock=connection)
        try:
            yield reader, writer
        finally:
            writer.close()
            with suppress(ConnectionError):
                await writer.wait_closed()


async def status_of(attack, port):
    """Sends a malformed request. Returns the status, 0 without an answer, and the body."""

    async def send(writer):
        for number, part in enumerate(attack.parts):
            if number > 0:
                await asyncio.sleep(attack.pause)
            writer.write(part)
            await writer.drain()

    async with connected(port) as (reader, writer):
        sending = asyncio.create_task(send(writer))
        try:
            return await asyncio.wait_for(answer_of(reader), 60)
        finally:
            sending.cancel()
            await asyncio.gather(sending, return_exceptions=True)


async def answer_of(reader):
    """Reads an answer from a connection. Returns its status and body."""
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except (asyncio.IncompleteReadError, ConnectionError):
        return 0, b""
    status = int(head.split(b" ", 2)[1])
    lengths = [
        int(line.split(b":")[1])
        for line in head.lower().split(b"\r\n")
        if line.startswith(b"content-length:")
    ]
    try:
        return status, await reader.readexactly(lengths[0] if lengths else 0)
    except asyncio.IncompleteReadError as error:
        return status, error.partial  # The answer to HEAD has a length but no body.


def verdict(attack, status, body):
    """Returns what is wrong with the answer to a malformed request, or None."""
    if not (400 <= status < 500 and attack.status in (None, status)):
        return f"{attack.name}: {status}, expected {attack.status or '4xx'}; {body[:200]!r}"
    try:
        is_said = bool(json.loads(body)["error"]["message"])
    except (ValueError, KeyError, TypeError):
        # Answers to HEAD, and uvicorn's own answer to anything that is not HTTP.
        is_said = body in (b"", b"Invalid HTTP request received.")
    return (
        None if is_said else f"{attack.name}: the answer does not say what is wrong: {body[:200]!r}"
    )


async def tag_in_peace(port, wanted, seconds):
    """Tags one text repeatedly and records the seconds of each request."""
    async with connected(port) as (reader, writer):
        while True:
            started = time.perf_counter()
            writer.write(request(json.dumps({"text": wanted["text"]}).encode()))
            status, body = await answer_of(reader)
            assert status == 200, body
            (result,) = json.loads(body)["results"]
            assert (result["tags"], result["text"]) == (wanted["tags"], wanted["text"]), result
            seconds.append(time.perf_counter() - started)
            await asyncio.sleep(0.02)


async def attack_port(port, wanted, number, body_seconds):
    """Sends at least `number` malformed requests while a text is tagged. Returns the problems."""
    draw = random.Random(0)
    waiting = []
    while len(waiting) < number:
        waiting += attacks(draw, body_seconds)
    draw.shuffle(waiting)
    wrong = []

    async def work():
        while waiting:
            attack = waiting.pop()
            status, body = await status_of(attack, port)
            problem = verdict(attack, status, body)
            if problem:
                wrong.append(problem)

    seconds = []
    peace = asyncio.create_task(tag_in_peace(port, wanted, seconds))
    await asyncio.gather(*(work() for _ in range(ATTACKERS)))
    if peace.done():
        peace.result()
    peace.cancel()
    await asyncio.gather(peace, return_exceptions=True)
    assert seconds
    return sorted(set(wrong))
