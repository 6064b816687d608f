import json
import os

from openapi_client import (
    ApiClient,
    Callback,
    CompleteWithdrawalRequest,
    Configuration,
    CreateNativeDepositRequest,
    CreateWithdrawalRequest,
    MerchantAPIApi,
    QueriesApi,
    SettlementApi,
    StatusFilter,
    WalletCodeRequest,
    WalletLoginRequest,
    WithdrawalActionRequest,
)
from openapi_client.exceptions import ApiException

env = os.environ
reference = env["REFERENCE"]


def client(key):
    return ApiClient(Configuration(host=env["BASE_URL"], api_key={"WebApiKey": key}))


merchant = MerchantAPIApi(client(env["WEB_API_KEY"]))
queries = QueriesApi(merchant.api_client)
settlement = SettlementApi(client(env["SETTLEMENT_KEY"]))
customer = dict(user_id="8412", name="Ada Lovelace", username="ada", payment_method=1, amount=100.5)


def deposit(reference_id):
    return merchant.create_native_deposit(
        CreateNativeDepositRequest(
            **customer, reference_id=reference_id, transaction_type=1, hash_code=env["DEPOSIT_HASH"]
        )
    ).result


def feed_of(tracking_id):
    """Reads the feed until it contains the completion of the transfer, and returns the types of the transfer's events."""
    types, after = [], None
    while "TransferCompleted" not in types:
        page = queries.list_events(after=after)
        types += [each.type for each in page.items if each.tracking_id == tracking_id]
        after = page.next
    return types


def callbacks_of(tracking_id):
    while True:
        items = queries.get_transfer_callbacks(tracking_id).items
        if items:
            return items


created = deposit(reference)
tracking_id = created.tracking_id
repeated = deposit(reference)
try:
    deposit("another")
except ApiException as error:
    refused = error.data.error.code

token = merchant.wallet_customer_login(
    WalletLoginRequest(tracking_id=tracking_id, user_name="test@wallet.example", password="123456")
).result
verified = merchant.wallet2_fa(WalletCodeRequest(tracking_id=tracking_id, token=token, code="123456")).result
completed = queries.get_transfer(tracking_id)
listed = queries.list_transfers(reference_id=reference, status=StatusFilter.COMPLETED).items
feed = feed_of(tracking_id)
callbacks = callbacks_of(tracking_id)
resent = queries.resend_transfer_callbacks_with_http_info(tracking_id)

opened = merchant.create_withdrawal(
    CreateWithdrawalRequest(
        **customer,
        reference_id=f"{reference}-out",
        transaction_type=2,
        hash_code=env["WITHDRAWAL_HASH"],
        account_number="TR330006100519786457841326",
        identity_number=None,
    )
).result
revision = queries.get_transfer(opened.tracking_id).revision
claimed = settlement.claim_withdrawal(opened.tracking_id, WithdrawalActionRequest(revision=revision))
paid = settlement.complete_withdrawal(
    opened.tracking_id, CompleteWithdrawalRequest(revision=claimed.revision, message="paid")
)

callback = Callback.from_json(env["CALLBACK"])
try:
    newer_callback = Callback.from_json(env["NEWER_CALLBACK"]).amount
except ValueError:
    newer_callback = None
print(
    json.dumps(
        {
            "created": created.status_description,
            "amount": created.amount,
            "repeated": repeated.tracking_id == tracking_id,
            "refused": refused,
            "nextStep": verified.next_step,
            "accountNumber": verified.account_number,
            "completed": [completed.status, completed.status_description, completed.transaction_amount],
            "listed": [each.tracking_id == tracking_id for each in listed],
            "feed": feed,
            "callbacks": len(callbacks),
            "resent": [resent.status_code, resent.data.requeued],
            "withdrawal": [paid.status_description, paid.identity_number, paid.transaction_amount],
            "callback": [callback.status, callback.amount, callback.message],
            "newerCallback": newer_callback,
        }
    )
)
