"""`fetch-encoder --from-hub` against a small server that speaks the hub's protocol."""

import hashlib
import http.server
import json
import threading

import pytest
from huggingface_hub import constants

from tagger.tools.start.commands.fetch_encoder import fetch_encoder

COMMIT = "a" * 40
FILES = {
    "config.json": b"{}",
    "model.safetensors": b"weights",
    "tokenizer.json": b"rules",
    # Left out.
    "pytorch_model.bin": b"the same weights",
    "onnx/config.json": b"{}",
}


class _Hub(http.server.BaseHTTPRequestHandler):
    """Answers what `snapshot_download` asks: the commit, its files, and their contents."""

    def do_HEAD(self):
        self._answer(with_content=False)

    def do_GET(self):
        self._answer(with_content=True)

    def _answer(self, with_content):
        self.server.asked.append(self.path)
        headers, name = {}, self.path.partition(f"/resolve/{COMMIT}/")[2]
        if "/tree/" in self.path:
            files = [
                {"type": "file", "path": name, "size": len(content), "oid": _oid(content)}
                for name, content in FILES.items()
            ]
            content = json.dumps(files).encode()
        elif self.path.startswith("/api/models/"):
            siblings = [{"rfilename": name} for name in FILES]
            content = json.dumps({"id": "x", "sha": COMMIT, "siblings": siblings}).encode()
        elif name not in FILES:
            self.send_error(404)
            return
        else:
            content = FILES[name]
            headers = {"X-Repo-Commit": COMMIT, "ETag": f'"{_oid(content)}"'}
        self.send_response(200)
        for name, value in {**headers, "Content-Length": str(len(content))}.items():
            self.send_header(name, value)
        self.end_headers()
        if with_content:
            self.wfile.write(content)

    def log_message(self, *_):
        pass


def _oid(content):
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


@pytest.fixture
def hub(monkeypatch, tmp_path):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Hub)
    server.asked = []
    threading.Thread(target=server.serve_forever, daemon=True).start()
    endpoint = f"http://127.0.0.1:{server.server_port}"
    monkeypatch.setattr(constants, "ENDPOINT", endpoint)
    template = constants.HUGGINGFACE_CO_URL_TEMPLATE.partition("/{repo_id}")
    monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", endpoint + "".join(template[1:]))
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.chdir(tmp_path)
    yield server
    server.shutdown()
    server.server_close()


def test_the_original_is_written_under_the_same_name(hub, tmp_path, capfd):
    folder = fetch_encoder("multilingual-e5-small", from_hub=True)
    assert folder.resolve() == tmp_path / "data/multilingual-e5-small"
    assert {path.name: path.read_bytes() for path in folder.iterdir()} == {
        name: FILES[name] for name in ("config.json", "model.safetensors", "tokenizer.json")
    }
    assert f"/intfloat/multilingual-e5-small/resolve/{COMMIT}/model.safetensors" in hub.asked
    assert not any("onnx" in path for path in hub.asked)
    assert (
        "Fetching intfloat/multilingual-e5-small from the Hugging Face hub" in capfd.readouterr()[0]
    )
