"""Vectors from a service, which a server of the test's own plays."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy
import pytest

from memwb.errors import ConfigError, EmbedderError
from memwb.ranking import Embedder, EndpointEmbedder


class Service:
    """Answers as OpenAI's endpoint does: the vector of a text is (its length, 1), not normalised.

    ``answers`` says what it does instead, one for each request: a status with headers, or bytes.
    """

    def __init__(self) -> None:
        self.requests: list[tuple[str, dict[str, str], Any]] = []
        self.answers: list[Any] = []
        service = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                service.requests.append((self.path, dict(self.headers), body))
                answer = service.answers.pop(0) if service.answers else service.vectors(body["input"])
                status, headers = answer if isinstance(answer, tuple) else (200, {})
                data = answer if isinstance(answer, bytes) else b"told why"
                self.send_response(status)
                for name, value in {**headers, "Content-Length": str(len(data))}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/v1"
        self.thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.01})
        self.thread.start()

    def vectors(self, texts: list[str]) -> bytes:
        data = [{"index": at, "embedding": [len(text), 1.0]} for at, text in enumerate(texts)]
        return json.dumps({"data": data[::-1]}).encode()

    def close(self) -> None:
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()


@pytest.fixture
def service() -> Iterator[Service]:
    service = Service()
    yield service
    service.close()


async def test_vectors_come_in_the_order_of_the_texts_in_batches_and_with_length_one(service):
    embedder = EndpointEmbedder(f"{service.url}/", "small", dimensions=2, api_key="secret", batch=2)

    vectors = await embedder.embed(["a", "bb", "ccc"])

    assert isinstance(embedder, Embedder)
    due = numpy.array([[1, 1], [2, 1], [3, 1]]) / numpy.sqrt([[2], [5], [10]])
    assert (vectors.dtype, numpy.allclose(vectors, due)) == (numpy.float32, True)
    assert [(path, headers["Authorization"], body) for path, headers, body in service.requests] == [
        ("/v1/embeddings", "Bearer secret", {"model": "small", "input": texts, "encoding_format": "float"})
        for texts in (["a", "bb"], ["ccc"])
    ]
    assert (embedder.name, "secret" in repr(embedder)) == (f"small at {service.url}", False)
    assert (await embedder.embed([])).shape == (0, 2)


async def test_a_passing_fault_is_tried_again(service):
    service.answers = [(429, {"Retry-After": "0"}), (503, {"Retry-After": "0"})]

    vectors = await EndpointEmbedder(service.url, "small", dimensions=2).embed(["a"])

    assert (vectors.shape, len(service.requests)) == ((1, 2), 3)


async def test_a_fault_that_stays_names_the_endpoint_and_what_it_said(service):
    service.answers = [(500, {"Retry-After": "0"})] * 2

    with pytest.raises(EmbedderError) as caught:
        await EndpointEmbedder(service.url, "small", dimensions=2, retries=1).embed(["a"])

    assert str(caught.value) == (
        f"{service.url}/embeddings gave no vectors: it answered 500 Internal Server Error, 'told why'."
    )
    assert (caught.value.status, len(service.requests)) == (500, 2)


async def test_a_refusal_is_not_tried_again_and_the_key_is_not_told(service):
    service.answers = [(401, {})]

    with pytest.raises(EmbedderError, match=r"it answered 401 Unauthorized, 'told why'\. Give its api_key\.") as caught:
        await EndpointEmbedder(service.url, "small", dimensions=2, api_key="secret").embed(["a"])

    assert (len(service.requests), "secret" in str(caught.value)) == (1, False)


async def test_a_redirection_is_not_followed_so_that_the_key_goes_nowhere_else(service):
    service.answers = [(307, {"Location": f"{service.url}/other"})]

    with pytest.raises(EmbedderError, match="it answered 307"):
        await EndpointEmbedder(service.url, "small", dimensions=2, api_key="secret").embed(["a"])

    assert [path for path, _, _ in service.requests] == ["/v1/embeddings"]


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (b"<html>", "its answer is none of this kind of service, b'<html>'."),
        (b'{"data": [{"index": 0}]}', """its answer is none of this kind of service, b'{"data": [{"index": 0}]}'."""),
        (b'{"data": []}', "0 vectors of  numbers came for 1 texts; dimensions is 2."),
        (
            b'{"data": [{"index": 0, "embedding": [1, 2, 3]}]}',
            "1 vectors of 3 numbers came for 1 texts; dimensions is 2.",
        ),
    ],
)
async def test_an_answer_of_another_form_is_told(service, answer, said):
    service.answers = [answer]

    with pytest.raises(EmbedderError) as caught:
        await EndpointEmbedder(service.url, "small", dimensions=2).embed(["a"])

    assert str(caught.value) == f"{service.url}/embeddings gave no vectors: {said}"


async def test_a_service_that_is_not_there_is_named():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}/v1"
    with pytest.raises(EmbedderError, match=f"{url}/embeddings gave no vectors: .*refused.*service running") as caught:
        await EndpointEmbedder(url, "small", dimensions=2, retries=0).embed(["a"])

    assert caught.value.status is None


async def test_a_request_ends_at_its_time_limit():
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/v1"
        with pytest.raises(EmbedderError, match="timed out"):
            await EndpointEmbedder(url, "small", dimensions=2, retries=0, timeout=0.05).embed(["a"])


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("url", "localhost:8080"),
        ("url", None),
        ("model", " "),
        ("dimensions", 0),
        ("batch", True),
        ("retries", -1),
        ("timeout", 0),
        ("timeout", float("nan")),
        ("api_key", "a\nb"),
    ],
)
def test_a_setting_that_cannot_be_used_is_refused(key, value):
    given = {"url": "http://localhost/v1", "model": "small", "dimensions": 2, key: value}

    with pytest.raises(ConfigError, match=f"EndpointEmbedder: {key} ") as caught:
        EndpointEmbedder(**given)

    assert caught.value.key == key
