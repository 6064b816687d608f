"""The clients, the verification of callbacks, and the amounts."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
import json
import random
import re
import time
from dataclasses import dataclass, fields, is_dataclass
from decimal import Decimal
from email.utils import parsedate_to_datetime
from enum import Enum
from functools import lru_cache
from typing import Any, AsyncIterator, Callable, Dict, Generic, Hashable, Iterable, Iterator, List, Optional, Protocol
from typing import Sequence, Tuple, TypeVar, Union, cast, get_args, get_origin, get_type_hints
from urllib.parse import quote, urlencode

import httpx

from .api import AMOUNT_FIELDS, Amount, ApiRequest, AsyncOperations, Callback, Feed, Operations, ValidationError

__version__ = "0.1.0"

T = TypeVar("T")
Transport = TypeVar("Transport")
Secrets = Union[str, Sequence[str]]
Outcome = Union[httpx.Response, httpx.RequestError]


class TransferdError(Exception):
    """A failed request."""

    #: Whether the service may have carried out the request: no response, a 5xx, or an unreadable response. To find
    #: out, send it again unchanged: for creates, with the same reference_id.
    is_outcome_unknown: bool = False
    #: The seconds that the service requires before the next attempt.
    retry_after: Optional[float] = None


class NoResponseError(TransferdError):
    """The connection failed, or the response did not arrive in time."""

    is_outcome_unknown = True


@dataclass(eq=False, repr=False)
class ApiError(TransferdError):
    """A response that reports a failure, or that something other than the service sent (then ``code`` is None)."""

    #: The HTTP status.
    status: int
    #: Stable, for example ``ErrorCode.HASH_MISMATCH``. The message can change.
    code: Optional[int] = None
    message: str = ""
    details: Optional[str] = None
    validation_errors: Sequence[ValidationError] = ()
    #: The X-Request-Id of the response. Quote it to support.
    request_id: Optional[str] = None
    retry_after: Optional[float] = None

    def __post_init__(self) -> None:
        # An unreadable success may have had its effect, and so may a redirected request.
        self.is_outcome_unknown = self.status >= 500 or self.status < 400

    def __str__(self) -> str:
        texts = [self.message, self.details, *(error.message for error in self.validation_errors)]
        kind = f"HTTP {self.status}" if self.code is None else f"{self.code} (HTTP {self.status})"
        request = f" [X-Request-Id {self.request_id}]" if self.request_id else ""
        return f"{kind}: {' '.join(text for text in texts if text)}{request}"


@dataclass(eq=False, repr=False)
class CallbackRejected(Exception):
    """A request that is not a genuine, current callback. Respond with 400 and do nothing."""

    #: missing-signature, old-timestamp, future-timestamp, changed-body, wrong-signature or wrong-hash-code.
    reason: str
    message: str

    def __str__(self) -> str:
        return f"{self.reason}: {self.message}"


_AMOUNT = re.compile(r"(0|[1-9][0-9]*)(?:\.([0-9]{1,2}))?")


def to_minor_units(amount: str) -> int:
    """Returns the minor units of a decimal text: 10050 for "100.50". Raises ValueError if it is not an amount."""
    match = _AMOUNT.fullmatch(_text_of("amount", amount))
    if match is None:
        raise ValueError(f'{amount!r} is not an amount: write digits and at most two decimals, such as "100.50"')
    return int(match[1]) * 100 + int((match[2] or "").ljust(2, "0"))


def from_minor_units(minor_units: int) -> Amount:
    """Returns the decimal text of minor units: "100.50" for 10050."""
    if isinstance(minor_units, bool) or not isinstance(minor_units, int):
        raise TypeError(f"minor units are an int, not {type(minor_units).__name__}")
    if minor_units < 0:
        raise ValueError("an amount cannot be negative")
    return Amount(f"{minor_units // 100}.{minor_units % 100:02}")


def _text_of(name: str, amount: object) -> str:
    if isinstance(amount, str):
        return amount
    text = f"{amount:.2f}" if isinstance(amount, (int, float, Decimal)) else ""
    example = text if _AMOUNT.fullmatch(text) else "100.50"
    raise TypeError(
        f"{name} must be a decimal text, not {type(amount).__name__}: the hashCode covers the text, and a number has no "
        f'unique text (a float is not even exact). Write "{example}", or use from_minor_units for minor units.'
    )


def hash_code(secret_key: str, amount: str, reference_id: str) -> str:
    """Returns the hashCode of a create whose body has exactly this text as its amount."""
    text = f"{secret_key}{_text_of('amount', amount)}{reference_id}"
    # Without the argument, Python refuses MD5 on systems in FIPS mode.
    return hashlib.md5(_bytes(text), usedforsecurity=False).hexdigest().upper()


def sign_request(
    secret_key: str, body: Union[str, bytes], *, at: Optional[int] = None, method: str = "POST", path: str = ""
) -> str:
    """Returns the X-Signature of a request. Under ``/v1`` the method and the path are signed, too.

    body: Exactly as sent.
    at: Seconds since 1970; defaults to the current time.
    path: As sent, without a prefix of the base URL.
    """
    target = f"{method} {path}." if path.startswith("/v1/") else ""
    seconds = int(time.time()) if at is None else at
    content = _bytes(f"{seconds}.{target}") + _bytes(body)
    return f"t={seconds},v1={hmac.new(_bytes(secret_key), content, hashlib.sha256).hexdigest()}"


def _bytes(text: Union[str, bytes]) -> bytes:
    # A lone surrogate in a forged callback must not raise, and no two texts can have the same bytes.
    return text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass")


class _Number(str):
    """A number as written in JSON, because a float changes amounts."""


#: The exceptions of reading an untrusted text. A deeply nested one causes a RecursionError.
_UNREADABLE = (ValueError, TypeError, LookupError, AttributeError, RecursionError)


def _parse(body: Union[str, bytes]) -> Any:
    """Returns the JSON value. Raises one of _UNREADABLE."""
    text = body.decode("utf-8") if isinstance(body, bytes) else body
    return json.loads(text, parse_float=_Number, parse_int=_Number)


@lru_cache(maxsize=None)
def _fields_of(type_: Hashable) -> List[Tuple[str, str, Any]]:
    class_ = cast(Any, type_)
    hints = get_type_hints(class_)
    return [(field.name, field.metadata["name"], hints[field.name]) for field in fields(class_)]


def _decoded(type_: Any, value: Any, name: str = "the result") -> Any:
    """Returns the value of a type of the API without unknown fields. Raises ValueError."""
    if get_origin(type_) is Union:
        return None if value is None else _decoded(get_args(type_)[0], value, name)
    if get_origin(type_) is list and isinstance(value, list):
        return [_decoded(get_args(type_)[0], item, name) for item in value]
    if get_origin(type_) is dict and isinstance(value, dict):
        return {key: _decoded(get_args(type_)[1], item, name) for key, item in value.items()}
    if is_dataclass(type_) and isinstance(value, dict):
        decode = ((key, _decoded(hint, value.get(name), name)) for key, name, hint in _fields_of(cast(Any, type_)))
        return cast(Any, type_)(**dict(decode))
    if isinstance(value, _Number):
        match = _AMOUNT.fullmatch(value)
        if type_ is Amount and match is not None:
            return Amount(f"{match[1]}.{(match[2] or '').ljust(2, '0')}")
        if type_ in (int, float):
            return type_(value)
    elif type_ in (str, bool) and isinstance(value, type_):
        return value
    raise ValueError(f"{name} is not {getattr(type_, '__name__', 'a list')}")


def _encoded(value: Any, name: str = "") -> str:
    """Returns the JSON of a body without None, in which an amount is written as its text."""
    if name in AMOUNT_FIELDS:
        if to_minor_units(_text_of(name, value)) == 0:
            raise ValueError(f"{name} must be more than 0")
        return str(value)
    if is_dataclass(value):
        value = {json_name: getattr(value, key) for key, json_name, _ in _fields_of(cast(Any, type(value)))}
    if isinstance(value, dict):
        # The keys of a field's texts are no names of fields.
        names = ((key, "" if name else key, item) for key, item in value.items() if item is not None)
        members = (f"{json.dumps(key)}:{_encoded(item, inner)}" for key, inner, item in names)
        return f"{{{','.join(members)}}}"
    if isinstance(value, (list, tuple)):
        return f"[{','.join(_encoded(item) for item in value)}]"
    return json.dumps(value, ensure_ascii=False)


class _Call(Generic[T]):
    """One request with its attempts, without I/O."""

    def __init__(self, client: _Base[Any], request: ApiRequest[T]) -> None:
        self._client, self._request, self._attempts = client, request, 0
        self._response: Optional[httpx.Response] = None
        if any(part in ("", ".", "..") for part in request.path.split("/")[1:]):
            raise ValueError(f"an id in {request.path} is empty or consists of dots")
        query: Dict[str, Any] = {}
        for name, value in (request.query or {}).items():
            if isinstance(value, dict):
                query.update((f"{name}[{key}]", text) for key, text in value.items())
            elif value is not None:
                query[name] = value.value if isinstance(value, Enum) else value
        self._target = f"{request.path}?{urlencode(query, quote_via=quote)}" if query else request.path
        body = request.body
        if body is not None and request.is_hashed:
            if client._secret_key is None:
                raise ValueError("this request needs a hashCode: create the client with secret_key")
            body = {**body, "hashCode": hash_code(client._secret_key, body["amount"], body["referenceId"])}
        self._body = b"" if body is None else _encoded(body).encode("utf-8")

    def attempt(self) -> httpx.Request:
        """Returns the request of the next attempt, with a signature of the current time."""
        client, method, path, body = self._client, self._request.method, self._request.path, self._body
        self._attempts += 1
        headers = {"WebApiKey": client._web_api_key, "Accept": "application/json"}
        headers["User-Agent"] = f"transferd-python/{__version__}"
        if body:
            headers["Content-Type"] = "application/json"
        if method == "POST" and client._secret_key is not None:
            headers["X-Signature"] = sign_request(client._secret_key, body, at=int(client._now()), path=path)
        timeout = {"timeout": httpx.Timeout(client._timeout).as_dict()}
        return httpx.Request(method, client._base_url + self._target, headers=headers, content=body, extensions=timeout)

    def delay_after(self, outcome: Outcome) -> Optional[float]:
        """Returns the seconds until the next attempt, or None after a success. Raises TransferdError."""
        if isinstance(outcome, httpx.Response):
            if outcome.is_success:
                self._response = outcome
                return None
            error: TransferdError = _error_of(outcome, self._client._now())
            is_passing = outcome.status_code in (429, 500, 502, 503, 504)
        else:
            # The exception is not the cause, because it refers to the request with the keys.
            text = f"{self._client._base_url} did not respond: {type(outcome).__name__} {outcome}".rstrip()
            error, is_passing = NoResponseError(text), True
        retry_after = error.retry_after
        is_last = self._attempts > self._client._max_retries or (retry_after or 0) > 60
        if is_last or not is_passing or not self._request.is_repeatable:
            raise error
        longest = 0.5 * 2.0 ** min(self._attempts - 1, 4)
        return longest * (0.5 + self._client._random() / 2) if retry_after is None else retry_after

    def result(self) -> T:
        """Returns the result of the successful response. Raises ApiError."""
        request, response = self._request, cast(httpx.Response, self._response)
        try:
            value = _parse(response.content)
            if request.is_envelope:
                value = value["result"]
            return cast(T, _decoded(Optional[request.result] if request.is_nullable else request.result, value))
        except _UNREADABLE as error:
            message = f"the response is not one of the service: {error}"
            raise ApiError(
                response.status_code, None, message, None, (), response.headers.get("x-request-id")
            ) from None


def _error_of(response: httpx.Response, now: float) -> ApiError:
    status, request_id = response.status_code, response.headers.get("x-request-id")
    retry_after = _seconds_of(response.headers.get("retry-after", ""), now)
    try:
        error = _parse(response.content)["error"]
        invalid = _decoded(List[ValidationError], error.get("validationErrors") or [])
        code, message = _decoded(int, error["code"]), _decoded(str, error["message"])
        details = _decoded(Optional[str], error.get("details"))
        return ApiError(status, code, message, details, invalid, request_id, retry_after)
    except _UNREADABLE:
        message = "the response is not one of the service."
        if response.has_redirect_location:
            message += f" It redirects to {response.headers['location']}, which is not followed, to keep the keys safe."
        return ApiError(status, None, message, None, (), request_id, retry_after)


def _seconds_of(retry_after: str, now: float) -> Optional[float]:
    """Returns the seconds of a Retry-After header, or None if it is invalid."""
    if re.fullmatch(r"[0-9]+", retry_after):
        return float(retry_after)
    if not retry_after.endswith(" GMT"):
        return None
    try:
        return max(0.0, parsedate_to_datetime(retry_after).timestamp() - now)
    except (TypeError, ValueError, OverflowError):
        return None


class _Base(Generic[Transport]):
    """A client of the API. Use it in a ``with`` statement, or close it.

    base_url: The address of the service.
    web_api_key: Identifies the merchant.
    secret_key: For creates, which need a hashCode, and to sign requests.
    timeout: Seconds for each of connecting, sending and waiting for data.
    max_retries: How often a request that can be repeated is repeated.
    transport: A transport of httpx.
    """

    def __init__(
        self,
        base_url: str,
        web_api_key: str,
        secret_key: Optional[str] = None,
        *,
        timeout: float = 30.0,
        max_retries: int = 3,
        transport: Optional[Transport] = None,
        _sleep: Optional[Callable[[float], Any]] = None,
        _now: Callable[[], float] = time.time,
        _random: Callable[[], float] = random.random,
    ) -> None:
        # A message contains no value, because each can be a secret.
        if not isinstance(web_api_key, str) or not re.fullmatch(r"[\x21-\x7e]+", web_api_key):
            raise ValueError("web_api_key is missing or contains invalid characters")
        if secret_key is not None and (not isinstance(secret_key, str) or not secret_key):
            raise ValueError("secret_key is empty")
        self._base_url = _checked_base_url(base_url)
        self._web_api_key = web_api_key
        self._secret_key = secret_key
        self._timeout, self._max_retries = timeout, max_retries
        self._sleep, self._now, self._random = _sleep, _now, _random
        self._open(transport)

    def _open(self, transport: Optional[Transport]) -> None:
        raise NotImplementedError

    def _advanced(self, position: Optional[str], next_: Optional[str]) -> str:
        """Returns the next position. Raises TransferdError if it is the same, because the loop would never end."""
        if next_ is None or next_ == position:
            raise TransferdError("the service returned the same page again")
        return next_

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._base_url!r})"


def _checked_base_url(base_url: str) -> str:
    # Neither the message nor its cause contains the URL, because it can contain a password.
    try:
        url = httpx.URL(base_url)
    except (httpx.InvalidURL, ValueError, TypeError):
        url = httpx.URL("")
    if url.scheme not in ("http", "https") or not url.host:
        raise ValueError("base_url must be an http or https URL")
    if url.userinfo or "?" in base_url or "#" in base_url:
        raise ValueError("base_url must not contain a user name, a password, a query or a fragment")
    return base_url.rstrip("/")


class Client(_Base[httpx.BaseTransport], Operations):
    __doc__ = _Base.__doc__

    def _open(self, transport: Optional[httpx.BaseTransport]) -> None:
        self._http = httpx.Client(transport=transport, follow_redirects=False)

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes the connections."""
        self._http.close()

    def _send(self, request: ApiRequest[T]) -> T:
        call = _Call(self, request)
        while True:
            try:
                outcome: Outcome = self._http.send(call.attempt())
            except httpx.RequestError as error:
                outcome = error
            if (delay := call.delay_after(outcome)) is None:
                return call.result()
            (self._sleep or time.sleep)(delay)

    def iterate_feed(self, after: Optional[str] = None) -> Iterator[Feed]:
        """Yields pages of list_events, oldest first, until no more events exist. Store ``next`` after each page."""
        while (page := self.list_events(after=after, limit=100)).items:
            yield page
            after = self._advanced(after, page.next)


class AsyncClient(_Base[httpx.AsyncBaseTransport], AsyncOperations):
    __doc__ = _Base.__doc__

    def _open(self, transport: Optional[httpx.AsyncBaseTransport]) -> None:
        self._http = httpx.AsyncClient(transport=transport, follow_redirects=False)

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Closes the connections."""
        await self._http.aclose()

    async def _send(self, request: ApiRequest[T]) -> T:
        call = _Call(self, request)
        while True:
            try:
                outcome: Outcome = await self._http.send(call.attempt())
            except httpx.RequestError as error:
                outcome = error
            if (delay := call.delay_after(outcome)) is None:
                return call.result()
            await (self._sleep or asyncio.sleep)(delay)

    async def iterate_feed(self, after: Optional[str] = None) -> AsyncIterator[Feed]:
        """Yields pages of list_events, oldest first, until no more events exist. Store ``next`` after each page."""
        while (page := await self.list_events(after=after, limit=100)).items:
            yield page
            after = self._advanced(after, page.next)


class Headers(Protocol):
    """The headers of a request: a dict, or those of Flask, Django, Starlette, aiohttp or http.server."""

    def items(self) -> Iterable[Tuple[str, str]]: ...


@dataclass(frozen=True)
class ReceivedCallback:
    """A verified callback."""

    callback: Callback
    #: The same for every attempt of one callback.
    webhook_id: str
    #: Increases with every change of the transfer. Ignore a callback with a lower one than the latest you have seen.
    revision: int
    #: A test event: respond with 2xx and do nothing.
    is_test: bool
    #: ``is_handled`` returned True: respond with 2xx and do nothing.
    is_repeated: bool


_MISMATCHES = {
    "changed-body": "Neither the signature nor the HashCode matches the body. Pass the body exactly as received: parsing "
    "and serializing it again changes it. If it is unchanged, both secrets are those of a different merchant.",
    "wrong-signature": "The HashCode matches, but no signature does. The webhook secret is a different one (during a "
    "rotation, pass the old and the new one), or the webhook-id, the timestamp or other fields were changed.",
    "wrong-hash-code": "The signature is right, but the HashCode is not. The SecretKey is a different one; during a "
    "rotation, pass the old and the new one.",
}


def verify_callback(
    body: Union[bytes, str],
    headers: Headers,
    *,
    webhook_secret: Secrets,
    secret_key: Secrets,
    is_handled: Optional[Callable[[str], bool]] = None,
    tolerance: float = 300,
    now: Optional[float] = None,
) -> ReceivedCallback:
    """Returns the callback of a request. Raises CallbackRejected if it is not genuine and current.

    body: The body as received, before json.loads.
    webhook_secret, secret_key: While one rotates, the old and the new one.
    is_handled: Whether you have handled the webhook-id before. Called only for a genuine callback.
    tolerance: The largest difference between the timestamp and ``now``, in seconds.
    now: Seconds since 1970; defaults to the current time.
    """
    if not isinstance(body, (bytes, str)):
        raise TypeError(f"body must be the body as received, as bytes or str, not {type(body).__name__}")
    keys = [_webhook_key(secret) for secret in _all_of("webhook_secret", webhook_secret)]
    secret_keys = _all_of("secret_key", secret_key)
    received = {name.lower(): value for name, value in headers.items() if isinstance(value, str)}
    for name in ("webhook-id", "webhook-timestamp", "webhook-signature"):
        if not received.get(name):
            raise CallbackRejected(
                "missing-signature", f"The header {name} is missing. Pass all headers of the request."
            )
    webhook_id, timestamp = received["webhook-id"], received["webhook-timestamp"]
    if not re.fullmatch(r"[0-9]{1,15}", timestamp):
        raise CallbackRejected("wrong-signature", "The webhook-timestamp is not a number of seconds.")
    age = (time.time() if now is None else now) - int(timestamp)
    # Every comparison with NaN is false, and a tolerance that is not a number must not accept every time.
    if not abs(age) <= tolerance:
        reason, side = ("old-timestamp", "old") if age > 0 else ("future-timestamp", "in the future")
        message = f"The webhook-timestamp is {abs(age):.0f} s {side}: the request was replayed, or your clock is wrong."
        raise CallbackRejected(reason, message)
    content = _bytes(f"{webhook_id}.{timestamp}.") + _bytes(body)
    expected = [base64.b64encode(hmac.new(key, content, hashlib.sha256).digest()) for key in keys]
    signatures = [_bytes(each[3:]) for each in received["webhook-signature"].split(" ") if each.startswith("v1,")]
    is_signed = any([hmac.compare_digest(right, given) for right in expected for given in signatures])
    is_hashed = _has_hash_code(body, secret_keys)
    if not (is_signed and is_hashed):
        reason = "wrong-hash-code" if is_signed else "wrong-signature" if is_hashed else "changed-body"
        raise CallbackRejected(reason, _MISMATCHES[reason])
    revision = received.get("x-transfer-revision", "")
    if not re.fullmatch(r"[0-9]{1,15}", revision):
        raise CallbackRejected("missing-signature", "The header x-transfer-revision is missing or is not a number.")
    return ReceivedCallback(
        callback=_decoded(Callback, _parse(body)),
        webhook_id=webhook_id,
        revision=int(revision),
        is_test=received.get("x-transfer-test") == "true",
        is_repeated=is_handled is not None and bool(is_handled(webhook_id)),
    )


def _all_of(name: str, secrets: Secrets) -> List[str]:
    # With an empty secret, everyone could sign.
    values = [secrets] if isinstance(secrets, str) else list(secrets or [])
    if not values or not all(isinstance(value, str) and value for value in values):
        raise ValueError(f"{name} is missing or empty")
    return values


def _webhook_key(secret: str) -> bytes:
    try:
        key = base64.b64decode(secret[len("whsec_") :], validate=True)
    except ValueError:
        key = b""
    if not key or not secret.startswith("whsec_"):
        raise ValueError("webhook_secret must be whsec_ and base64")
    return key


def _has_hash_code(body: Union[bytes, str], secret_keys: Sequence[str]) -> bool:
    try:
        fields_ = _parse(body)
        amount, reference_id, given = fields_["Amount"], fields_["RefereneceId"], _bytes(fields_["HashCode"].upper())
        codes = [_bytes(hash_code(secret_key, amount, reference_id)) for secret_key in secret_keys]
    except _UNREADABLE:
        return False
    return any([hmac.compare_digest(code, given) for code in codes])
