"""What verify_callback accepts besides the shared vectors."""

import email.message
import json
from pathlib import Path

import httpx
import pytest

from transferd import CallbackRejected, verify_callback

VECTORS = json.loads((Path(__file__).parents[2] / "test-vectors.json").read_text(encoding="utf-8"))
GENUINE = VECTORS["callbacks"][0]
SECRETS = {"webhook_secret": VECTORS["webhookSecret"], "secret_key": VECTORS["secretKey"]}


def verify(body=GENUINE["body"], headers=GENUINE["headers"], **options):
    return verify_callback(body, headers, **{"now": GENUINE["nowSeconds"], **SECRETS, **options})


def test_headers_of_the_standard_library_and_of_other_mappings():
    message = email.message.Message()
    for name, value in GENUINE["headers"].items():
        message[name.title()] = value
    for headers in (message, httpx.Headers(GENUINE["headers"])):
        assert verify(headers=headers).revision == 1


@pytest.mark.parametrize("revision", [None, "", "-1", "1.5", "x", "١"])
def test_the_revision_is_required(revision):
    headers = {**GENUINE["headers"], "x-transfer-revision": revision}
    with pytest.raises(CallbackRejected) as caught:
        verify(headers={name: value for name, value in headers.items() if value is not None})
    assert caught.value.reason == "missing-signature"
    assert "x-transfer-revision" in str(caught.value)


@pytest.mark.parametrize("name", ["webhook_secret", "secret_key"])
@pytest.mark.parametrize("secret", ["", None, [], [""], ["", "whsec_AAAA"]])
def test_an_empty_secret_verifies_nothing(name, secret):
    with pytest.raises(ValueError, match=name):
        verify(**{name: secret})


@pytest.mark.parametrize("secret", ["whsec_", "secret", "whsec_%%", "whsec_ş", "d2ViaG9vaw=="])
def test_an_invalid_webhook_secret_is_not_in_the_message(secret):
    with pytest.raises(ValueError) as caught:
        verify(webhook_secret=secret)
    assert str(caught.value) == "webhook_secret must be whsec_ and base64"


def test_a_parsed_body_is_a_mistake_of_the_program():
    with pytest.raises(TypeError, match="as received"):
        verify(body=json.loads(GENUINE["body"]))


@pytest.mark.parametrize(
    "body",
    [
        b"\xff",
        "null",
        "[]",
        "1",
        "{}",
        "[" * 100_000,
        '{"a":' * 100_000,
        "9" * 10_000,
        '{"Amount":1,"RefereneceId":"\\ud800","HashCode":"\\ud800"}',
        '{"Amount":{},"RefereneceId":[],"HashCode":"A"}',
        '{"Amount":1,"RefereneceId":"1","HashCode":{}}',
        '{"Amount":NaN,"RefereneceId":"1","HashCode":"A"}',
        "\ud800",
    ],
    ids=lambda body: repr(body[:20]),
)
def test_a_forged_body_is_rejected_and_never_raises_another_error(body):
    with pytest.raises(CallbackRejected) as caught:
        verify(body=body)
    assert caught.value.reason == "changed-body"


@pytest.mark.parametrize("name", ["webhook-id", "webhook-timestamp", "webhook-signature"])
@pytest.mark.parametrize("value", ["\udcff", "\ud800", "é", "9" * 5000, "v1,", "v1,é", "v1,\ud800", " ", "-1"])
def test_a_forged_header_is_rejected_and_never_raises_another_error(name, value):
    with pytest.raises(CallbackRejected):
        verify(headers={**GENUINE["headers"], name: value})


def test_only_a_genuine_callback_is_looked_up():
    def fail(webhook_id):
        raise AssertionError(webhook_id)

    with pytest.raises(CallbackRejected):
        verify(body=GENUINE["body"].replace("100.5", "100.50"), is_handled=fail)


def test_the_messages_contain_no_secret():
    for vector in VECTORS["callbacks"]:
        try:
            verify(vector["body"], vector["headers"], now=vector["nowSeconds"])
        except CallbackRejected as error:
            assert VECTORS["secretKey"] not in str(error) + repr(error)
            assert VECTORS["webhookSecret"][6:] not in str(error) + repr(error)


@pytest.mark.parametrize("time", [{"tolerance": float("nan")}, {"now": float("nan")}])
def test_no_time_is_accepted_if_the_tolerance_or_the_clock_is_not_a_number(time):
    with pytest.raises(CallbackRejected):
        verify(**time)


@pytest.mark.parametrize("name", GENUINE["headers"])
@pytest.mark.parametrize("value", [None, 5, ["x"]])
def test_a_header_that_is_not_a_text_is_missing(name, value):
    with pytest.raises(CallbackRejected) as caught:
        verify(headers={**GENUINE["headers"], name: value})
    assert caught.value.reason == "missing-signature"
