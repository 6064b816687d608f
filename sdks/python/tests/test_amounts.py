"""Amounts are exact, from the parameter to the request, the response and the minor units."""

import json
import os
import random
from decimal import Decimal
from pathlib import Path

import httpx
import pytest

from transferd import Client, from_minor_units, to_minor_units

AMOUNTS = json.loads((Path(__file__).parents[2] / "test-vectors.json").read_text(encoding="utf-8"))["amounts"]
LARGEST = 2**53


def client_of(sent):
    """A client whose service returns the amount as JavaScript writes it: without trailing zeros."""

    def respond(request):
        amount = request.content.split(b'"amount":')[1].split(b",")[0]
        sent.append(amount.decode())
        short = amount.rstrip(b"0").rstrip(b".") if b"." in amount else amount
        created = b'{"transactionId":"t","trackingId":"t","referenceId":"r","status":1,"statusDescription":"Pending"'
        return httpx.Response(200, content=b'{"result":' + created + b',"amount":' + short + b"}}")

    return Client("http://service", "key", "secret", transport=httpx.MockTransport(respond))


def create(client, amount):
    customer = {"user_id": "u", "name": "n", "username": "u", "payment_method": 1, "reference_id": "r"}
    return client.create_native_deposit(amount=amount, **customer)


def test_every_amount_is_exact():
    seed = int(os.environ.get("TRANSFERD_SEED", random.randrange(2**32)))
    print("TRANSFERD_SEED", seed)
    generator = random.Random(seed)
    powers = [base**power + near for base in (2, 10) for power in range(1, 54) for near in (-1, 0, 1)]
    some = [generator.randint(1, 10 ** generator.randint(1, 16)) for _ in range(500)]
    sent = []
    client = client_of(sent)
    for minor_units in [*range(1, 300), LARGEST - 1, LARGEST, *powers, *some]:
        if not 0 < minor_units <= LARGEST:
            continue
        amount = from_minor_units(minor_units)
        assert amount == f"{Decimal(minor_units) / 100:.2f}"
        assert to_minor_units(amount) == minor_units
        response = create(client, amount)
        assert sent[-1] == amount, "the request has the text exactly as given"
        assert response.amount == amount and to_minor_units(response.amount) == minor_units


@pytest.mark.parametrize("vector", AMOUNTS["accepted"])
def test_accepted_vectors(vector):
    assert from_minor_units(int(vector["minorUnits"])) == vector["amount"]
    assert to_minor_units(vector["amount"]) == int(vector["minorUnits"])


@pytest.mark.parametrize("vector", AMOUNTS["shortForms"])
def test_short_forms_are_sent_as_given(vector):
    sent = []
    assert create(client_of(sent), vector["text"]).amount == vector["amount"]
    assert sent == [vector["text"]]


@pytest.mark.parametrize("text", [*AMOUNTS["rejected"], "1\n", "٫1", "1.١", "1_000", "0x1", "Infinity", "1.2.3"])
def test_rejected_texts_are_not_sent(text):
    sent = []
    with pytest.raises(ValueError):
        create(client_of(sent), text)
    assert sent == []
    if text.strip("0."):
        with pytest.raises(ValueError):
            to_minor_units(text)


def test_zero_is_an_amount_of_responses():
    assert to_minor_units("0.00") == 0
    assert from_minor_units(0) == "0.00"


@pytest.mark.parametrize(
    ("amount", "text"),
    [(100.5, "100.50"), (0.1 + 0.2, "0.30"), (100, "100.00"), (Decimal("100.5"), "100.50"), (float("nan"), "100.50")],
)
def test_a_number_is_rejected_with_the_text_to_write(amount, text):
    sent = []
    for use in (lambda: create(client_of(sent), amount), lambda: to_minor_units(amount)):
        with pytest.raises(TypeError) as caught:
            use()
        assert f'Write "{text}"' in str(caught.value)
        assert type(amount).__name__ in str(caught.value)
    assert sent == []


@pytest.mark.parametrize("minor_units", [1.0, "1", True, None])
def test_minor_units_are_ints(minor_units):
    with pytest.raises(TypeError):
        from_minor_units(minor_units)


def test_minor_units_are_not_negative():
    with pytest.raises(ValueError):
        from_minor_units(-1)
