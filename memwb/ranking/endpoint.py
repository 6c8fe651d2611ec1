"""Vectors from a service: any endpoint that answers as OpenAI's ``/v1/embeddings`` does, also one on this machine."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import orjson

from ..errors import ConfigError, EmbedderError

if TYPE_CHECKING:
    from .embedder import Vectors

_PASSING = frozenset({408, 409, 425, 429, 500, 502, 503, 504})
"""Answers after which the same request may succeed."""

_FIRST_WAIT, _LONGEST_WAIT = 0.5, 30.0


class EndpointEmbedder:
    """A model behind HTTP.

    ::

        embedder = EndpointEmbedder(
            "https://api.openai.com/v1", "text-embedding-3-small", dimensions=1536, api_key=os.environ["OPENAI_API_KEY"]
        )

    The texts are sent to that address: memories are often personal. Redirections are not followed, so that neither
    they nor the key go elsewhere.

    Args:
        url: Where the service begins, with ``/v1`` or whatever it has in its place; ``/embeddings`` is added.
        model: What the service calls the model.
        dimensions: How many numbers its vectors have. It is not sent; an answer of another size is an error.
        api_key: Sent as a bearer token, where given. It is in no error and no repr.
        batch: The most texts of one request.
        retries: How often a request is tried again that failed for a passing reason (no connection, a time limit, too
            many requests, a fault of the server): after half a second, a second, two, or as long as the service says,
            up to 30 seconds.
        timeout: Seconds that one request may take.

    Raises:
        ConfigError: A setting cannot be used.
    """

    def __init__(
        self,
        url: str,
        model: str,
        *,
        dimensions: int,
        api_key: str | None = None,
        batch: int = 64,
        retries: int = 3,
        timeout: float = 30,
    ) -> None:
        if not isinstance(url, str) or not url.startswith(("http://", "https://")):
            raise _refused("url", url, "an address that begins with http:// or https://")
        if not isinstance(model, str) or not model.strip():
            raise _refused("model", model, "the model's name")
        for key, value, least in (("dimensions", dimensions, 1), ("batch", batch, 1), ("retries", retries, 0)):
            if not isinstance(value, int) or isinstance(value, bool) or value < least:
                raise _refused(key, value, f"a whole number, at least {least}")
        if not isinstance(timeout, int | float) or isinstance(timeout, bool) or not 0 < timeout < math.inf:
            raise _refused("timeout", timeout, "a number of seconds above 0")
        if api_key is not None and (not isinstance(api_key, str) or not api_key.isascii() or not api_key.isprintable()):
            raise ConfigError("EndpointEmbedder: api_key must be a text of printable ASCII characters.", key="api_key")
        self.url, self.model, self.dimensions = f"{url.rstrip('/')}/embeddings", model, dimensions
        self.batch, self.retries, self.timeout = batch, retries, timeout
        self.name = f"{model} at {url.rstrip('/')}"
        self._headers = {"Content-Type": "application/json", "User-Agent": "memwb"}
        if api_key is not None:
            self._headers["Authorization"] = f"Bearer {api_key}"

    def __repr__(self) -> str:
        return f"EndpointEmbedder({self.url!r}, {self.model!r}, dimensions={self.dimensions})"

    async def embed(self, texts: Sequence[str]) -> Vectors:
        """Return the vectors; the event loop runs meanwhile.

        Raises:
            EmbedderError: The service did not give them; the message names it, and says what it answered.
        """
        import asyncio

        import numpy

        vectors = numpy.zeros((len(texts), self.dimensions), numpy.float32)
        for start in range(0, len(texts), self.batch):
            chunk = list(texts[start : start + self.batch])
            vectors[start : start + len(chunk)] = await asyncio.to_thread(self._vectors, chunk)
        lengths = numpy.linalg.norm(vectors, axis=1, keepdims=True)
        vectors /= numpy.where(lengths == 0, 1, lengths)
        return vectors

    def _vectors(self, texts: list[str]) -> Any:
        body = orjson.dumps({"model": self.model, "input": texts, "encoding_format": "float"})
        return self._read(self._asked(body), len(texts))

    def _asked(self, body: bytes) -> bytes:
        """Send a request, again where that may help, and return the answer."""
        from http.client import HTTPException
        from urllib.error import HTTPError
        from urllib.request import HTTPRedirectHandler, Request, build_opener

        class Stay(HTTPRedirectHandler):
            def redirect_request(self, *_: Any) -> None:
                return None

        opener = build_opener(Stay)
        for attempt in range(self.retries + 1):
            wait = min(_FIRST_WAIT * 2**attempt, _LONGEST_WAIT)
            try:
                with opener.open(Request(self.url, body, self._headers), timeout=self.timeout) as answer:
                    return bytes(answer.read())
            except HTTPError as error:
                with error:
                    told = error.read(500).decode("utf-8", "replace").strip()
                cause = f"it answered {error.code} {error.reason}" + f", {told!r}" * bool(told)
                failure = EmbedderError(self.url, cause, status=error.code, advice=_advice(error.code))
                wait = _seconds(error.headers.get("Retry-After"), wait)
                if error.code not in _PASSING:
                    raise failure from None
            except (OSError, HTTPException) as error:
                cause = str(getattr(error, "reason", error)) or type(error).__name__
                failure = EmbedderError(self.url, cause, advice="Is the address right, and the service running?")
            if attempt < self.retries:
                time.sleep(wait)
        raise failure

    def _read(self, answer: bytes, due: int) -> list[list[float]]:
        try:
            items = sorted(orjson.loads(answer)["data"], key=lambda item: item["index"])
            vectors = [[float(number) for number in item["embedding"]] for item in items]
        except (ValueError, KeyError, TypeError) as error:
            raise EmbedderError(self.url, f"its answer is none of this kind of service, {answer[:80]!r}") from error
        sizes = sorted({len(vector) for vector in vectors})
        if len(vectors) != due or sizes != [self.dimensions]:
            said = f"{len(vectors)} vectors of {', '.join(map(str, sizes))} numbers came for {due} texts"
            raise EmbedderError(self.url, f"{said}; dimensions is {self.dimensions}")
        return vectors


def _refused(key: str, value: object, allowed: str) -> ConfigError:
    return ConfigError(f"EndpointEmbedder: {key} is {value!r:.80}; it must be {allowed}.", key=key, value=value)


def _advice(status: int) -> str:
    return {
        401: "Give its api_key.",
        403: "May this api_key use the model?",
        404: "Is the address right, up to and with /v1, and the model's name?",
        429: "It takes fewer requests than were made: wait, or give a larger batch.",
    }.get(status, "")


def _seconds(said: str | None, otherwise: float) -> float:
    """Read a Retry-After, which may also be a date: then the usual time is waited."""
    try:
        return min(max(float(said or ""), 0.0), _LONGEST_WAIT)
    except ValueError:
        return otherwise
