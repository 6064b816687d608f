"""A started service, of a sandbox merchant whose access is in the environment."""

import asyncio
import os
import time
import uuid

import pytest

from transferd import ApiError, AsyncClient, Client, ErrorCode, Kind, Status

NAMES = ("TRANSFERD_URL", "TRANSFERD_API_KEY", "TRANSFERD_SECRET_KEY", "TRANSFERD_WEBHOOK_SECRET")
if not all(os.environ.get(name) for name in NAMES):
    pytest.skip(f"set {', '.join(NAMES)} to test with a service", allow_module_level=True)

URL, KEY, SECRET, WEBHOOK_SECRET = (os.environ[name] for name in NAMES)


def fields(amount="100.50", **others):
    customer = {"user_id": "8412", "name": "Şule Çelik", "username": "sule", "payment_method": 1}
    return {"amount": amount, "reference_id": str(uuid.uuid4()), **customer, **others}


@pytest.fixture
def client():
    with Client(URL, KEY, SECRET) as opened:
        yield opened


def until(read):
    deadline = time.monotonic() + 60
    while not (value := read()):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    return value


def test_the_merchant_is_of_the_sandbox(client):
    assert client.get_merchant().sandbox is True


def test_a_hosted_deposit_and_its_repeat(client):
    create = fields("90.5")
    first = client.create_hosted_deposit(**create)
    assert (first.status, first.amount, first.reference_id) == (Status.PENDING, "90.50", create["reference_id"])
    assert client.create_hosted_deposit(**{**create, "amount": "90.50"}) == first
    with pytest.raises(ApiError) as caught:
        client.create_hosted_deposit(**{**create, "amount": "90.51"})
    assert (caught.value.status, caught.value.code) == (409, ErrorCode.REFERENCE_REUSED)
    assert caught.value.request_id
    transfer = client.get_transfer(first.tracking_id)
    assert (transfer.amount, transfer.name, transfer.channel) == ("90.50", "Şule Çelik", "hosted")


def test_metadata_is_kept_and_found(client):
    # The names of amounts and other fields are texts like any other here.
    metadata = {"amount": "1e9", "order": "ü&= 😀", "trackingId": str(uuid.uuid4())}
    created = client.create_hosted_deposit(**fields(metadata=metadata))
    assert client.get_transfer(created.tracking_id).metadata == metadata
    found = until(lambda: list(client.iterate_transfers(metadata=metadata)))
    assert [each.tracking_id for each in found] == [created.tracking_id]
    assert client.get_transfer(client.create_hosted_deposit(**fields()).tracking_id).metadata is None


def test_the_test_customer_pays_a_native_deposit(client):
    deposit = client.create_native_deposit(**fields())
    login = {"tracking_id": deposit.tracking_id, "user_name": "test@wallet.example"}
    with pytest.raises(ApiError) as caught:
        client.wallet_customer_login(**login, password="654321")
    assert caught.value.code == ErrorCode.BAD_LOGIN
    token = client.wallet_customer_login(**login, password="123456")
    verified = client.wallet_2fa(tracking_id=deposit.tracking_id, token=token, code="123456")
    assert verified.next_step == "Completed"
    transfer = client.get_transfer(deposit.tracking_id)
    assert (transfer.status, transfer.transaction_amount) == (Status.COMPLETED, "100.50")
    [*_, last] = client.get_transfer_events(deposit.tracking_id).items
    assert last.revision == transfer.revision


def test_the_customer_confirms_the_device(client):
    deposit = client.create_native_deposit(**fields("66.04"))
    login = {"tracking_id": deposit.tracking_id, "user_name": "test@wallet.example", "password": "123456"}
    token = client.wallet_customer_login(**login)
    verified = client.wallet_2fa(tracking_id=deposit.tracking_id, token=token, code="123456")
    assert verified.next_step == "ValidateUserDevice"
    poll = {"token": verified.token, "tracking_id": deposit.tracking_id}
    assert client.wallet_validate_user_device(**poll) is None
    assert until(lambda: client.wallet_validate_user_device(**poll)) == "Completed"


def test_refused_hashes(client):
    reference = str(uuid.uuid4())
    client.create_native_deposit(**fields("1", reference_id=f"2{reference}"))
    with pytest.raises(ApiError) as caught:
        client.create_native_deposit(**fields("12", reference_id=reference))
    assert (caught.value.status, caught.value.code) == (409, ErrorCode.HASH_REUSED)
    with Client(URL, KEY, "sk_another") as other, pytest.raises(ApiError) as caught:
        other.create_native_deposit(**fields())
    assert caught.value.code in (ErrorCode.HASH_MISMATCH, ErrorCode.SIGNATURE_MISMATCH)
    with Client(URL, "wk_unknown", SECRET) as other, pytest.raises(ApiError) as caught:
        other.get_merchant()
    assert (caught.value.status, caught.value.code) == (401, ErrorCode.UNKNOWN_KEY)


def test_invalid_fields_are_named(client):
    with pytest.raises(ApiError) as caught:
        client.create_native_deposit(**fields(name=""))
    assert caught.value.code == ErrorCode.INVALID_REQUEST
    assert [error.members for error in caught.value.validation_errors] == [["name"]]


def test_a_withdrawal_and_its_callback(client):
    withdrawal = client.create_withdrawal(**fields("66.01"), account_number="TR330006100519786457841326")
    transfer = until(lambda: ended(client.get_transfer(withdrawal.tracking_id)))
    assert (transfer.kind, transfer.status, transfer.transaction_amount) == (Kind.WITHDRAWAL, Status.COMPLETED, "66.01")
    [callback] = until(lambda: client.get_transfer_callbacks(withdrawal.tracking_id).items)
    assert (callback.payload.status, callback.payload.transaction_amount) == (Status.COMPLETED, "66.01")
    assert client.resend_transfer_callbacks(withdrawal.tracking_id).requeued in (0, 1)
    until(lambda: any(each.webhook_id == callback.webhook_id for each in client.iterate_callbacks()))


def ended(transfer):
    return None if transfer.status == Status.PENDING else transfer


def test_a_claim_is_signed_with_its_path(client):
    withdrawal = client.create_withdrawal(**fields(), account_number="TR330006100519786457841326")
    # The main key of a merchant lacks the scope, which the service checks before the revision.
    with pytest.raises(ApiError) as caught:
        client.claim_withdrawal(withdrawal.tracking_id, revision=0)
    assert caught.value.code == ErrorCode.SCOPE_MISSING


def test_iteration_over_pages_and_the_feed(client):
    pages = list(client.iterate_feed())
    start = pages[-1].next
    created = {client.create_hosted_deposit(**fields("90")).tracking_id for _ in range(101)}

    def listed():
        found = [each.tracking_id for each in client.iterate_transfers(kind="deposit", status="Pending")]
        assert len(set(found)) == len(found)
        return created <= set(found)

    until(listed)
    seen, after = set(), start
    while not created <= seen:
        for page in client.iterate_feed(after=after):
            seen.update(event.tracking_id for event in page.items)
            after = page.next
    assert list(client.iterate_feed(after=after)) == []


def test_coroutines():
    async def run():
        async with AsyncClient(URL, KEY, SECRET) as client:
            created = await asyncio.gather(*(client.create_hosted_deposit(**fields("90")) for _ in range(10)))
            assert len({each.tracking_id for each in created}) == 10
            create = fields()
            deposit = await client.create_native_deposit(**create)
            assert await client.create_native_deposit(**create) == deposit
            found = [each async for each in client.iterate_transfers(reference_id=create["reference_id"])]
            assert [each.tracking_id for each in found] == [deposit.tracking_id]
            with pytest.raises(ApiError) as caught:
                await client.get_transfer(str(uuid.uuid4()))
            assert (caught.value.status, caught.value.code) == (404, ErrorCode.UNKNOWN_TRANSFER)
            pages = [page async for page in client.iterate_feed()]
            assert all(page.items and page.next for page in pages)

    asyncio.run(run())
