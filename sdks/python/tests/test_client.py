"""Requests, retries, errors and results of both clients, with a transport in memory."""

import asyncio
import dataclasses
import json
import logging
import pickle
import threading
import time
import traceback
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, HTTPServer

import httpx
import pytest

import transferd
from transferd import ApiError, AsyncClient, Client, NoResponseError, Status, TransferdError
from transferd.api import AsyncOperations, Operations

KEY, SECRET = "wk_very-private-key", "sk_very-private-secret"
NOW = 1_795_341_600.0
DEPOSIT = {
    "amount": "100.50",
    "user_id": "8412",
    "name": "Şule",
    "username": "sule",
    "reference_id": "sipariş-7",
    "payment_method": 1,
}
TRANSFER = {
    "trackingId": "t",
    "transactionId": "t",
    "referenceId": "r",
    "kind": "deposit",
    "channel": None,
    "status": 2,
    "statusDescription": "Completed",
    "amount": 100.5,
    "transactionAmount": 100.5,
    "hasAmountMismatch": False,
    "receivedAmount": 0,
    "returnedAmount": 0,
    "refundedAmount": 0,
    "reservedAmount": 0,
    "resolvedAmount": 0,
    "needsAttention": False,
    "lateFunds": 0,
    "userId": "u",
    "name": "n",
    "username": "u",
    "paymentMethod": 1,
    "exceededLimits": [],
    "refunds": [],
    "repayments": [],
    "createdAt": "2026-11-21T10:00:00.000Z",
    "updatedAt": "2026-11-21T10:00:00.000Z",
    "revision": 3,
}
CREATED = {"transactionId": "t", "trackingId": "t", "referenceId": "r", "status": 1, "statusDescription": "Pending"}


def json_response(status, value, headers=None):
    return httpx.Response(status, content=json.dumps(value), headers=headers)


def envelope(result=None, error=None, status=200, headers=None):
    return json_response(status, {"result": result, "success": error is None, "error": error, "__abp": True}, headers)


class World:
    """A client, the requests that it has sent, and the times that it has waited. Waiting moves its clock."""

    def __init__(self, client_class, outcomes, **options):
        self.requests, self.waits, self.now = [], [], NOW
        outcomes = iter(outcomes)

        def respond(request):
            self.requests.append(request)
            outcome = next(outcomes)
            if isinstance(outcome, Exception):
                raise outcome
            return outcome

        def sleep(seconds):
            self.waits.append(seconds)
            self.now += seconds

        async def sleep_async(seconds):
            sleep(seconds)

        self._client_class = client_class
        settings = {
            "transport": httpx.MockTransport(respond),
            "_now": lambda: self.now,
            "_random": lambda: 1.0,
            **options,
        }
        self.client = client_class(
            "http://service/prefix/",
            KEY,
            **{"secret_key": SECRET, "_sleep": sleep if client_class is Client else sleep_async, **settings},
        )

    def call(self, method, *arguments, **keywords):
        outcome = getattr(self.client, method)(*arguments, **keywords)
        return asyncio.run(outcome) if asyncio.iscoroutine(outcome) else outcome

    def all(self, method, **keywords):
        found = getattr(self.client, method)(**keywords)
        if self._client_class is Client:
            return list(found)

        async def collected():
            return [item async for item in found]

        return asyncio.run(collected())


both = pytest.mark.parametrize("client_class", [Client, AsyncClient])

#: Each operation with arguments, and whether a repeat changes nothing.
CALLS = {
    "create_hosted_deposit": (DEPOSIT, True),
    "create_native_deposit": (DEPOSIT, True),
    "create_withdrawal": ({**DEPOSIT, "account_number": "TR33"}, True),
    "wallet_customer_login": ({"tracking_id": "t", "user_name": "a", "password": "123456"}, False),
    "wallet_2fa": ({"tracking_id": "t", "token": "t", "code": "123456"}, False),
    "wallet_validate_user_device": ({"tracking_id": "t", "token": "t"}, True),
    "get_transfer": ({"tracking_id": "t"}, True),
    "list_transfers": ({}, True),
    "get_transfer_events": ({"tracking_id": "t"}, True),
    "list_events": ({}, True),
    "get_merchant": ({}, True),
    "get_transfer_callbacks": ({"tracking_id": "t"}, True),
    "resend_transfer_callbacks": ({"tracking_id": "t"}, False),
    "list_callbacks": ({}, True),
    "resend_callbacks": ({"parked_since": "2026-11-21"}, False),
    "get_callback_endpoint": ({}, True),
    "test_callback_endpoint": ({}, False),
    "enable_callback_endpoint": ({}, True),
    "claim_withdrawal": ({"tracking_id": "t", "revision": 0}, True),
    "release_withdrawal": ({"tracking_id": "t", "revision": 0}, True),
    "complete_withdrawal": ({"tracking_id": "t", "revision": 0, "amount": "1.00"}, True),
    "cancel_withdrawal": ({"tracking_id": "t", "revision": 0, "message": "m"}, True),
    "receive_deposit": ({"tracking_id": "t", "revision": 0, "amount": "1.00", "reference": "r"}, True),
    "repay_withdrawal": ({"tracking_id": "t", "revision": 0, "amount": "1.00", "reference_id": "r", "account_number": "a"}, True),
    "refund_deposit": ({"tracking_id": "t", "revision": 0, "amount": "1.00", "reference_id": "r"}, True),
    "correct_transfer": ({"tracking_id": "t", "revision": 0, "amount": "1.00", "reason": "r"}, True),
    "record_withdrawal_return": (
        {"tracking_id": "t", "revision": 0, "amount": "1.00", "reason_code": "AC04", "reference": "r"},
        True,
    ),
}


def test_the_calls_are_all_operations():
    for operations in (Operations, AsyncOperations):
        names = {name for name in vars(operations) if not name.startswith("_")}
        assert names - {"iterate_transfers", "iterate_callbacks"} == set(CALLS)


FAILURES = [429, 500, 502, 503, 504, httpx.ConnectError("refused"), httpx.ReadTimeout("slow"), httpx.ReadError("reset")]


@both
@pytest.mark.parametrize("operation", CALLS)
@pytest.mark.parametrize("failure", FAILURES, ids=str)
def test_only_operations_that_change_nothing_twice_are_repeated(client_class, operation, failure):
    def outcome():
        return failure if isinstance(failure, Exception) else httpx.Response(failure, text="busy")

    arguments, is_repeatable = CALLS[operation]
    world = World(client_class, [outcome() for _ in range(9)])
    with pytest.raises(TransferdError) as caught:
        world.call(operation, **arguments)
    assert len(world.requests) == (4 if is_repeatable else 1)
    assert world.waits == ([0.5, 1.0, 2.0] if is_repeatable else [])
    assert caught.value.is_outcome_unknown == (failure != 429)
    assert isinstance(caught.value, NoResponseError if isinstance(failure, Exception) else ApiError)


@both
@pytest.mark.parametrize("status", [301, 307, 308, 400, 401, 403, 404, 408, 409, 413, 501])
def test_other_statuses_are_never_repeated(client_class, status):
    world = World(client_class, [httpx.Response(status, headers={"Location": "http://elsewhere/"})])
    with pytest.raises(ApiError) as caught:
        world.call("create_native_deposit", **DEPOSIT)
    assert (caught.value.status, caught.value.code) == (status, None)
    assert len(world.requests) == 1
    assert ("http://elsewhere/" in str(caught.value)) == (300 <= status < 400)
    assert caught.value.is_outcome_unknown == (status < 400 or status >= 500)


@both
def test_the_back_off_doubles_up_to_eight_seconds_with_jitter(client_class):
    for jitter, factor in ((0.0, 0.5), (1.0, 1.0)):
        world = World(client_class, [httpx.Response(503)] * 2000, max_retries=1500, _random=lambda: jitter)
        with pytest.raises(ApiError):
            world.call("get_merchant")
        assert world.waits == [seconds * factor for seconds in (0.5, 1.0, 2.0, 4.0, *[8.0] * 1496)]


@both
@pytest.mark.parametrize(
    ("retry_after", "wait"),
    [
        ("0", 0.0),
        ("7", 7.0),
        ("60", 60.0),
        ("61", None),
        ("999999999", None),
        ("9" * 20, None),
        (formatdate(NOW + 30, usegmt=True), 30.0),
        (formatdate(NOW - 30, usegmt=True), 0.0),
        (formatdate(NOW + 61, usegmt=True), None),
        (formatdate(NOW), 0.5),
        ("soon", 0.5),
        ("-1", 0.5),
        ("٣", 0.5),
        ("", 0.5),
    ],
)
def test_retry_after(client_class, retry_after, wait):
    busy = httpx.Response(429, headers={"Retry-After": retry_after.encode()})
    world = World(client_class, [busy, json_response(200, TRANSFER)])
    if wait is None:
        with pytest.raises(ApiError) as caught:
            world.call("get_transfer", "t")
        assert caught.value.retry_after > 60
        assert world.waits == []
    else:
        assert world.call("get_transfer", "t").revision == 3
        assert world.waits == [wait]


@both
def test_every_attempt_has_the_same_body_and_a_fresh_signature(client_class):
    lost = httpx.ReadTimeout("slow")
    world = World(client_class, [lost, httpx.Response(502), envelope({**CREATED, "amount": 100.5})])
    assert world.call("create_native_deposit", **DEPOSIT).amount == "100.50"
    assert len({request.content for request in world.requests}) == 1
    times = [NOW, NOW + 0.5, NOW + 1.5]
    for request, at in zip(world.requests, times):
        signature = transferd.sign_request(SECRET, request.content, at=int(at))
        assert request.headers["X-Signature"] == signature
        assert request.headers["WebApiKey"] == KEY
        assert request.headers["Content-Type"] == "application/json"
        assert str(request.url) == "http://service/prefix/api/services/app/TransactionRequests/CreateDeposit"
    body = json.loads(world.requests[0].content.decode("utf-8"))
    assert body["hashCode"] == transferd.hash_code(SECRET, "100.50", "sipariş-7")
    assert b'"amount":100.50,' in world.requests[0].content
    assert "Şule".encode() in world.requests[0].content


@both
def test_under_v1_the_path_is_signed_without_the_prefix_of_the_base_url(client_class):
    world = World(client_class, [json_response(200, TRANSFER)])
    world.call("claim_withdrawal", "a/b?c", revision=0)
    [request] = world.requests
    assert request.url.raw_path == b"/prefix/v1/withdrawals/a%2Fb%3Fc/claim"
    path = "/v1/withdrawals/a%2Fb%3Fc/claim"
    assert request.headers["X-Signature"] == transferd.sign_request(SECRET, '{"revision":0}', at=int(NOW), path=path)


@both
def test_a_body_has_no_none_and_a_request_without_a_body_no_type(client_class):
    world = World(client_class, [json_response(202, {"requeued": 1}), json_response(200, {"url": "u"})])
    world.call("resend_transfer_callbacks", "t")
    with pytest.raises(ApiError):
        world.call("enable_callback_endpoint")
    assert [request.content for request in world.requests] == [b"{}", b""]
    assert "Content-Type" not in world.requests[1].headers
    assert "X-Signature" in world.requests[1].headers


@both
def test_the_dataclasses_of_a_body_have_the_names_of_json(client_class):
    world = World(client_class, [json_response(202, {"requeued": 1, "more": False})])
    world.call("resend_callbacks", callbacks=[transferd.CallbackId("t", "w")])
    assert json.loads(world.requests[0].content) == {"callbacks": [{"trackingId": "t", "webhookId": "w"}]}


@both
def test_a_query_is_encoded_and_has_the_values_of_enums(client_class):
    world = World(client_class, [json_response(200, {"items": [], "nextCursor": None})])
    world.call(
        "list_transfers", reference_id="a b&ş+", kind=transferd.Kind.DEPOSIT, status=transferd.StatusName.PENDING
    )
    query = b"referenceId=a%20b%26%C5%9F%2B&status=Pending&kind=deposit"
    assert world.requests[0].url.query == query
    assert "X-Signature" not in world.requests[0].headers


@both
def test_texts_by_key_are_one_parameter_each(client_class):
    world = World(client_class, [json_response(200, {"items": [], "nextCursor": None})])
    world.call("list_transfers", metadata={"order": "a&b", "amount": "5"})
    assert world.requests[0].url.query == b"metadata%5Border%5D=a%26b&metadata%5Bamount%5D=5"


@both
@pytest.mark.parametrize("tracking_id", ["", ".", ".."])
def test_an_id_cannot_lead_to_a_different_path(client_class, tracking_id):
    world = World(client_class, [])
    with pytest.raises(ValueError):
        world.call("get_transfer", tracking_id)
    assert world.requests == []


@both
def test_a_create_needs_the_secret_key_before_anything_is_sent(client_class):
    world = World(client_class, [json_response(200, TRANSFER)], secret_key=None)
    with pytest.raises(ValueError, match="secret_key"):
        world.call("create_hosted_deposit", **DEPOSIT)
    assert world.requests == []
    world.call("claim_withdrawal", "t", revision=0)
    assert "X-Signature" not in world.requests[0].headers


@both
def test_an_error_has_all_its_parts(client_class):
    error = {
        "code": 40001,
        "message": "Invalid request.",
        "details": "More.",
        "validationErrors": [{"message": "amount must be greater than 0.", "members": ["amount"], "later": 1}],
        "later": {},
    }
    world = World(client_class, [envelope(error=error, status=400, headers={"X-Request-Id": "r-1"})])
    with pytest.raises(ApiError) as caught:
        world.call("create_native_deposit", **DEPOSIT)
    failure = caught.value
    assert (failure.status, failure.code, failure.message, failure.details) == (400, 40001, "Invalid request.", "More.")
    assert failure.code == transferd.ErrorCode.INVALID_REQUEST
    assert [each.members for each in failure.validation_errors] == [["amount"]]
    assert (failure.request_id, failure.retry_after, failure.is_outcome_unknown) == ("r-1", None, False)
    for text in ("40001", "Invalid request.", "More.", "greater than 0", "r-1"):
        assert text in str(failure)
    assert str(pickle.loads(pickle.dumps(failure))) == str(failure)


@both
@pytest.mark.parametrize(
    "text",
    ["", "<html>", "null", "[]", "{}", '{"result":null}', '{"result":{}}', '{"result":{"trackingId":1}}', "[" * 99_999],
)
@pytest.mark.parametrize("status", [200, 400, 500])
def test_a_response_of_something_else_is_an_error_without_code(client_class, text, status):
    world = World(client_class, [httpx.Response(status, text=text)] * 4)
    with pytest.raises(ApiError) as caught:
        world.call("create_native_deposit", **DEPOSIT)
    assert (caught.value.status, caught.value.code) == (status, None)
    assert caught.value.is_outcome_unknown == (status != 400)


@both
def test_a_pending_device_is_none(client_class):
    pending = envelope(error={"code": 20001, "message": "Not yet.", "details": None, "validationErrors": None})
    world = World(client_class, [pending, envelope("Completed")])
    assert world.call("wallet_validate_user_device", token="t", tracking_id="t") is None
    assert world.call("wallet_validate_user_device", token="t", tracking_id="t") == "Completed"


@both
def test_results_ignore_unknown_fields_and_keep_unknown_values(client_class):
    changed = {**TRANSFER, "status": 9, "statusDescription": "Refunded", "kind": "loan", "later": {"a": [1]}}
    world = World(client_class, [json_response(200, TRANSFER), json_response(200, changed)])
    known, later = world.call("get_transfer", "t"), world.call("get_transfer", "t")
    assert known.status == Status.COMPLETED and type(known.status) is int
    assert (later.status, later.status_description, later.kind) == (9, "Refunded", "loan")
    assert known.message is None, "a missing field that can be null"
    assert (known.amount, known.late_funds) == ("100.50", "0.00")
    assert dataclasses.replace(known, status=9, status_description="Refunded", kind="loan") == later


@both
@pytest.mark.parametrize("amount", ["1e2", "1.005", "-1", '"1"', "null", "true", "NaN", "Infinity", "[]"])
def test_an_amount_is_never_changed(client_class, amount):
    text = json.dumps(TRANSFER).replace('"amount": 100.5', f'"amount": {amount}')
    world = World(client_class, [httpx.Response(200, text=text)])
    with pytest.raises(ApiError, match="amount"):
        world.call("get_transfer", "t")


@both
def test_iteration_reads_all_pages(client_class):
    pages = [
        {"items": [TRANSFER, TRANSFER], "nextCursor": "c+1"},
        {"items": [], "nextCursor": "c2"},
        {"items": [{**TRANSFER, "revision": 4}], "nextCursor": None},
    ]
    world = World(client_class, [json_response(200, page) for page in pages])
    assert [each.revision for each in world.all("iterate_transfers", status="Completed", from_="2026-11-21")] == [
        3,
        3,
        4,
    ]
    assert [dict(request.url.params) for request in world.requests] == [
        {"status": "Completed", "from": "2026-11-21", "limit": "100", **cursor}
        for cursor in ({}, {"cursor": "c+1"}, {"cursor": "c2"})
    ]
    world = World(client_class, [json_response(200, {"items": [], "nextCursor": None})])
    assert world.all("iterate_callbacks", status="parked") == []
    assert dict(world.requests[0].url.params) == {"status": "parked", "limit": "100"}


@both
def test_the_feed_ends_with_a_page_without_events(client_class):
    event = {"trackingId": "t", "eventId": "e", "revision": 0, "type": "T", "at": "now", "data": {"amount": 1}}
    pages = [{"items": [{**event, "position": n}], "next": f"n{n}"} for n in ("1", "2")]
    world = World(client_class, [json_response(200, page) for page in [*pages, {"items": [], "next": "n2"}]])
    found = world.all("iterate_feed", after="n0")
    assert [(page.next, page.items[0].position, page.items[0].data.amount) for page in found] == [
        ("n1", "1", "1.00"),
        ("n2", "2", "1.00"),
    ]
    assert [request.url.params["after"] for request in world.requests] == ["n0", "n1", "n2"]


@both
def test_iteration_never_reads_the_same_page_again(client_class):
    event = {"position": "1", "trackingId": "t", "eventId": "e", "revision": 0, "type": "T", "at": "now", "data": {}}
    for method, page, requests in (
        ("iterate_transfers", {"items": [TRANSFER], "nextCursor": "c"}, 2),
        ("iterate_callbacks", {"items": [], "nextCursor": "c"}, 2),
        ("iterate_feed", {"items": [event], "next": "c"}, 2),
        ("iterate_feed", {"items": [event], "next": None}, 1),
    ):
        world = World(client_class, [json_response(200, page)] * 3)
        with pytest.raises(TransferdError, match="same page"):
            world.all(method)
        assert len(world.requests) == requests


def test_a_signature_has_the_current_time_by_default():
    before = int(time.time())
    at = int(transferd.sign_request(SECRET, "{}").split(",")[0][2:])
    assert before <= at <= time.time()


@both
@pytest.mark.parametrize(
    "base_url",
    ["", "service", "ftp://service", "http://", "http:///x", "http://u:pw-secret@service", "http://u@service"]
    + ["http://service?a=pw-secret", "http://service/#x", "http://service:pw-secret", " http://service", None, 1],
)
def test_the_base_url_is_checked_without_repeating_it(client_class, base_url):
    with pytest.raises(ValueError, match="base_url") as caught:
        client_class(base_url, KEY)
    text = "".join(traceback.format_exception(type(caught.value), caught.value, None))
    assert "pw-secret" not in text


@both
@pytest.mark.parametrize(
    "keys", [("", SECRET), (None, SECRET), ("a b", SECRET), ("ş", SECRET), ("a\r\nb", SECRET), (KEY, "")]
)
def test_keys_are_checked(client_class, keys):
    with pytest.raises(ValueError, match="_key"):
        client_class("http://service", *keys)


@both
def test_no_key_is_in_a_representation_or_an_error(client_class):
    outcomes = [httpx.ConnectError("refused"), httpx.Response(500, text="x"), httpx.Response(200, text="x")]
    for outcome in outcomes:
        world = World(client_class, [outcome], max_retries=0)
        with pytest.raises(TransferdError) as caught:
            world.call("create_native_deposit", **DEPOSIT)
        # Tools such as Sentry show the representations of the local variables.
        shown = traceback.TracebackException.from_exception(caught.value, capture_locals=True)
        texts = ["".join(shown.format()), repr(caught.value), repr(world.client), str(world.client)]
        for text in texts:
            assert KEY not in text and SECRET not in text
        assert caught.value.__cause__ is None and caught.value.__context__ is None or caught.value.__suppress_context__
    request = transferd.api.ApiRequest("POST", "/", str, body={"password": "123456"})
    assert "123456" not in repr(request)
    assert "secret-token" not in repr(transferd.VerifiedCode("Completed", "secret-token", 1))


class Service(BaseHTTPRequestHandler):
    def do_GET(self):
        body = json.dumps(TRANSFER).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Set-Cookie", "sticky=1")
        self.end_headers()
        self.wfile.write(body)
        self.server.seen.append(dict(self.headers))

    def log_message(self, *_):
        pass


@both
def test_no_key_is_in_a_log(client_class, caplog):
    caplog.set_level(logging.DEBUG)
    server = HTTPServer(("127.0.0.1", 0), Service)
    server.seen = []
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    url = f"http://127.0.0.1:{server.server_port}"
    try:
        if client_class is Client:
            with Client(url, KEY, SECRET) as client:
                assert client.get_transfer("t").revision == client.get_transfer("t").revision == 3
        else:

            async def run():
                async with AsyncClient(url, KEY, SECRET) as client:
                    assert (await client.get_transfer("t")).revision == (await client.get_transfer("t")).revision

            asyncio.run(run())
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
    assert "send_request_headers" in caplog.text, "the log is that of a real connection"
    assert KEY not in caplog.text and SECRET not in caplog.text
    assert all("Cookie" not in headers for headers in server.seen)
    assert server.seen[0]["WebApiKey"] == KEY
    assert server.seen[0]["User-Agent"] == f"transferd-python/{transferd.__version__}"


def test_a_custom_timeout_applies_to_each_request():
    world = World(Client, [json_response(200, TRANSFER)], timeout=5)
    world.call("get_transfer", "t")
    assert world.requests[0].extensions["timeout"] == {"connect": 5, "read": 5, "write": 5, "pool": 5}
