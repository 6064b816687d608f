# Generated from the OpenAPI document by `npm run sdks:generate`. Do not edit.
from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum, IntEnum
from typing import Any, AsyncIterator, Dict, Generic, Iterator, List, Optional, Type, TypeVar
from urllib.parse import quote

__all__ = [
    "Amount",
    "Callback",
    "CallbackAttempt",
    "CallbackDelivery",
    "CallbackEndpoint",
    "CallbackId",
    "CallbackPage",
    "CallbackPayload",
    "CallbackSummary",
    "CreatedHostedDeposit",
    "CreatedTransfer",
    "EndpointTest",
    "ErrorCode",
    "EventData",
    "ExceededLimit",
    "Feed",
    "FeedEvent",
    "History",
    "HistoryEvent",
    "Kind",
    "LimitScope",
    "Merchant",
    "PaymentMethod",
    "PaymentMethodType",
    "Refund",
    "RefundState",
    "RefundTarget",
    "Repayment",
    "RepaymentState",
    "ResendManyResult",
    "ResendResult",
    "Status",
    "StatusName",
    "Transfer",
    "TransferCallbacks",
    "TransferPage",
    "ValidationError",
    "VerifiedCode",
]

#: The JSON fields that are amounts.
AMOUNT_FIELDS = frozenset(
    [
        "Amount",
        "TransactionAmount",
        "actualAmount",
        "amount",
        "approvedAmount",
        "bookedAmount",
        "confirmedAmount",
        "correctedAmount",
        "lateFunds",
        "matchedAmount",
        "maxAmount",
        "minAmount",
        "previousAmount",
        "proposedAmount",
        "receivedAmount",
        "receivedAmountChange",
        "refundAmount",
        "refundedAmount",
        "repaymentAmount",
        "reservedAmount",
        "resolvedAmount",
        "returnedAmount",
        "transactionAmount",
    ]
)

T = TypeVar("T")


class Amount(str):
    """An amount as a decimal text: in responses with two decimals, such as ``100.50``."""


def _named(name: str, **options: Any) -> Any:
    """A field with this name in JSON."""
    return field(metadata={"name": name}, **options)


class ErrorCode(IntEnum):
    """The known values. Later versions of the service can send others."""

    DEVICE_PENDING = 20001
    PAYMENT_PENDING = 20002
    HASH_MISMATCH = 40003
    SIGNATURE_MISMATCH = 40004
    BAD_LOGIN = 40006
    BAD_TOKEN = 40007
    EXPIRED_TOKEN = 40008
    USED_TOKEN = 40009
    WRONG_CODE = 40010
    TOO_MANY_CODES = 40011
    UNKNOWN_KEY = 40101
    ADDRESS_NOT_ALLOWED = 40301
    MERCHANT_SUSPENDED = 40302
    SCOPE_MISSING = 40304
    METHOD_NOT_ALLOWED = 40501
    REQUEST_TIMEOUT = 40801
    REFERENCE_REUSED = 40901
    HASH_REUSED = 40902
    NOT_PAYABLE = 40903
    EXPIRED_DEPOSIT = 40904
    PAYMENT_UNDER_WAY = 40905
    INSUFFICIENT_BALANCE = 40906
    ACCOUNT_BLOCKED = 40907
    MANUAL_CONTROL = 40908
    TOO_MANY_LOGINS = 40909
    MANUAL_METHOD = 40910
    CODES_LOCKED = 42903
    HEADERS_TOO_LARGE = 43101
    WALLET_UNAVAILABLE = 50302
    INVALID_REQUEST = 40001
    MALFORMED_BODY = 40002
    MALFORMED_REQUEST = 40005
    SIGN_IN_WRONG = 40012
    CODE_USED = 40013
    NOT_SIGNED_IN = 40102
    SECOND_FACTOR_NEEDED = 40103
    CROSS_SITE = 40303
    CSRF = 40305
    PERMISSION_MISSING = 40306
    RECENT_SIGN_IN_NEEDED = 40307
    PASSWORD_CHANGE_NEEDED = 40308
    SANDBOX_ONLY = 40309
    UNKNOWN_ROUTE = 40401
    UNKNOWN_TRANSFER = 40402
    UNKNOWN_CALLBACK = 40403
    UNKNOWN_USER = 40404
    UNKNOWN_MERCHANT = 40405
    UNKNOWN_PROJECTION = 40411
    UNKNOWN_EVENT = 40412
    UNKNOWN_BANK_ACCOUNT = 40413
    UNKNOWN_BANK_PAYMENT = 40414
    UNKNOWN_DISCLOSURE = 40415
    UNKNOWN_CUSTOMER = 40421
    CHANGED_MEANWHILE = 40911
    USER_CONFLICT = 40912
    MERCHANT_CONFLICT = 40913
    TRANSFERS_OPEN = 40914
    CLAIMED_BY_ANOTHER = 40921
    CLAIM_NEEDED = 40922
    CLAIM_EXPIRED = 40923
    APPROVAL_NEEDED = 40924
    FOUR_EYES = 40925
    NOT_POSSIBLE = 40926
    PAYOUTS_STOPPED = 40927
    NOT_SEALED = 40928
    NOT_VERIFIED = 40929
    HELD_IN_BANK_FILE = 40933
    DONE_BEFORE = 40934
    PROJECTION_CONFLICT = 40931
    EVENT_READABLE = 40932
    DISCLOSURE_CONFLICT = 40935
    BODY_TOO_LARGE = 41301
    RECEIPT_TOO_LARGE = 41302
    BANK_FILE_TOO_LARGE = 41303
    UNSUPPORTED_MEDIA_TYPE = 41501
    NO_RECEIPT = 41502
    NO_BANK_FILE = 41503
    BANK_FILE_UNREADABLE = 42201
    TOO_MANY_REQUESTS = 42901
    LOGIN_THROTTLED = 42902
    RESENT_TOO_OFTEN = 42904
    INTERNAL = 50001
    RECEIPT_DAMAGED = 50002
    UNAVAILABLE = 50301
    UNREADABLE = 50303
    MERCHANT_OUT_OF_SERVICE = 50304


class Kind(str, Enum):
    """The known values. Later versions of the service can send others."""

    DEPOSIT = "deposit"
    WITHDRAWAL = "withdrawal"


class LimitScope(str, Enum):
    """The known values. Later versions of the service can send others."""

    MERCHANT = "merchant"
    ACCOUNT = "account"
    CUSTOMER = "customer"


class PaymentMethodType(str, Enum):
    """The known values. Later versions of the service can send others."""

    WALLET = "wallet"
    MANUAL = "manual"


class RefundState(str, Enum):
    """The known values. Later versions of the service can send others."""

    PROPOSED = "proposed"
    OPEN = "open"
    RETURNED = "returned"
    CANCELLED = "cancelled"
    FAILED = "failed"
    REJECTED = "rejected"
    REFUSED = "refused"


class RefundTarget(str, Enum):
    """The known values. Later versions of the service can send others."""

    ACCOUNT = "account"
    WALLET = "wallet"
    ELSEWHERE = "elsewhere"


class RepaymentState(str, Enum):
    """The known values. Later versions of the service can send others."""

    OPEN = "open"
    PAID = "paid"
    CANCELLED = "cancelled"
    FAILED = "failed"
    REFUSED = "refused"


class Status(IntEnum):
    """The known values. Later versions of the service can send others."""

    PENDING = 1
    COMPLETED = 2
    MANUAL_CONTROL = 3
    CANCELLED = 4
    FAILED = 5


class StatusName(str, Enum):
    """The known values. Later versions of the service can send others."""

    PENDING = "Pending"
    COMPLETED = "Completed"
    MANUAL_CONTROL = "ManualControl"
    CANCELLED = "Cancelled"
    FAILED = "Failed"


@dataclass(frozen=True)
class Callback:
    #: 1 Pending, 2 Completed, 3 ManualControl, 4 Cancelled, 5 Failed. ``Status`` has the known values.
    status: int = _named("Status")
    #: ``StatusName`` has the known values.
    status_description: str = _named("StatusDescription")
    tracking_id: str = _named("TrackingId")
    #: Your referenceId; the field is spelled this way.
    reference_id: str = _named("RefereneceId")
    #: md5(SecretKey + Amount + RefereneceId) of the texts in this body.
    hash_code: str = _named("HashCode")
    message: Optional[str] = _named("Message")
    #: The requested amount.
    amount: Amount = _named("Amount")
    #: The transferred amount; use this one.
    transaction_amount: Amount = _named("TransactionAmount")
    has_amount_mismatch: bool = _named("HasAmountMismatch")
    #: Empty if the transfer has no receipt.
    receipt_url: str = _named("ReceiptUrl")


@dataclass(frozen=True)
class CallbackAttempt:
    at: str = _named("at")
    #: ``delivered``, ``failed``, ``parked`` or ``requeued``.
    result: str = _named("result")
    #: Null without a response.
    http_status: Optional[int] = _named("httpStatus")
    duration_ms: Optional[int] = _named("durationMs")
    reason: Optional[str] = _named("reason")


@dataclass(frozen=True)
class CallbackPayload:
    #: 1 Pending, 2 Completed, 3 ManualControl, 4 Cancelled, 5 Failed. ``Status`` has the known values.
    status: int = _named("status")
    #: ``StatusName`` has the known values.
    status_description: str = _named("statusDescription")
    tracking_id: str = _named("trackingId")
    reference_id: str = _named("referenceId")
    message: Optional[str] = _named("message")
    amount: Amount = _named("amount")
    transaction_amount: Amount = _named("transactionAmount")
    has_amount_mismatch: bool = _named("hasAmountMismatch")
    receipt_url: Optional[str] = _named("receiptUrl")


@dataclass(frozen=True)
class CallbackDelivery:
    webhook_id: str = _named("webhookId")
    transfer_revision: int = _named("transferRevision")
    #: ``waiting``, ``delivered`` or ``parked``.
    status: str = _named("status")
    recorded_at: str = _named("recordedAt")
    #: Null unless it is waiting.
    next_attempt_at: Optional[str] = _named("nextAttemptAt")
    payload: CallbackPayload = _named("payload")
    #: The latest 100, oldest first.
    attempts: List[CallbackAttempt] = _named("attempts")


@dataclass(frozen=True)
class CallbackEndpoint:
    url: str = _named("url")
    #: ``failing``: every attempt since ``failingSince`` has failed. ``disabled``: nothing is sent.
    state: str = _named("state")
    #: The reason why it is disabled.
    reason: Optional[str] = _named("reason")
    failing_since: Optional[str] = _named("failingSince")
    #: Waiting callbacks; 1000 means 1000 or more.
    waiting: int = _named("waiting")
    #: Parked callbacks; 1000 means 1000 or more.
    parked: int = _named("parked")


@dataclass(frozen=True)
class CallbackId:
    tracking_id: str = _named("trackingId")
    webhook_id: str = _named("webhookId")


@dataclass(frozen=True)
class CallbackSummary:
    webhook_id: str = _named("webhookId")
    tracking_id: str = _named("trackingId")
    reference_id: str = _named("referenceId")
    transfer_revision: int = _named("transferRevision")
    #: 1 Pending, 2 Completed, 3 ManualControl, 4 Cancelled, 5 Failed. ``Status`` has the known values.
    transfer_status: int = _named("transferStatus")
    status: str = _named("status")
    #: Since the callback was recorded or resent.
    failed_attempts: int = _named("failedAttempts")
    recorded_at: str = _named("recordedAt")
    #: Null unless it is waiting.
    next_attempt_at: Optional[str] = _named("nextAttemptAt")
    last_failure: Optional[str] = _named("lastFailure")


@dataclass(frozen=True)
class CallbackPage:
    items: List[CallbackSummary] = _named("items")
    next_cursor: Optional[str] = _named("nextCursor")


@dataclass(frozen=True)
class CreatedHostedDeposit:
    #: Redirect the customer to this URL.
    url: str = _named("url")
    tracking_id: str = _named("trackingId")
    reference_id: str = _named("referenceId")
    #: 1 Pending: the response to a create and its repeats.
    status: int = _named("status")
    status_description: str = _named("statusDescription")
    amount: Amount = _named("amount")
    expires_at: str = _named("expiresAt")


@dataclass(frozen=True)
class CreatedTransfer:
    #: The same as trackingId.
    transaction_id: str = _named("transactionId")
    tracking_id: str = _named("trackingId")
    reference_id: str = _named("referenceId")
    #: 1 Pending: the response to a create and its repeats.
    status: int = _named("status")
    status_description: str = _named("statusDescription")
    amount: Amount = _named("amount")


@dataclass(frozen=True)
class EndpointTest:
    delivered: bool = _named("delivered")
    #: Null without a response.
    http_status: Optional[int] = _named("httpStatus")
    duration_ms: int = _named("durationMs")
    #: The reason why the delivery failed, as in the list of attempts.
    failure: Optional[str] = _named("failure")
    #: The target of a redirect, which is not followed.
    redirects_to: Optional[str] = _named("redirectsTo")
    #: Whether callbacks that waited are sent again now.
    resends_waiting: bool = _named("resendsWaiting")


@dataclass(frozen=True)
class EventData:
    #: ``Kind`` has the known values.
    kind: Optional[str] = _named("kind", default=None)
    channel: Optional[str] = _named("channel", default=None)
    reference_id: Optional[str] = _named("referenceId", default=None)
    amount: Optional[Amount] = _named("amount", default=None)
    transaction_amount: Optional[Amount] = _named("transactionAmount", default=None)
    received_amount: Optional[Amount] = _named("receivedAmount", default=None)
    returned_amount: Optional[Amount] = _named("returnedAmount", default=None)
    #: The part of the returned amount that was booked.
    booked_amount: Optional[Amount] = _named("bookedAmount", default=None)
    refund_amount: Optional[Amount] = _named("refundAmount", default=None)
    #: The refund, which is the trackingId of the withdrawal that pays it.
    refund_id: Optional[str] = _named("refundId", default=None)
    #: The referenceId of the refund and of its withdrawal.
    refund_reference_id: Optional[str] = _named("refundReferenceId", default=None)
    #: The payment method of the refund.
    refund_method: Optional[int] = _named("refundMethod", default=None)
    #: The deposit whose money the withdrawal returns.
    refund_of: Optional[str] = _named("refundOf", default=None)
    #: The withdrawal that came back and that this one pays again.
    repayment_of: Optional[str] = _named("repaymentOf", default=None)
    #: The trackingId of the withdrawal that pays it again.
    repayment_id: Optional[str] = _named("repaymentId", default=None)
    #: The referenceId of that withdrawal.
    repayment_reference_id: Optional[str] = _named("repaymentReferenceId", default=None)
    repayment_amount: Optional[Amount] = _named("repaymentAmount", default=None)
    #: The payment method of that withdrawal.
    repayment_method: Optional[int] = _named("repaymentMethod", default=None)
    #: ``account``: a withdrawal pays it. ``wallet``: the wallet credits the account that paid the
    #: deposit. ``elsewhere``: it was returned without the service. ``RefundTarget`` has the known
    #: values.
    to: Optional[str] = _named("to", default=None)
    #: How a refund or repayment ended, such as cancelled.
    outcome: Optional[str] = _named("outcome", default=None)
    #: Whether a second user must approve the refund.
    needs_approval: Optional[bool] = _named("needsApproval", default=None)
    resolved_amount: Optional[Amount] = _named("resolvedAmount", default=None)
    approved_amount: Optional[Amount] = _named("approvedAmount", default=None)
    #: The amount of a proposed correction.
    corrected_amount: Optional[Amount] = _named("correctedAmount", default=None)
    #: The booked amount before a correction.
    previous_amount: Optional[Amount] = _named("previousAmount", default=None)
    #: How a correction changes the received amount; negative for money that never arrived.
    received_amount_change: Optional[Amount] = _named("receivedAmountChange", default=None)
    has_amount_mismatch: Optional[bool] = _named("hasAmountMismatch", default=None)
    receipt_url: Optional[str] = _named("receiptUrl", default=None)
    message: Optional[str] = _named("message", default=None)
    reason: Optional[str] = _named("reason", default=None)
    #: The reference of a payment, of a correction or of a payout that came back.
    reference: Optional[str] = _named("reference", default=None)
    #: Why a payout came back: a return reason code of ISO 20022.
    reason_code: Optional[str] = _named("reasonCode", default=None)
    #: What a payment of the bank's statement did, such as completed.
    effect: Optional[str] = _named("effect", default=None)
    #: The amount that the bank booked; 0 if it rejected the payment.
    matched_amount: Optional[Amount] = _named("matchedAmount", default=None)
    #: The day on which the bank booked it.
    booked_on: Optional[str] = _named("bookedOn", default=None)
    #: The bank's reference of the payment.
    bank_reference: Optional[str] = _named("bankReference", default=None)
    #: The bank's code for a return or a rejection, of ISO 20022.
    bank_reason_code: Optional[str] = _named("bankReasonCode", default=None)
    #: The bank's text about it.
    bank_reason_text: Optional[str] = _named("bankReasonText", default=None)
    user_id: Optional[str] = _named("userId", default=None)
    name: Optional[str] = _named("name", default=None)
    username: Optional[str] = _named("username", default=None)
    payment_method: Optional[int] = _named("paymentMethod", default=None)
    #: The ``metadata`` of the create; null if it had none, and empty after the customer was erased.
    metadata: Optional[Dict[str, str]] = _named("metadata", default=None)
    #: Withdrawals only.
    account_number: Optional[str] = _named("accountNumber", default=None)
    #: Withdrawals only.
    identity_number: Optional[str] = _named("identityNumber", default=None)
    expires_at: Optional[str] = _named("expiresAt", default=None)
    #: The user who did it.
    by: Optional[str] = _named("by", default=None)
    #: The user who proposed the correction that another user approved.
    proposed_by: Optional[str] = _named("proposedBy", default=None)
    until: Optional[str] = _named("until", default=None)
    open_until: Optional[str] = _named("openUntil", default=None)


@dataclass(frozen=True)
class ExceededLimit:
    #: Whose withdrawals are counted together. ``LimitScope`` has the known values.
    per: str = _named("per")
    #: The period: 24 hours, or 720 (30 days).
    hours: int = _named("hours")
    #: The largest number of withdrawals without an approval.
    count: Optional[int] = _named("count")
    #: The largest sum of withdrawals without an approval.
    amount: Optional[Amount] = _named("amount")
    #: The number of withdrawals in the period, with this one.
    actual_count: int = _named("actualCount")
    #: Their sum, with this one.
    actual_amount: Amount = _named("actualAmount")


@dataclass(frozen=True)
class FeedEvent:
    position: str = _named("position")
    tracking_id: str = _named("trackingId")
    #: Also the webhook-id of its callback.
    event_id: str = _named("eventId")
    revision: int = _named("revision")
    type: str = _named("type")
    at: str = _named("at")
    data: EventData = _named("data")


@dataclass(frozen=True)
class Feed:
    items: List[FeedEvent] = _named("items")
    #: The value for ``after`` in the next request; null while there are no events.
    next: Optional[str] = _named("next")


@dataclass(frozen=True)
class HistoryEvent:
    #: Also the webhook-id of its callback.
    event_id: str = _named("eventId")
    revision: int = _named("revision")
    type: str = _named("type")
    at: str = _named("at")
    data: EventData = _named("data")
    #: The actor that caused it.
    actor: str = _named("actor")
    #: The X-Request-Id of the request that caused it.
    correlation_id: str = _named("correlationId")


@dataclass(frozen=True)
class History:
    items: List[HistoryEvent] = _named("items")


@dataclass(frozen=True)
class PaymentMethod:
    #: The ``paymentMethod`` of a create.
    code: int = _named("code")
    name: str = _named("name")
    #: How a deposit is paid: from a wallet, or manually by your instructions. ``PaymentMethodType`` has
    #: the known values.
    type: str = _named("type")
    #: ``Kind`` has the known values.
    kinds: List[str] = _named("kinds")
    min_amount: Amount = _named("minAmount")
    max_amount: Amount = _named("maxAmount")


@dataclass(frozen=True)
class Merchant:
    merchant_id: str = _named("merchantId")
    name: str = _named("name")
    #: No real money moves.
    sandbox: bool = _named("sandbox")
    #: The currency of all amounts (ISO 4217).
    currency: str = _named("currency")
    #: The operator’s catalogue.
    payment_methods: List[PaymentMethod] = _named("paymentMethods")


@dataclass(frozen=True)
class Refund:
    #: The trackingId of the withdrawal that pays it; of any other target, only an id.
    refund_id: str = _named("refundId")
    reference_id: str = _named("referenceId")
    amount: Amount = _named("amount")
    #: ``account``: a withdrawal pays it. ``wallet``: the wallet credits the account that paid the
    #: deposit. ``elsewhere``: it was returned without the service. ``RefundTarget`` has the known
    #: values.
    to: str = _named("to")
    #: ``proposed``: a second user must approve it. ``open``: it is being paid. ``returned``: it was
    #: paid. Any other: it was not paid, and its money can be refunded again. ``RefundState`` has the
    #: known values.
    state: str = _named("state")
    #: The user who requested it.
    by: str = _named("by")
    at: str = _named("at")
    #: The account that receives it.
    account_number: Optional[str] = _named("accountNumber")
    receipt_url: Optional[str] = _named("receiptUrl")


@dataclass(frozen=True)
class Repayment:
    #: The trackingId of the withdrawal that pays it.
    repayment_id: str = _named("repaymentId")
    reference_id: str = _named("referenceId")
    amount: Amount = _named("amount")
    #: ``open``: its withdrawal has not ended. ``cancelled``, ``failed``, ``refused``: it was not paid.
    #: ``RepaymentState`` has the known values.
    state: str = _named("state")
    #: The user who requested it.
    by: str = _named("by")
    at: str = _named("at")
    #: The account that receives it.
    account_number: str = _named("accountNumber")


@dataclass(frozen=True)
class ResendManyResult:
    #: The number of callbacks that will be resent.
    requeued: int = _named("requeued")
    #: One request resends at most 1000; repeat it for the rest.
    more: bool = _named("more")


@dataclass(frozen=True)
class ResendResult:
    #: The number of callbacks that will be resent.
    requeued: int = _named("requeued")


@dataclass(frozen=True)
class Transfer:
    tracking_id: str = _named("trackingId")
    #: The same as trackingId.
    transaction_id: str = _named("transactionId")
    reference_id: str = _named("referenceId")
    #: ``Kind`` has the known values.
    kind: str = _named("kind")
    #: ``hosted`` or ``native``; null for a withdrawal.
    channel: Optional[str] = _named("channel")
    #: 1 Pending, 2 Completed, 3 ManualControl, 4 Cancelled, 5 Failed. ``Status`` has the known values.
    status: int = _named("status")
    #: ``StatusName`` has the known values.
    status_description: str = _named("statusDescription")
    #: The requested amount.
    amount: Amount = _named("amount")
    #: The amount that moved: the booked amount if Completed, otherwise the received amount that was not
    #: returned.
    transaction_amount: Amount = _named("transactionAmount")
    #: The amount that moved differs from the requested amount.
    has_amount_mismatch: bool = _named("hasAmountMismatch")
    #: Deposits: the received amount.
    received_amount: Amount = _named("receivedAmount")
    #: Deposits: the amount that was returned to the customer. Withdrawals: the paid amount that came
    #: back.
    returned_amount: Amount = _named("returnedAmount")
    #: Deposits: the part of the returned amount that was booked.
    refunded_amount: Amount = _named("refundedAmount")
    #: The amount of the refunds that are proposed or open, or of the open repayments.
    reserved_amount: Amount = _named("reservedAmount")
    #: The amount that the operator resolved.
    resolved_amount: Amount = _named("resolvedAmount")
    #: Received or returned money, a proposed correction or a proposed refund needs a decision.
    needs_attention: bool = _named("needsAttention")
    #: Deposits: the received amount that is not booked, returned or resolved. Withdrawals: the returned
    #: amount that is not resolved.
    late_funds: Amount = _named("lateFunds")
    receipt_url: Optional[str] = _named("receiptUrl")
    #: ``amount corrected`` after a correction.
    message: Optional[str] = _named("message")
    user_id: str = _named("userId")
    name: str = _named("name")
    username: str = _named("username")
    payment_method: int = _named("paymentMethod")
    #: The ``metadata`` of the create; null if it had none, and empty after the customer was erased.
    metadata: Optional[Dict[str, str]] = _named("metadata")
    #: Withdrawals only.
    account_number: Optional[str] = _named("accountNumber")
    #: Withdrawals only.
    identity_number: Optional[str] = _named("identityNumber")
    #: Withdrawals: the user who has claimed it, while it is open.
    claimed_by: Optional[str] = _named("claimedBy")
    #: The end of the claim; null while a bank file contains the withdrawal.
    claimed_until: Optional[str] = _named("claimedUntil")
    #: Withdrawals: the id of the latest bank file that contains it. The bank may have paid it.
    bank_file: Optional[str] = _named("bankFile")
    #: Withdrawals: why the bank does not pay it, as a reason code of ISO 20022, until someone has
    #: decided what to do. NARR if the bank gave none.
    bank_rejection: Optional[str] = _named("bankRejection")
    #: Withdrawals: the amount that a second user has approved.
    approved_amount: Optional[Amount] = _named("approvedAmount")
    #: Withdrawals: the limits of the operator that it was beyond when its payout started, or would be
    #: now. A second user must approve it.
    exceeded_limits: List[ExceededLimit] = _named("exceededLimits")
    #: The corrected amount that waits for the approval of a second user.
    proposed_amount: Optional[Amount] = _named("proposedAmount")
    #: Withdrawals: the trackingId of the deposit whose money it returns.
    refund_of: Optional[str] = _named("refundOf")
    #: Deposits: the refunds, oldest first.
    refunds: List[Refund] = _named("refunds")
    #: Withdrawals: the trackingId of the withdrawal that came back and that it pays again.
    repayment_of: Optional[str] = _named("repaymentOf")
    #: Withdrawals: the withdrawals that pay its returned money again, oldest first.
    repayments: List[Repayment] = _named("repayments")
    created_at: str = _named("createdAt")
    updated_at: str = _named("updatedAt")
    #: Deposits only. It is later while a deposit holds a part of its amount.
    expires_at: Optional[str] = _named("expiresAt")
    #: The number of its last event, from 0; callbacks contain it, too.
    revision: int = _named("revision")


@dataclass(frozen=True)
class TransferCallbacks:
    items: List[CallbackDelivery] = _named("items")


@dataclass(frozen=True)
class TransferPage:
    #: Newest first.
    items: List[Transfer] = _named("items")
    #: Null on the last page.
    next_cursor: Optional[str] = _named("nextCursor")


@dataclass(frozen=True)
class ValidationError:
    message: str = _named("message")
    #: The field, such as ``amount`` or ``callbacks[3].trackingId``.
    members: List[str] = _named("members")


@dataclass(frozen=True)
class VerifiedCode:
    #: ``Completed``: the deposit is complete. ``ValidateUserDevice``: the customer has received an email
    #: about the device.
    next_step: str = _named("next_step")
    #: A token for WalletValidateUserDevice, valid for 10 minutes.
    token: str = _named("token", repr=False)
    #: The customer's wallet account.
    account_number: int = _named("account_number")


@dataclass(frozen=True)
class ApiRequest(Generic[T]):
    """A request to the service."""

    method: str
    path: str
    #: The type of the result.
    result: Type[T]
    query: Optional[Dict[str, Any]] = field(default=None, repr=False)
    #: Without a repr, because it can contain a password.
    body: Optional[Dict[str, Any]] = field(default=None, repr=False)
    #: Whether the body gets a hashCode.
    is_hashed: bool = False
    #: Whether it can be repeated after a lost response.
    is_repeatable: bool = True
    #: Whether the result is the field ``result`` of the response.
    is_envelope: bool = False
    #: Whether the result can be null.
    is_nullable: bool = False


class Operations:
    """The operations of the API. Each raises a TransferdError."""

    def _send(self, request: ApiRequest[T]) -> T:
        raise NotImplementedError

    def _advanced(self, position: Optional[str], next_: Optional[str]) -> str:
        raise NotImplementedError

    def create_hosted_deposit(
        self,
        *,
        amount: str,
        user_id: str,
        name: str,
        username: str,
        reference_id: str,
        payment_method: int,
        metadata: Optional[Dict[str, str]] = None,
    ) -> CreatedHostedDeposit:
        """Create a hosted deposit. Redirect the customer to the ``url`` of the response. The WebApiKey needs
        the scope ``deposits``.

        amount: At most two decimals, no exponent.
        user_id: Unique ID of the customer.
        name: Name and surname of the customer.
        username: Username of the customer.
        reference_id: Your unique ID of this transfer, any printable text; a UUIDv4 is recommended.
        payment_method: A payment method code.
        metadata: Your own texts about the transfer, by key: at most 20, keys of 1 to 40 and values of at
            most 200 characters.
        """
        request = ApiRequest(
            "POST",
            "/Transaction/CreateDeposit",
            CreatedHostedDeposit,
            body={
                "amount": amount,
                "userId": user_id,
                "name": name,
                "username": username,
                "referenceId": reference_id,
                "paymentMethod": payment_method,
                "metadata": metadata,
                "transactionType": 1,
            },
            is_hashed=True,
        )
        return self._send(request)

    def create_native_deposit(
        self,
        *,
        amount: str,
        user_id: str,
        name: str,
        username: str,
        reference_id: str,
        payment_method: int,
        metadata: Optional[Dict[str, str]] = None,
    ) -> CreatedTransfer:
        """Create a native deposit. The WebApiKey needs the scope ``deposits``.

        amount: At most two decimals, no exponent.
        user_id: Unique ID of the customer.
        name: Name and surname of the customer.
        username: Username of the customer.
        reference_id: Your unique ID of this transfer, any printable text; a UUIDv4 is recommended.
        payment_method: A payment method code.
        metadata: Your own texts about the transfer, by key: at most 20, keys of 1 to 40 and values of at
            most 200 characters.
        """
        request = ApiRequest(
            "POST",
            "/api/services/app/TransactionRequests/CreateDeposit",
            CreatedTransfer,
            body={
                "amount": amount,
                "userId": user_id,
                "name": name,
                "username": username,
                "referenceId": reference_id,
                "paymentMethod": payment_method,
                "metadata": metadata,
                "transactionType": 1,
            },
            is_hashed=True,
            is_envelope=True,
        )
        return self._send(request)

    def create_withdrawal(
        self,
        *,
        account_number: str,
        amount: str,
        user_id: str,
        name: str,
        username: str,
        reference_id: str,
        payment_method: int,
        identity_number: Optional[str] = None,
        metadata: Optional[Dict[str, str]] = None,
    ) -> CreatedTransfer:
        """Create a withdrawal. The WebApiKey needs the scope ``withdrawals``.

        identity_number: Identity number of the customer.
        account_number: The account that receives the money: a wallet account number, an IBAN or similar.
        amount: At most two decimals, no exponent.
        user_id: Unique ID of the customer.
        name: Name and surname of the customer.
        username: Username of the customer.
        reference_id: Your unique ID of this transfer, any printable text; a UUIDv4 is recommended.
        payment_method: A payment method code.
        metadata: Your own texts about the transfer, by key: at most 20, keys of 1 to 40 and values of at
            most 200 characters.
        """
        request = ApiRequest(
            "POST",
            "/api/services/app/TransactionRequests/CreateWithdraw",
            CreatedTransfer,
            body={
                "identityNumber": identity_number,
                "accountNumber": account_number,
                "amount": amount,
                "userId": user_id,
                "name": name,
                "username": username,
                "referenceId": reference_id,
                "paymentMethod": payment_method,
                "metadata": metadata,
                "transactionType": 2,
            },
            is_hashed=True,
            is_envelope=True,
        )
        return self._send(request)

    def wallet_customer_login(
        self,
        *,
        tracking_id: str,
        user_name: str,
        password: str,
    ) -> str:
        """Log in to the wallet account that pays a native deposit. Sends a code to the customer by SMS. The
        limits are 5 codes per minute and account, and 20 logins per deposit. The third wrong password
        starts a wait. The WebApiKey needs the scope ``deposits``.

        tracking_id: The trackingId of the native deposit.
        user_name: The email of the customer's wallet account.
        password: Six digits.
        """
        request = ApiRequest(
            "POST",
            "/api/services/app/TransactionRequests/WalletCustomerLogin",
            str,
            body={
                "trackingId": tracking_id,
                "userName": user_name,
                "password": password,
            },
            is_repeatable=False,
            is_envelope=True,
        )
        return self._send(request)

    def wallet_2fa(self, *, tracking_id: str, token: str, code: str) -> VerifiedCode:
        """Verify the code. A login has five attempts. The right code uses up the token. The WebApiKey needs
        the scope ``deposits``.

        tracking_id: The trackingId of the native deposit.
        token: The token of WalletCustomerLogin.
        code: The six digits that the customer received. Spaces, hyphens and digits of other scripts are
            accepted as typed.
        """
        request = ApiRequest(
            "POST",
            "/api/services/app/TransactionRequests/Wallet2Fa",
            VerifiedCode,
            body={
                "trackingId": tracking_id,
                "token": token,
                "code": code,
            },
            is_repeatable=False,
            is_envelope=True,
        )
        return self._send(request)

    def wallet_validate_user_device(self, *, token: str, tracking_id: str) -> Optional[str]:
        """Check whether the customer has confirmed the device, and finish the deposit. Poll every 2 seconds.
        One request per second and deposit counts against no limit. The WebApiKey needs the scope
        ``deposits``.

        token: The token of Wallet2Fa.
        tracking_id: The trackingId of the native deposit.
        """
        request = ApiRequest(
            "POST",
            "/api/services/app/TransactionRequests/WalletValidateUserDevice",
            str,
            body={"token": token, "trackingId": tracking_id},
            is_envelope=True,
            is_nullable=True,
        )
        return self._send(request)

    def get_transfer(self, tracking_id: str) -> Transfer:
        """Get a transfer. The WebApiKey needs the scope ``read``."""
        request = ApiRequest(
            "GET",
            f"/v1/transfers/{quote(tracking_id, safe='')}",
            Transfer,
        )
        return self._send(request)

    def list_transfers(
        self,
        *,
        reference_id: Optional[str] = None,
        status: Optional[str] = None,
        kind: Optional[str] = None,
        from_: Optional[str] = None,
        to: Optional[str] = None,
        limit: Optional[int] = None,
        cursor: Optional[str] = None,
        metadata: Optional[Dict[str, str]] = None,
    ) -> TransferPage:
        """List transfers. Newest first. A new transfer can take a moment to appear, except in a search by
        referenceId. With ``metadata``, a page can be short or empty although ``nextCursor`` leads to
        more. The WebApiKey needs the scope ``read``.

        reference_id: The whole referenceId. Finds a new transfer immediately.
        status: The name or the number.
        kind: Only transfers of this kind. ``Kind`` has the known values.
        from_: Created at or after this ISO 8601 time.
        to: Created before this ISO 8601 time.
        limit: The number of items, 1 to 100.
        cursor: The ``nextCursor`` of the previous page.
        metadata: Only transfers with exactly these texts in their metadata: ``metadata[order]=4711``.
        """
        request = ApiRequest(
            "GET",
            "/v1/transfers",
            TransferPage,
            query={
                "referenceId": reference_id,
                "status": status,
                "kind": kind,
                "from": from_,
                "to": to,
                "limit": limit,
                "cursor": cursor,
                "metadata": metadata,
            },
        )
        return self._send(request)

    def iterate_transfers(
        self,
        *,
        reference_id: Optional[str] = None,
        status: Optional[str] = None,
        kind: Optional[str] = None,
        from_: Optional[str] = None,
        to: Optional[str] = None,
        metadata: Optional[Dict[str, str]] = None,
    ) -> Iterator[Transfer]:
        """Yields the items of all pages of list_transfers."""
        cursor: Optional[str] = None
        while True:
            page = self.list_transfers(
                reference_id=reference_id,
                status=status,
                kind=kind,
                from_=from_,
                to=to,
                metadata=metadata,
                limit=100,
                cursor=cursor,
            )
            yield from page.items
            if page.next_cursor is None:
                return
            cursor = self._advanced(cursor, page.next_cursor)

    def get_transfer_events(self, tracking_id: str) -> History:
        """Get the history of a transfer. The WebApiKey needs the scope ``read``."""
        request = ApiRequest(
            "GET",
            f"/v1/transfers/{quote(tracking_id, safe='')}/events",
            History,
        )
        return self._send(request)

    def list_events(
        self,
        *,
        after: Optional[str] = None,
        limit: Optional[int] = None,
    ) -> Feed:
        """Read the feed of all your events. Oldest first. Continue with ``after`` = ``next``. No event is
        ever inserted before a position that you have read. The WebApiKey needs the scope ``read``.

        after: The ``next`` of the previous response; defaults to the start.
        limit: The number of items, 1 to 100.
        """
        request = ApiRequest(
            "GET",
            "/v1/events",
            Feed,
            query={"after": after, "limit": limit},
        )
        return self._send(request)

    def get_merchant(self) -> Merchant:
        """Get the merchant of your key. The WebApiKey needs the scope ``read``."""
        request = ApiRequest("GET", "/v1/merchant", Merchant)
        return self._send(request)

    def get_transfer_callbacks(self, tracking_id: str) -> TransferCallbacks:
        """Get the callbacks sent about a transfer. The WebApiKey needs the scope ``read``."""
        request = ApiRequest(
            "GET",
            f"/v1/transfers/{quote(tracking_id, safe='')}/callbacks",
            TransferCallbacks,
        )
        return self._send(request)

    def resend_transfer_callbacks(
        self,
        tracking_id: str,
        *,
        webhook_id: Optional[str] = None,
    ) -> ResendResult:
        """Resend callbacks. Without a webhookId: all parked callbacks, or the latest one if none is parked.
        A callback can be resent after 1 minute, then after 2, 4, and up to 60 minutes; a callback of a
        sandbox merchant at any time. The WebApiKey needs the scope ``read``.

        webhook_id: Only this callback.
        """
        request = ApiRequest(
            "POST",
            f"/v1/transfers/{quote(tracking_id, safe='')}/callbacks/resend",
            ResendResult,
            body={"webhookId": webhook_id},
            is_repeatable=False,
        )
        return self._send(request)

    def list_callbacks(
        self,
        *,
        status: Optional[str] = None,
        limit: Optional[int] = None,
        cursor: Optional[str] = None,
    ) -> CallbackPage:
        """List callbacks. Newest first. A new callback or a changed status can take a moment to appear. The
        WebApiKey needs the scope ``read``.

        status: Only callbacks with this status.
        limit: The number of items, 1 to 100.
        cursor: The ``nextCursor`` of the previous page.
        """
        request = ApiRequest(
            "GET",
            "/v1/callbacks",
            CallbackPage,
            query={
                "status": status,
                "limit": limit,
                "cursor": cursor,
            },
        )
        return self._send(request)

    def iterate_callbacks(self, *, status: Optional[str] = None) -> Iterator[CallbackSummary]:
        """Yields the items of all pages of list_callbacks."""
        cursor: Optional[str] = None
        while True:
            page = self.list_callbacks(status=status, limit=100, cursor=cursor)
            yield from page.items
            if page.next_cursor is None:
                return
            cursor = self._advanced(cursor, page.next_cursor)

    def resend_callbacks(
        self,
        *,
        callbacks: Optional[List[CallbackId]] = None,
        parked_since: Optional[str] = None,
    ) -> ResendManyResult:
        """Resend many callbacks. Resends the named callbacks, or those that were parked since a time. The
        same limit applies to each callback; callbacks that were resent just now are omitted, except those
        of a sandbox merchant. The WebApiKey needs the scope ``read``.

        parked_since: Callbacks parked at this time or later: an ISO 8601 date, or a time with a time
            zone.
        """
        request = ApiRequest(
            "POST",
            "/v1/callbacks/resend",
            ResendManyResult,
            body={
                "callbacks": callbacks,
                "parkedSince": parked_since,
            },
            is_repeatable=False,
        )
        return self._send(request)

    def get_callback_endpoint(self) -> CallbackEndpoint:
        """Get the state of your callback endpoint. The WebApiKey needs the scope ``read``."""
        request = ApiRequest("GET", "/v1/callbacks/endpoint", CallbackEndpoint)
        return self._send(request)

    def test_callback_endpoint(self) -> EndpointTest:
        """Send a test event to your callback endpoint. At most one every five seconds. It is signed like a
        callback and has the header ``x-transfer-test``. If it is delivered, callbacks that wait after a
        failed attempt are sent again. The WebApiKey needs the scope ``read``."""
        request = ApiRequest(
            "POST",
            "/v1/callbacks/endpoint/test",
            EndpointTest,
            is_repeatable=False,
        )
        return self._send(request)

    def enable_callback_endpoint(self) -> CallbackEndpoint:
        """Enable your callback endpoint again. All waiting callbacks are sent, in order per transfer. The
        WebApiKey needs the scope ``read``."""
        request = ApiRequest(
            "POST",
            "/v1/callbacks/endpoint/enable",
            CallbackEndpoint,
        )
        return self._send(request)

    def claim_withdrawal(self, tracking_id: str, *, revision: int) -> Transfer:
        """Claim a withdrawal for 15 minutes. Send the ``revision`` that you saw: if the transfer has changed
        since, nothing is done. A repeated request gets the same response. The WebApiKey needs the scope
        ``settlement``.

        revision: The last revision that you saw: if the transfer has changed since, nothing is done.
        """
        request = ApiRequest(
            "POST",
            f"/v1/withdrawals/{quote(tracking_id, safe='')}/claim",
            Transfer,
            body={"revision": revision},
        )
        return self._send(request)

    def release_withdrawal(self, tracking_id: str, *, revision: int) -> Transfer:
        """Release a claim. Send the ``revision`` that you saw: if the transfer has changed since, nothing is
        done. A repeated request gets the same response. The WebApiKey needs the scope ``settlement``.

        revision: The last revision that you saw: if the transfer has changed since, nothing is done.
        """
        request = ApiRequest(
            "POST",
            f"/v1/withdrawals/{quote(tracking_id, safe='')}/release",
            Transfer,
            body={"revision": revision},
        )
        return self._send(request)

    def complete_withdrawal(
        self,
        tracking_id: str,
        *,
        revision: int,
        amount: Optional[str] = None,
        confirmed_amount: Optional[str] = None,
        receipt_url: Optional[str] = None,
        message: Optional[str] = None,
    ) -> Transfer:
        """Complete a paid withdrawal. Requires your own claim. Send the ``revision`` that you saw: if the
        transfer has changed since, nothing is done. A repeated request gets the same response. The
        WebApiKey needs the scope ``settlement``.

        revision: The last revision that you saw: if the transfer has changed since, nothing is done.
        amount: The paid amount; defaults to the requested amount.
        confirmed_amount: The same amount again, required if it is more than requested or, by default,
            less than a tenth of it.
        receipt_url: Address of the receipt.
        message: For the callback.
        """
        request = ApiRequest(
            "POST",
            f"/v1/withdrawals/{quote(tracking_id, safe='')}/complete",
            Transfer,
            body={
                "revision": revision,
                "amount": amount,
                "confirmedAmount": confirmed_amount,
                "receiptUrl": receipt_url,
                "message": message,
            },
        )
        return self._send(request)

    def cancel_withdrawal(
        self,
        tracking_id: str,
        *,
        revision: int,
        message: str,
    ) -> Transfer:
        """Cancel a withdrawal without paying it. Requires your own claim. Send the ``revision`` that you
        saw: if the transfer has changed since, nothing is done. A repeated request gets the same
        response. The WebApiKey needs the scope ``settlement``.

        revision: The last revision that you saw: if the transfer has changed since, nothing is done.
        message: Why; it is in the callback.
        """
        request = ApiRequest(
            "POST",
            f"/v1/withdrawals/{quote(tracking_id, safe='')}/cancel",
            Transfer,
            body={"revision": revision, "message": message},
        )
        return self._send(request)

    def receive_deposit(
        self,
        tracking_id: str,
        *,
        revision: int,
        amount: str,
        reference: str,
        confirmed_amount: Optional[str] = None,
        receipt_url: Optional[str] = None,
    ) -> Transfer:
        """Record a payment for a deposit that is paid manually. Payments add up. The deposit is completed
        when their sum is the requested amount within your tolerance. Send the ``revision`` that you saw:
        if the transfer has changed since, nothing is done. A repeated request gets the same response. The
        WebApiKey needs the scope ``settlement``.

        revision: The last revision that you saw: if the transfer has changed since, nothing is done.
        amount: The received amount.
        confirmed_amount: The same amount again, required if it is many times the requested amount.
        reference: The bank’s reference of the payment. It is recorded once: a repeat with the same amount
            changes nothing.
        receipt_url: Address of the receipt.
        """
        request = ApiRequest(
            "POST",
            f"/v1/deposits/{quote(tracking_id, safe='')}/receive",
            Transfer,
            body={
                "revision": revision,
                "amount": amount,
                "confirmedAmount": confirmed_amount,
                "reference": reference,
                "receiptUrl": receipt_url,
            },
        )
        return self._send(request)

    def record_withdrawal_return(
        self,
        tracking_id: str,
        *,
        revision: int,
        amount: str,
        reason_code: str,
        reference: str,
        receipt_url: Optional[str] = None,
    ) -> Transfer:
        """Record that the bank sent money of a completed withdrawal back. The status stays, and the
        withdrawal needs attention until the operator decides about the money. Send the ``revision`` that
        you saw: if the transfer has changed since, nothing is done. A repeated request gets the same
        response. The WebApiKey needs the scope ``settlement``.

        revision: The last revision that you saw: if the transfer has changed since, nothing is done.
        amount: The amount that came back.
        reason_code: The return reason code of the bank (ISO 20022): AC01, AC03, AC04, AC06, AC07, AG01,
            AG02, AM05, AM09, BE01, BE04, BE06, CNOR, CUST, FOCR, FR01, MD07, MS02, MS03, NARR, RC01, RR01,
            RR02, RR03, RR04. NARR is for any other reason.
        reference: The bank’s reference of the return. It is recorded once: a repeat with the same amount
            and code changes nothing.
        receipt_url: Address of the receipt.
        """
        request = ApiRequest(
            "POST",
            f"/v1/withdrawals/{quote(tracking_id, safe='')}/returned",
            Transfer,
            body={
                "revision": revision,
                "amount": amount,
                "reasonCode": reason_code,
                "reference": reference,
                "receiptUrl": receipt_url,
            },
        )
        return self._send(request)

    def repay_withdrawal(
        self,
        tracking_id: str,
        *,
        revision: int,
        amount: str,
        reference_id: str,
        account_number: str,
        identity_number: Optional[str] = None,
        payment_method: Optional[int] = None,
    ) -> Transfer:
        """Pay the returned money of a withdrawal again. Creates a withdrawal to the account that you
        specify, which is paid like any other. Send the ``revision`` that you saw: if the transfer has
        changed since, nothing is done. A repeated request gets the same response. The WebApiKey needs the
        scope ``settlement``.

        revision: The last revision that you saw: if the transfer has changed since, nothing is done.
        amount: The amount to pay again.
        reference_id: Your unique ID, which is the referenceId of the new withdrawal.
        account_number: The account that receives the money.
        identity_number: Identity number of the customer.
        payment_method: The payment method of the new withdrawal; defaults to that of the earlier one.
        """
        request = ApiRequest(
            "POST",
            f"/v1/withdrawals/{quote(tracking_id, safe='')}/repayments",
            Transfer,
            body={
                "revision": revision,
                "amount": amount,
                "referenceId": reference_id,
                "accountNumber": account_number,
                "identityNumber": identity_number,
                "paymentMethod": payment_method,
            },
        )
        return self._send(request)

    def refund_deposit(
        self,
        tracking_id: str,
        *,
        revision: int,
        amount: str,
        reference_id: str,
        account_number: Optional[str] = None,
        identity_number: Optional[str] = None,
        payment_method: Optional[int] = None,
    ) -> Transfer:
        """Return money of a deposit. A withdrawal returns the money to the account that you specify, and is
        paid like any other. Without an account, the wallet credits the account that paid the deposit. The
        money is reserved until then. Send the ``revision`` that you saw: if the transfer has changed
        since, nothing is done. A repeated request gets the same response. The WebApiKey needs the scope
        ``settlement``.

        revision: The last revision that you saw: if the transfer has changed since, nothing is done.
        amount: The amount to return.
        reference_id: Your unique ID, which is the referenceId of the new withdrawal.
        account_number: The account that receives the money. Without it, the wallet account that paid the
            deposit.
        identity_number: Identity number of the customer.
        payment_method: The payment method of the withdrawal; defaults to that of the deposit, or to the
            first one for withdrawals.
        """
        request = ApiRequest(
            "POST",
            f"/v1/transfers/{quote(tracking_id, safe='')}/refunds",
            Transfer,
            body={
                "revision": revision,
                "amount": amount,
                "referenceId": reference_id,
                "accountNumber": account_number,
                "identityNumber": identity_number,
                "paymentMethod": payment_method,
            },
        )
        return self._send(request)

    def correct_transfer(
        self,
        tracking_id: str,
        *,
        revision: int,
        amount: str,
        reason: str,
        confirmed_amount: Optional[str] = None,
        reference: Optional[str] = None,
    ) -> Transfer:
        """Correct the amount of a completed transfer. The status stays, and a callback with the new amount
        follows. Above the threshold for approvals, a second user must approve the correction: until then
        it is the ``proposedAmount``. Send the ``revision`` that you saw: if the transfer has changed
        since, nothing is done. A repeated request gets the same response. The WebApiKey needs the scope
        ``settlement``.

        revision: The last revision that you saw: if the transfer has changed since, nothing is done.
        amount: The amount that moved.
        confirmed_amount: The same amount again, required if it differs much from the requested amount.
        reason: Why; it is in the history.
        reference: Your reference. It is corrected once: a repeat with the same amount changes nothing.
        """
        request = ApiRequest(
            "POST",
            f"/v1/transfers/{quote(tracking_id, safe='')}/correct",
            Transfer,
            body={
                "revision": revision,
                "amount": amount,
                "confirmedAmount": confirmed_amount,
                "reason": reason,
                "reference": reference,
            },
        )
        return self._send(request)


class AsyncOperations:
    """The operations of the API as coroutines. Each raises a TransferdError."""

    async def _send(self, request: ApiRequest[T]) -> T:
        raise NotImplementedError

    def _advanced(self, position: Optional[str], next_: Optional[str]) -> str:
        raise NotImplementedError

    async def create_hosted_deposit(
        self,
        *,
        amount: str,
        user_id: str,
        name: str,
        username: str,
        reference_id: str,
        payment_method: int,
        metadata: Optional[Dict[str, str]] = None,
    ) -> CreatedHostedDeposit:
        """Create a hosted deposit. Redirect the customer to the ``url`` of the response. The WebApiKey needs
        the scope ``deposits``.

        amount: At most two decimals, no exponent.
        user_id: Unique ID of the customer.
        name: Name and surname of the customer.
        username: Username of the customer.
        reference_id: Your unique ID of this transfer, any printable text; a UUIDv4 is recommended.
        payment_method: A payment method code.
        metadata: Your own texts about the transfer, by key: at most 20, keys of 1 to 40 and values of at
            most 200 characters.
        """
        request = ApiRequest(
            "POST",
            "/Transaction/CreateDeposit",
            CreatedHostedDeposit,
            body={
                "amount": amount,
                "userId": user_id,
                "name": name,
                "username": username,
                "referenceId": reference_id,
                "paymentMethod": payment_method,
                "metadata": metadata,
                "transactionType": 1,
            },
            is_hashed=True,
        )
        return await self._send(request)

    async def create_native_deposit(
        self,
        *,
        amount: str,
        user_id: str,
        name: str,
        username: str,
        reference_id: str,
        payment_method: int,
        metadata: Optional[Dict[str, str]] = None,
    ) -> CreatedTransfer:
        """Create a native deposit. The WebApiKey needs the scope ``deposits``.

        amount: At most two decimals, no exponent.
        user_id: Unique ID of the customer.
        name: Name and surname of the customer.
        username: Username of the customer.
        reference_id: Your unique ID of this transfer, any printable text; a UUIDv4 is recommended.
        payment_method: A payment method code.
        metadata: Your own texts about the transfer, by key: at most 20, keys of 1 to 40 and values of at
            most 200 characters.
        """
        request = ApiRequest(
            "POST",
            "/api/services/app/TransactionRequests/CreateDeposit",
            CreatedTransfer,
            body={
                "amount": amount,
                "userId": user_id,
                "name": name,
                "username": username,
                "referenceId": reference_id,
                "paymentMethod": payment_method,
                "metadata": metadata,
                "transactionType": 1,
            },
            is_hashed=True,
            is_envelope=True,
        )
        return await self._send(request)

    async def create_withdrawal(
        self,
        *,
        account_number: str,
        amount: str,
        user_id: str,
        name: str,
        username: str,
        reference_id: str,
        payment_method: int,
        identity_number: Optional[str] = None,
        metadata: Optional[Dict[str, str]] = None,
    ) -> CreatedTransfer:
        """Create a withdrawal. The WebApiKey needs the scope ``withdrawals``.

        identity_number: Identity number of the customer.
        account_number: The account that receives the money: a wallet account number, an IBAN or similar.
        amount: At most two decimals, no exponent.
        user_id: Unique ID of the customer.
        name: Name and surname of the customer.
        username: Username of the customer.
        reference_id: Your unique ID of this transfer, any printable text; a UUIDv4 is recommended.
        payment_method: A payment method code.
        metadata: Your own texts about the transfer, by key: at most 20, keys of 1 to 40 and values of at
            most 200 characters.
        """
        request = ApiRequest(
            "POST",
            "/api/services/app/TransactionRequests/CreateWithdraw",
            CreatedTransfer,
            body={
                "identityNumber": identity_number,
                "accountNumber": account_number,
                "amount": amount,
                "userId": user_id,
                "name": name,
                "username": username,
                "referenceId": reference_id,
                "paymentMethod": payment_method,
                "metadata": metadata,
                "transactionType": 2,
            },
            is_hashed=True,
            is_envelope=True,
        )
        return await self._send(request)

    async def wallet_customer_login(
        self,
        *,
        tracking_id: str,
        user_name: str,
        password: str,
    ) -> str:
        """Log in to the wallet account that pays a native deposit. Sends a code to the customer by SMS. The
        limits are 5 codes per minute and account, and 20 logins per deposit. The third wrong password
        starts a wait. The WebApiKey needs the scope ``deposits``.

        tracking_id: The trackingId of the native deposit.
        user_name: The email of the customer's wallet account.
        password: Six digits.
        """
        request = ApiRequest(
            "POST",
            "/api/services/app/TransactionRequests/WalletCustomerLogin",
            str,
            body={
                "trackingId": tracking_id,
                "userName": user_name,
                "password": password,
            },
            is_repeatable=False,
            is_envelope=True,
        )
        return await self._send(request)

    async def wallet_2fa(self, *, tracking_id: str, token: str, code: str) -> VerifiedCode:
        """Verify the code. A login has five attempts. The right code uses up the token. The WebApiKey needs
        the scope ``deposits``.

        tracking_id: The trackingId of the native deposit.
        token: The token of WalletCustomerLogin.
        code: The six digits that the customer received. Spaces, hyphens and digits of other scripts are
            accepted as typed.
        """
        request = ApiRequest(
            "POST",
            "/api/services/app/TransactionRequests/Wallet2Fa",
            VerifiedCode,
            body={
                "trackingId": tracking_id,
                "token": token,
                "code": code,
            },
            is_repeatable=False,
            is_envelope=True,
        )
        return await self._send(request)

    async def wallet_validate_user_device(self, *, token: str, tracking_id: str) -> Optional[str]:
        """Check whether the customer has confirmed the device, and finish the deposit. Poll every 2 seconds.
        One request per second and deposit counts against no limit. The WebApiKey needs the scope
        ``deposits``.

        token: The token of Wallet2Fa.
        tracking_id: The trackingId of the native deposit.
        """
        request = ApiRequest(
            "POST",
            "/api/services/app/TransactionRequests/WalletValidateUserDevice",
            str,
            body={"token": token, "trackingId": tracking_id},
            is_envelope=True,
            is_nullable=True,
        )
        return await self._send(request)

    async def get_transfer(self, tracking_id: str) -> Transfer:
        """Get a transfer. The WebApiKey needs the scope ``read``."""
        request = ApiRequest(
            "GET",
            f"/v1/transfers/{quote(tracking_id, safe='')}",
            Transfer,
        )
        return await self._send(request)

    async def list_transfers(
        self,
        *,
        reference_id: Optional[str] = None,
        status: Optional[str] = None,
        kind: Optional[str] = None,
        from_: Optional[str] = None,
        to: Optional[str] = None,
        limit: Optional[int] = None,
        cursor: Optional[str] = None,
        metadata: Optional[Dict[str, str]] = None,
    ) -> TransferPage:
        """List transfers. Newest first. A new transfer can take a moment to appear, except in a search by
        referenceId. With ``metadata``, a page can be short or empty although ``nextCursor`` leads to
        more. The WebApiKey needs the scope ``read``.

        reference_id: The whole referenceId. Finds a new transfer immediately.
        status: The name or the number.
        kind: Only transfers of this kind. ``Kind`` has the known values.
        from_: Created at or after this ISO 8601 time.
        to: Created before this ISO 8601 time.
        limit: The number of items, 1 to 100.
        cursor: The ``nextCursor`` of the previous page.
        metadata: Only transfers with exactly these texts in their metadata: ``metadata[order]=4711``.
        """
        request = ApiRequest(
            "GET",
            "/v1/transfers",
            TransferPage,
            query={
                "referenceId": reference_id,
                "status": status,
                "kind": kind,
                "from": from_,
                "to": to,
                "limit": limit,
                "cursor": cursor,
                "metadata": metadata,
            },
        )
        return await self._send(request)

    async def iterate_transfers(
        self,
        *,
        reference_id: Optional[str] = None,
        status: Optional[str] = None,
        kind: Optional[str] = None,
        from_: Optional[str] = None,
        to: Optional[str] = None,
        metadata: Optional[Dict[str, str]] = None,
    ) -> AsyncIterator[Transfer]:
        """Yields the items of all pages of list_transfers."""
        cursor: Optional[str] = None
        while True:
            page = await self.list_transfers(
                reference_id=reference_id,
                status=status,
                kind=kind,
                from_=from_,
                to=to,
                metadata=metadata,
                limit=100,
                cursor=cursor,
            )
            for item in page.items:
                yield item
            if page.next_cursor is None:
                return
            cursor = self._advanced(cursor, page.next_cursor)

    async def get_transfer_events(self, tracking_id: str) -> History:
        """Get the history of a transfer. The WebApiKey needs the scope ``read``."""
        request = ApiRequest(
            "GET",
            f"/v1/transfers/{quote(tracking_id, safe='')}/events",
            History,
        )
        return await self._send(request)

    async def list_events(
        self,
        *,
        after: Optional[str] = None,
        limit: Optional[int] = None,
    ) -> Feed:
        """Read the feed of all your events. Oldest first. Continue with ``after`` = ``next``. No event is
        ever inserted before a position that you have read. The WebApiKey needs the scope ``read``.

        after: The ``next`` of the previous response; defaults to the start.
        limit: The number of items, 1 to 100.
        """
        request = ApiRequest(
            "GET",
            "/v1/events",
            Feed,
            query={"after": after, "limit": limit},
        )
        return await self._send(request)

    async def get_merchant(self) -> Merchant:
        """Get the merchant of your key. The WebApiKey needs the scope ``read``."""
        request = ApiRequest("GET", "/v1/merchant", Merchant)
        return await self._send(request)

    async def get_transfer_callbacks(self, tracking_id: str) -> TransferCallbacks:
        """Get the callbacks sent about a transfer. The WebApiKey needs the scope ``read``."""
        request = ApiRequest(
            "GET",
            f"/v1/transfers/{quote(tracking_id, safe='')}/callbacks",
            TransferCallbacks,
        )
        return await self._send(request)

    async def resend_transfer_callbacks(
        self,
        tracking_id: str,
        *,
        webhook_id: Optional[str] = None,
    ) -> ResendResult:
        """Resend callbacks. Without a webhookId: all parked callbacks, or the latest one if none is parked.
        A callback can be resent after 1 minute, then after 2, 4, and up to 60 minutes; a callback of a
        sandbox merchant at any time. The WebApiKey needs the scope ``read``.

        webhook_id: Only this callback.
        """
        request = ApiRequest(
            "POST",
            f"/v1/transfers/{quote(tracking_id, safe='')}/callbacks/resend",
            ResendResult,
            body={"webhookId": webhook_id},
            is_repeatable=False,
        )
        return await self._send(request)

    async def list_callbacks(
        self,
        *,
        status: Optional[str] = None,
        limit: Optional[int] = None,
        cursor: Optional[str] = None,
    ) -> CallbackPage:
        """List callbacks. Newest first. A new callback or a changed status can take a moment to appear. The
        WebApiKey needs the scope ``read``.

        status: Only callbacks with this status.
        limit: The number of items, 1 to 100.
        cursor: The ``nextCursor`` of the previous page.
        """
        request = ApiRequest(
            "GET",
            "/v1/callbacks",
            CallbackPage,
            query={
                "status": status,
                "limit": limit,
                "cursor": cursor,
            },
        )
        return await self._send(request)

    async def iterate_callbacks(self, *, status: Optional[str] = None) -> AsyncIterator[CallbackSummary]:
        """Yields the items of all pages of list_callbacks."""
        cursor: Optional[str] = None
        while True:
            page = await self.list_callbacks(status=status, limit=100, cursor=cursor)
            for item in page.items:
                yield item
            if page.next_cursor is None:
                return
            cursor = self._advanced(cursor, page.next_cursor)

    async def resend_callbacks(
        self,
        *,
        callbacks: Optional[List[CallbackId]] = None,
        parked_since: Optional[str] = None,
    ) -> ResendManyResult:
        """Resend many callbacks. Resends the named callbacks, or those that were parked since a time. The
        same limit applies to each callback; callbacks that were resent just now are omitted, except those
        of a sandbox merchant. The WebApiKey needs the scope ``read``.

        parked_since: Callbacks parked at this time or later: an ISO 8601 date, or a time with a time
            zone.
        """
        request = ApiRequest(
            "POST",
            "/v1/callbacks/resend",
            ResendManyResult,
            body={
                "callbacks": callbacks,
                "parkedSince": parked_since,
            },
            is_repeatable=False,
        )
        return await self._send(request)

    async def get_callback_endpoint(self) -> CallbackEndpoint:
        """Get the state of your callback endpoint. The WebApiKey needs the scope ``read``."""
        request = ApiRequest("GET", "/v1/callbacks/endpoint", CallbackEndpoint)
        return await self._send(request)

    async def test_callback_endpoint(self) -> EndpointTest:
        """Send a test event to your callback endpoint. At most one every five seconds. It is signed like a
        callback and has the header ``x-transfer-test``. If it is delivered, callbacks that wait after a
        failed attempt are sent again. The WebApiKey needs the scope ``read``."""
        request = ApiRequest(
            "POST",
            "/v1/callbacks/endpoint/test",
            EndpointTest,
            is_repeatable=False,
        )
        return await self._send(request)

    async def enable_callback_endpoint(self) -> CallbackEndpoint:
        """Enable your callback endpoint again. All waiting callbacks are sent, in order per transfer. The
        WebApiKey needs the scope ``read``."""
        request = ApiRequest(
            "POST",
            "/v1/callbacks/endpoint/enable",
            CallbackEndpoint,
        )
        return await self._send(request)

    async def claim_withdrawal(self, tracking_id: str, *, revision: int) -> Transfer:
        """Claim a withdrawal for 15 minutes. Send the ``revision`` that you saw: if the transfer has changed
        since, nothing is done. A repeated request gets the same response. The WebApiKey needs the scope
        ``settlement``.

        revision: The last revision that you saw: if the transfer has changed since, nothing is done.
        """
        request = ApiRequest(
            "POST",
            f"/v1/withdrawals/{quote(tracking_id, safe='')}/claim",
            Transfer,
            body={"revision": revision},
        )
        return await self._send(request)

    async def release_withdrawal(self, tracking_id: str, *, revision: int) -> Transfer:
        """Release a claim. Send the ``revision`` that you saw: if the transfer has changed since, nothing is
        done. A repeated request gets the same response. The WebApiKey needs the scope ``settlement``.

        revision: The last revision that you saw: if the transfer has changed since, nothing is done.
        """
        request = ApiRequest(
            "POST",
            f"/v1/withdrawals/{quote(tracking_id, safe='')}/release",
            Transfer,
            body={"revision": revision},
        )
        return await self._send(request)

    async def complete_withdrawal(
        self,
        tracking_id: str,
        *,
        revision: int,
        amount: Optional[str] = None,
        confirmed_amount: Optional[str] = None,
        receipt_url: Optional[str] = None,
        message: Optional[str] = None,
    ) -> Transfer:
        """Complete a paid withdrawal. Requires your own claim. Send the ``revision`` that you saw: if the
        transfer has changed since, nothing is done. A repeated request gets the same response. The
        WebApiKey needs the scope ``settlement``.

        revision: The last revision that you saw: if the transfer has changed since, nothing is done.
        amount: The paid amount; defaults to the requested amount.
        confirmed_amount: The same amount again, required if it is more than requested or, by default,
            less than a tenth of it.
        receipt_url: Address of the receipt.
        message: For the callback.
        """
        request = ApiRequest(
            "POST",
            f"/v1/withdrawals/{quote(tracking_id, safe='')}/complete",
            Transfer,
            body={
                "revision": revision,
                "amount": amount,
                "confirmedAmount": confirmed_amount,
                "receiptUrl": receipt_url,
                "message": message,
            },
        )
        return await self._send(request)

    async def cancel_withdrawal(
        self,
        tracking_id: str,
        *,
        revision: int,
        message: str,
    ) -> Transfer:
        """Cancel a withdrawal without paying it. Requires your own claim. Send the ``revision`` that you
        saw: if the transfer has changed since, nothing is done. A repeated request gets the same
        response. The WebApiKey needs the scope ``settlement``.

        revision: The last revision that you saw: if the transfer has changed since, nothing is done.
        message: Why; it is in the callback.
        """
        request = ApiRequest(
            "POST",
            f"/v1/withdrawals/{quote(tracking_id, safe='')}/cancel",
            Transfer,
            body={"revision": revision, "message": message},
        )
        return await self._send(request)

    async def receive_deposit(
        self,
        tracking_id: str,
        *,
        revision: int,
        amount: str,
        reference: str,
        confirmed_amount: Optional[str] = None,
        receipt_url: Optional[str] = None,
    ) -> Transfer:
        """Record a payment for a deposit that is paid manually. Payments add up. The deposit is completed
        when their sum is the requested amount within your tolerance. Send the ``revision`` that you saw:
        if the transfer has changed since, nothing is done. A repeated request gets the same response. The
        WebApiKey needs the scope ``settlement``.

        revision: The last revision that you saw: if the transfer has changed since, nothing is done.
        amount: The received amount.
        confirmed_amount: The same amount again, required if it is many times the requested amount.
        reference: The bank’s reference of the payment. It is recorded once: a repeat with the same amount
            changes nothing.
        receipt_url: Address of the receipt.
        """
        request = ApiRequest(
            "POST",
            f"/v1/deposits/{quote(tracking_id, safe='')}/receive",
            Transfer,
            body={
                "revision": revision,
                "amount": amount,
                "confirmedAmount": confirmed_amount,
                "reference": reference,
                "receiptUrl": receipt_url,
            },
        )
        return await self._send(request)

    async def record_withdrawal_return(
        self,
        tracking_id: str,
        *,
        revision: int,
        amount: str,
        reason_code: str,
        reference: str,
        receipt_url: Optional[str] = None,
    ) -> Transfer:
        """Record that the bank sent money of a completed withdrawal back. The status stays, and the
        withdrawal needs attention until the operator decides about the money. Send the ``revision`` that
        you saw: if the transfer has changed since, nothing is done. A repeated request gets the same
        response. The WebApiKey needs the scope ``settlement``.

        revision: The last revision that you saw: if the transfer has changed since, nothing is done.
        amount: The amount that came back.
        reason_code: The return reason code of the bank (ISO 20022): AC01, AC03, AC04, AC06, AC07, AG01,
            AG02, AM05, AM09, BE01, BE04, BE06, CNOR, CUST, FOCR, FR01, MD07, MS02, MS03, NARR, RC01, RR01,
            RR02, RR03, RR04. NARR is for any other reason.
        reference: The bank’s reference of the return. It is recorded once: a repeat with the same amount
            and code changes nothing.
        receipt_url: Address of the receipt.
        """
        request = ApiRequest(
            "POST",
            f"/v1/withdrawals/{quote(tracking_id, safe='')}/returned",
            Transfer,
            body={
                "revision": revision,
                "amount": amount,
                "reasonCode": reason_code,
                "reference": reference,
                "receiptUrl": receipt_url,
            },
        )
        return await self._send(request)

    async def repay_withdrawal(
        self,
        tracking_id: str,
        *,
        revision: int,
        amount: str,
        reference_id: str,
        account_number: str,
        identity_number: Optional[str] = None,
        payment_method: Optional[int] = None,
    ) -> Transfer:
        """Pay the returned money of a withdrawal again. Creates a withdrawal to the account that you
        specify, which is paid like any other. Send the ``revision`` that you saw: if the transfer has
        changed since, nothing is done. A repeated request gets the same response. The WebApiKey needs the
        scope ``settlement``.

        revision: The last revision that you saw: if the transfer has changed since, nothing is done.
        amount: The amount to pay again.
        reference_id: Your unique ID, which is the referenceId of the new withdrawal.
        account_number: The account that receives the money.
        identity_number: Identity number of the customer.
        payment_method: The payment method of the new withdrawal; defaults to that of the earlier one.
        """
        request = ApiRequest(
            "POST",
            f"/v1/withdrawals/{quote(tracking_id, safe='')}/repayments",
            Transfer,
            body={
                "revision": revision,
                "amount": amount,
                "referenceId": reference_id,
                "accountNumber": account_number,
                "identityNumber": identity_number,
                "paymentMethod": payment_method,
            },
        )
        return await self._send(request)

    async def refund_deposit(
        self,
        tracking_id: str,
        *,
        revision: int,
        amount: str,
        reference_id: str,
        account_number: Optional[str] = None,
        identity_number: Optional[str] = None,
        payment_method: Optional[int] = None,
    ) -> Transfer:
        """Return money of a deposit. A withdrawal returns the money to the account that you specify, and is
        paid like any other. Without an account, the wallet credits the account that paid the deposit. The
        money is reserved until then. Send the ``revision`` that you saw: if the transfer has changed
        since, nothing is done. A repeated request gets the same response. The WebApiKey needs the scope
        ``settlement``.

        revision: The last revision that you saw: if the transfer has changed since, nothing is done.
        amount: The amount to return.
        reference_id: Your unique ID, which is the referenceId of the new withdrawal.
        account_number: The account that receives the money. Without it, the wallet account that paid the
            deposit.
        identity_number: Identity number of the customer.
        payment_method: The payment method of the withdrawal; defaults to that of the deposit, or to the
            first one for withdrawals.
        """
        request = ApiRequest(
            "POST",
            f"/v1/transfers/{quote(tracking_id, safe='')}/refunds",
            Transfer,
            body={
                "revision": revision,
                "amount": amount,
                "referenceId": reference_id,
                "accountNumber": account_number,
                "identityNumber": identity_number,
                "paymentMethod": payment_method,
            },
        )
        return await self._send(request)

    async def correct_transfer(
        self,
        tracking_id: str,
        *,
        revision: int,
        amount: str,
        reason: str,
        confirmed_amount: Optional[str] = None,
        reference: Optional[str] = None,
    ) -> Transfer:
        """Correct the amount of a completed transfer. The status stays, and a callback with the new amount
        follows. Above the threshold for approvals, a second user must approve the correction: until then
        it is the ``proposedAmount``. Send the ``revision`` that you saw: if the transfer has changed
        since, nothing is done. A repeated request gets the same response. The WebApiKey needs the scope
        ``settlement``.

        revision: The last revision that you saw: if the transfer has changed since, nothing is done.
        amount: The amount that moved.
        confirmed_amount: The same amount again, required if it differs much from the requested amount.
        reason: Why; it is in the history.
        reference: Your reference. It is corrected once: a repeat with the same amount changes nothing.
        """
        request = ApiRequest(
            "POST",
            f"/v1/transfers/{quote(tracking_id, safe='')}/correct",
            Transfer,
            body={
                "revision": revision,
                "amount": amount,
                "confirmedAmount": confirmed_amount,
                "reason": reason,
                "reference": reference,
            },
        )
        return await self._send(request)
