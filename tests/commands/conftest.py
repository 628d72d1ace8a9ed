import fsspec
import pytest


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
