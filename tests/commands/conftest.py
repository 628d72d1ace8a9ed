import io
import sys

import fsspec
import pytest

from tests.allennlp_command import SETTINGS, Outcome


@pytest.fixture(scope="module")
def s3():
    """An S3 of our own, with a bucket."""
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    with pytest.MonkeyPatch.context() as environment:
        for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
            environment.setenv(name, "any")
        environment.setenv("AWS_DEFAULT_REGION", "us-east-1")
        environment.setenv("AWS_ENDPOINT_URL", "http://{}:{}".format(*server.get_host_and_port()))
        # One that knows the server of another module's tests may be there.
        fsspec.get_filesystem_class("s3").clear_instance_cache()
        store = fsspec.filesystem("s3")
        store.mkdir("bucket")
        yield "s3://bucket"
        # The servers of a process share what they hold.
        store.rm("bucket", recursive=True)
    server.stop()


@pytest.fixture
def run_here(allennlp, monkeypatch, capsys):
    """Runs a command as `run_command` does, but in this process."""
    for name in SETTINGS:
        monkeypatch.delenv(name, raising=False)

    def run(arguments, folder, text=b""):
        monkeypatch.chdir(folder)
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text), "utf-8"))
        status = 0
        try:
            allennlp(*arguments)
        except SystemExit as end:
            status = end.code
            if isinstance(status, str):
                print(status, file=sys.stderr)
                status = 1
        lines = [stream.replace("\r", "\n").split("\n") for stream in capsys.readouterr()]
        return Outcome(status, *lines)

    return run
