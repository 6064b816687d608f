"""The test vectors that the service and all clients share."""

import json
from pathlib import Path

import pytest

import transferd
from transferd import CallbackRejected, to_minor_units, verify_callback

VECTORS = json.loads((Path(__file__).parents[2] / "test-vectors.json").read_text(encoding="utf-8"))


def named(vectors):
    return [pytest.param(vector, id=vector["name"]) for vector in vectors]


@pytest.mark.parametrize("vector", VECTORS["hashCodes"]["accepted"])
def test_hash_codes(vector):
    computed = transferd.hash_code(VECTORS["secretKey"], vector["hashed"], vector["referenceId"])
    assert computed == vector["hashCode"]


@pytest.mark.parametrize("vector", named(VECTORS["signatures"]))
def test_signatures_of_requests(vector):
    method, path, at = vector["method"], vector["path"], vector["timestampSeconds"]
    for body in (vector["body"], vector["body"].encode()):
        signature = transferd.sign_request(VECTORS["secretKey"], body, at=at, method=method, path=path)
        assert signature == vector["signature"]


@pytest.mark.parametrize("vector", named(VECTORS["callbacks"]))
@pytest.mark.parametrize("form", [str, str.encode])
def test_callbacks(vector, form):
    def result():
        try:
            received = verify_callback(
                form(vector["body"]),
                {name.title(): value for name, value in vector["headers"].items()},
                webhook_secret=vector.get("webhookSecrets", VECTORS["webhookSecret"]),
                secret_key=vector.get("secretKeys", VECTORS["secretKey"]),
                is_handled=lambda webhook_id: webhook_id in vector.get("handled", []),
                now=vector["nowSeconds"],
            )
        except CallbackRejected as error:
            return error.reason
        body = json.loads(vector["body"])
        assert received.webhook_id == vector["headers"]["webhook-id"]
        assert received.revision == 1
        assert received.is_test == ("x-transfer-test" in vector["headers"])
        assert received.callback.status == body["Status"]
        assert received.callback.reference_id == body["RefereneceId"]
        assert received.callback.message == body["Message"]
        assert to_minor_units(received.callback.transaction_amount) == round(body["TransactionAmount"] * 100)
        return "repeated" if received.is_repeated else "accepted"

    assert result() == vector["result"]
