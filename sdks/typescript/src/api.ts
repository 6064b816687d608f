// Generated from the OpenAPI document by `npm run sdks:generate`. Do not edit.

/** An amount as a decimal text: in responses with two decimals, such as `100.50`. */
export type Amount = string

/** The JSON fields that are amounts. */
export const amountFields: ReadonlySet<string> = new Set(['Amount','TransactionAmount','actualAmount','amount','approvedAmount','bookedAmount','confirmedAmount','correctedAmount','lateFunds','matchedAmount','maxAmount','minAmount','previousAmount','proposedAmount','receivedAmount','receivedAmountChange','refundAmount','refundedAmount','repaymentAmount','reservedAmount','resolvedAmount','returnedAmount','transactionAmount'])

/** The known values. Later versions of the service can send others. */
export const ErrorCode = {
  DevicePending: 20001,
  PaymentPending: 20002,
  HashMismatch: 40003,
  SignatureMismatch: 40004,
  BadLogin: 40006,
  BadToken: 40007,
  ExpiredToken: 40008,
  UsedToken: 40009,
  WrongCode: 40010,
  TooManyCodes: 40011,
  UnknownKey: 40101,
  AddressNotAllowed: 40301,
  MerchantSuspended: 40302,
  ScopeMissing: 40304,
  MethodNotAllowed: 40501,
  RequestTimeout: 40801,
  ReferenceReused: 40901,
  HashReused: 40902,
  NotPayable: 40903,
  ExpiredDeposit: 40904,
  PaymentUnderWay: 40905,
  InsufficientBalance: 40906,
  AccountBlocked: 40907,
  ManualControl: 40908,
  TooManyLogins: 40909,
  ManualMethod: 40910,
  CodesLocked: 42903,
  HeadersTooLarge: 43101,
  WalletUnavailable: 50302,
  InvalidRequest: 40001,
  MalformedBody: 40002,
  MalformedRequest: 40005,
  SignInWrong: 40012,
  CodeUsed: 40013,
  NotSignedIn: 40102,
  SecondFactorNeeded: 40103,
  CrossSite: 40303,
  Csrf: 40305,
  PermissionMissing: 40306,
  RecentSignInNeeded: 40307,
  PasswordChangeNeeded: 40308,
  SandboxOnly: 40309,
  UnknownRoute: 40401,
  UnknownTransfer: 40402,
  UnknownCallback: 40403,
  UnknownUser: 40404,
  UnknownMerchant: 40405,
  UnknownProjection: 40411,
  UnknownEvent: 40412,
  UnknownBankAccount: 40413,
  UnknownBankPayment: 40414,
  UnknownDisclosure: 40415,
  UnknownCustomer: 40421,
  ChangedMeanwhile: 40911,
  UserConflict: 40912,
  MerchantConflict: 40913,
  TransfersOpen: 40914,
  ClaimedByAnother: 40921,
  ClaimNeeded: 40922,
  ClaimExpired: 40923,
  ApprovalNeeded: 40924,
  FourEyes: 40925,
  NotPossible: 40926,
  PayoutsStopped: 40927,
  NotSealed: 40928,
  NotVerified: 40929,
  HeldInBankFile: 40933,
  DoneBefore: 40934,
  ProjectionConflict: 40931,
  EventReadable: 40932,
  DisclosureConflict: 40935,
  BodyTooLarge: 41301,
  ReceiptTooLarge: 41302,
  BankFileTooLarge: 41303,
  UnsupportedMediaType: 41501,
  NoReceipt: 41502,
  NoBankFile: 41503,
  BankFileUnreadable: 42201,
  TooManyRequests: 42901,
  LoginThrottled: 42902,
  ResentTooOften: 42904,
  Internal: 50001,
  ReceiptDamaged: 50002,
  Unavailable: 50301,
  Unreadable: 50303,
  MerchantOutOfService: 50304,
} as const
export type ErrorCode = (typeof ErrorCode)[keyof typeof ErrorCode] | (number & {})

/** The known values. Later versions of the service can send others. */
export const Kind = {
  deposit: 'deposit',
  withdrawal: 'withdrawal',
} as const
export type Kind = (typeof Kind)[keyof typeof Kind] | (string & {})

/** The known values. Later versions of the service can send others. */
export const LimitScope = {
  merchant: 'merchant',
  account: 'account',
  customer: 'customer',
} as const
export type LimitScope = (typeof LimitScope)[keyof typeof LimitScope] | (string & {})

/** The known values. Later versions of the service can send others. */
export const PaymentMethodType = {
  wallet: 'wallet',
  manual: 'manual',
} as const
export type PaymentMethodType = (typeof PaymentMethodType)[keyof typeof PaymentMethodType] | (string & {})

/** The known values. Later versions of the service can send others. */
export const RefundState = {
  proposed: 'proposed',
  open: 'open',
  returned: 'returned',
  cancelled: 'cancelled',
  failed: 'failed',
  rejected: 'rejected',
  refused: 'refused',
} as const
export type RefundState = (typeof RefundState)[keyof typeof RefundState] | (string & {})

/** The known values. Later versions of the service can send others. */
export const RefundTarget = {
  account: 'account',
  wallet: 'wallet',
  elsewhere: 'elsewhere',
} as const
export type RefundTarget = (typeof RefundTarget)[keyof typeof RefundTarget] | (string & {})

/** The known values. Later versions of the service can send others. */
export const RepaymentState = {
  open: 'open',
  paid: 'paid',
  cancelled: 'cancelled',
  failed: 'failed',
  refused: 'refused',
} as const
export type RepaymentState = (typeof RepaymentState)[keyof typeof RepaymentState] | (string & {})

/** The known values. Later versions of the service can send others. */
export const Status = {
  Pending: 1,
  Completed: 2,
  ManualControl: 3,
  Cancelled: 4,
  Failed: 5,
} as const
export type Status = (typeof Status)[keyof typeof Status] | (number & {})

/** The known values. Later versions of the service can send others. */
export const StatusName = {
  Pending: 'Pending',
  Completed: 'Completed',
  ManualControl: 'ManualControl',
  Cancelled: 'Cancelled',
  Failed: 'Failed',
} as const
export type StatusName = (typeof StatusName)[keyof typeof StatusName] | (string & {})

export interface Callback {
  /** 1 Pending, 2 Completed, 3 ManualControl, 4 Cancelled, 5 Failed. */
  readonly Status: Status
  readonly StatusDescription: StatusName
  readonly TrackingId: string
  /** Your referenceId; the field is spelled this way. */
  readonly RefereneceId: string
  /** md5(SecretKey + Amount + RefereneceId) of the texts in this body. */
  readonly HashCode: string
  readonly Message: string | null
  /** The requested amount. */
  readonly Amount: Amount
  /** The transferred amount; use this one. */
  readonly TransactionAmount: Amount
  readonly HasAmountMismatch: boolean
  /** Empty if the transfer has no receipt. */
  readonly ReceiptUrl: string
}

export interface CallbackAttempt {
  readonly at: string
  /** `delivered`, `failed`, `parked` or `requeued`. */
  readonly result: string
  /** Null without a response. */
  readonly httpStatus: number | null
  readonly durationMs: number | null
  readonly reason: string | null
}

export interface CallbackDelivery {
  readonly webhookId: string
  readonly transferRevision: number
  /** `waiting`, `delivered` or `parked`. */
  readonly status: string
  readonly recordedAt: string
  /** Null unless it is waiting. */
  readonly nextAttemptAt: string | null
  readonly payload: CallbackPayload
  /** The latest 100, oldest first. */
  readonly attempts: readonly CallbackAttempt[]
}

export interface CallbackEndpoint {
  readonly url: string
  /** `failing`: every attempt since `failingSince` has failed. `disabled`: nothing is sent. */
  readonly state: string
  /** The reason why it is disabled. */
  readonly reason: string | null
  readonly failingSince: string | null
  /** Waiting callbacks; 1000 means 1000 or more. */
  readonly waiting: number
  /** Parked callbacks; 1000 means 1000 or more. */
  readonly parked: number
}

export interface CallbackId {
  readonly trackingId: string
  readonly webhookId: string
}

export interface CallbackPage {
  readonly items: readonly CallbackSummary[]
  readonly nextCursor: string | null
}

export interface CallbackPayload {
  /** 1 Pending, 2 Completed, 3 ManualControl, 4 Cancelled, 5 Failed. */
  readonly status: Status
  readonly statusDescription: StatusName
  readonly trackingId: string
  readonly referenceId: string
  readonly message: string | null
  readonly amount: Amount
  readonly transactionAmount: Amount
  readonly hasAmountMismatch: boolean
  readonly receiptUrl: string | null
}

export interface CallbackSummary {
  readonly webhookId: string
  readonly trackingId: string
  readonly referenceId: string
  readonly transferRevision: number
  /** 1 Pending, 2 Completed, 3 ManualControl, 4 Cancelled, 5 Failed. */
  readonly transferStatus: Status
  readonly status: string
  /** Since the callback was recorded or resent. */
  readonly failedAttempts: number
  readonly recordedAt: string
  /** Null unless it is waiting. */
  readonly nextAttemptAt: string | null
  readonly lastFailure: string | null
}

export interface CancelWithdrawalRequest {
  /** The last revision that you saw: if the transfer has changed since, nothing is done. */
  readonly revision: number
  /** Why; it is in the callback. */
  readonly message: string
}

export interface CompleteWithdrawalRequest {
  /** The last revision that you saw: if the transfer has changed since, nothing is done. */
  readonly revision: number
  /** The paid amount; defaults to the requested amount. */
  readonly amount?: Amount | undefined
  /** The same amount again, required if it is more than requested or, by default, less than a tenth of it. */
  readonly confirmedAmount?: Amount | undefined
  /** Address of the receipt. */
  readonly receiptUrl?: string | undefined
  /** For the callback. */
  readonly message?: string | undefined
}

export interface CorrectTransferRequest {
  /** The last revision that you saw: if the transfer has changed since, nothing is done. */
  readonly revision: number
  /** The amount that moved. */
  readonly amount: Amount
  /** The same amount again, required if it differs much from the requested amount. */
  readonly confirmedAmount?: Amount | undefined
  /** Why; it is in the history. */
  readonly reason: string
  /** Your reference. It is corrected once: a repeat with the same amount changes nothing. */
  readonly reference?: string | undefined
}

export interface CreateHostedDepositRequest {
  /** At most two decimals, no exponent. */
  readonly amount: Amount
  /** Unique ID of the customer. */
  readonly userId: string
  /** Name and surname of the customer. */
  readonly name: string
  /** Username of the customer. */
  readonly username: string
  /** Your unique ID of this transfer, any printable text; a UUIDv4 is recommended. */
  readonly referenceId: string
  /** A payment method code. */
  readonly paymentMethod: number
  /** Your own texts about the transfer, by key: at most 20, keys of 1 to 40 and values of at most 200 characters. */
  readonly metadata?: Readonly<Record<string, string>> | undefined
}

export interface CreateNativeDepositRequest {
  /** At most two decimals, no exponent. */
  readonly amount: Amount
  /** Unique ID of the customer. */
  readonly userId: string
  /** Name and surname of the customer. */
  readonly name: string
  /** Username of the customer. */
  readonly username: string
  /** Your unique ID of this transfer, any printable text; a UUIDv4 is recommended. */
  readonly referenceId: string
  /** A payment method code. */
  readonly paymentMethod: number
  /** Your own texts about the transfer, by key: at most 20, keys of 1 to 40 and values of at most 200 characters. */
  readonly metadata?: Readonly<Record<string, string>> | undefined
}

export interface CreateWithdrawalRequest {
  /** Identity number of the customer. */
  readonly identityNumber?: string | null | undefined
  /** The account that receives the money: a wallet account number, an IBAN or similar. */
  readonly accountNumber: string
  /** At most two decimals, no exponent. */
  readonly amount: Amount
  /** Unique ID of the customer. */
  readonly userId: string
  /** Name and surname of the customer. */
  readonly name: string
  /** Username of the customer. */
  readonly username: string
  /** Your unique ID of this transfer, any printable text; a UUIDv4 is recommended. */
  readonly referenceId: string
  /** A payment method code. */
  readonly paymentMethod: number
  /** Your own texts about the transfer, by key: at most 20, keys of 1 to 40 and values of at most 200 characters. */
  readonly metadata?: Readonly<Record<string, string>> | undefined
}

export interface CreatedHostedDeposit {
  /** Redirect the customer to this URL. */
  readonly url: string
  readonly trackingId: string
  readonly referenceId: string
  /** 1 Pending: the response to a create and its repeats. */
  readonly status: number
  readonly statusDescription: string
  readonly amount: Amount
  readonly expiresAt: string
}

export interface CreatedTransfer {
  /** The same as trackingId. */
  readonly transactionId: string
  readonly trackingId: string
  readonly referenceId: string
  /** 1 Pending: the response to a create and its repeats. */
  readonly status: number
  readonly statusDescription: string
  readonly amount: Amount
}

export interface EndpointTest {
  readonly delivered: boolean
  /** Null without a response. */
  readonly httpStatus: number | null
  readonly durationMs: number
  /** The reason why the delivery failed, as in the list of attempts. */
  readonly failure: string | null
  /** The target of a redirect, which is not followed. */
  readonly redirectsTo: string | null
  /** Whether callbacks that waited are sent again now. */
  readonly resendsWaiting: boolean
}

export interface EventData {
  readonly kind?: Kind | undefined
  readonly channel?: string | undefined
  readonly referenceId?: string | undefined
  readonly amount?: Amount | undefined
  readonly transactionAmount?: Amount | undefined
  readonly receivedAmount?: Amount | undefined
  readonly returnedAmount?: Amount | undefined
  /** The part of the returned amount that was booked. */
  readonly bookedAmount?: Amount | undefined
  readonly refundAmount?: Amount | undefined
  /** The refund, which is the trackingId of the withdrawal that pays it. */
  readonly refundId?: string | null | undefined
  /** The referenceId of the refund and of its withdrawal. */
  readonly refundReferenceId?: string | undefined
  /** The payment method of the refund. */
  readonly refundMethod?: number | null | undefined
  /** The deposit whose money the withdrawal returns. */
  readonly refundOf?: string | null | undefined
  /** The withdrawal that came back and that this one pays again. */
  readonly repaymentOf?: string | null | undefined
  /** The trackingId of the withdrawal that pays it again. */
  readonly repaymentId?: string | undefined
  /** The referenceId of that withdrawal. */
  readonly repaymentReferenceId?: string | undefined
  readonly repaymentAmount?: Amount | undefined
  /** The payment method of that withdrawal. */
  readonly repaymentMethod?: number | undefined
  /** `account`: a withdrawal pays it. `wallet`: the wallet credits the account that paid the deposit. `elsewhere`: it was returned without the service. */
  readonly to?: RefundTarget | undefined
  /** How a refund or repayment ended, such as cancelled. */
  readonly outcome?: string | undefined
  /** Whether a second user must approve the refund. */
  readonly needsApproval?: boolean | undefined
  readonly resolvedAmount?: Amount | undefined
  readonly approvedAmount?: Amount | undefined
  /** The amount of a proposed correction. */
  readonly correctedAmount?: Amount | undefined
  /** The booked amount before a correction. */
  readonly previousAmount?: Amount | undefined
  /** How a correction changes the received amount; negative for money that never arrived. */
  readonly receivedAmountChange?: Amount | undefined
  readonly hasAmountMismatch?: boolean | undefined
  readonly receiptUrl?: string | null | undefined
  readonly message?: string | null | undefined
  readonly reason?: string | null | undefined
  /** The reference of a payment, of a correction or of a payout that came back. */
  readonly reference?: string | null | undefined
  /** Why a payout came back: a return reason code of ISO 20022. */
  readonly reasonCode?: string | undefined
  /** What a payment of the bank's statement did, such as completed. */
  readonly effect?: string | undefined
  /** The amount that the bank booked; 0 if it rejected the payment. */
  readonly matchedAmount?: Amount | undefined
  /** The day on which the bank booked it. */
  readonly bookedOn?: string | null | undefined
  /** The bank's reference of the payment. */
  readonly bankReference?: string | null | undefined
  /** The bank's code for a return or a rejection, of ISO 20022. */
  readonly bankReasonCode?: string | null | undefined
  /** The bank's text about it. */
  readonly bankReasonText?: string | null | undefined
  readonly userId?: string | undefined
  readonly name?: string | undefined
  readonly username?: string | undefined
  readonly paymentMethod?: number | undefined
  /** The `metadata` of the create; null if it had none, and empty after the customer was erased. */
  readonly metadata?: Readonly<Record<string, string>> | null | undefined
  /** Withdrawals only. */
  readonly accountNumber?: string | null | undefined
  /** Withdrawals only. */
  readonly identityNumber?: string | null | undefined
  readonly expiresAt?: string | undefined
  /** The user who did it. */
  readonly by?: string | undefined
  /** The user who proposed the correction that another user approved. */
  readonly proposedBy?: string | null | undefined
  readonly until?: string | undefined
  readonly openUntil?: string | undefined
}

export interface ExceededLimit {
  /** Whose withdrawals are counted together. */
  readonly per: LimitScope
  /** The period: 24 hours, or 720 (30 days). */
  readonly hours: number
  /** The largest number of withdrawals without an approval. */
  readonly count: number | null
  /** The largest sum of withdrawals without an approval. */
  readonly amount: Amount | null
  /** The number of withdrawals in the period, with this one. */
  readonly actualCount: number
  /** Their sum, with this one. */
  readonly actualAmount: Amount
}

export interface Feed {
  readonly items: readonly FeedEvent[]
  /** The value for `after` in the next request; null while there are no events. */
  readonly next: string | null
}

export interface FeedEvent {
  readonly position: string
  readonly trackingId: string
  /** Also the webhook-id of its callback. */
  readonly eventId: string
  readonly revision: number
  readonly type: string
  readonly at: string
  readonly data: EventData
}

export interface History {
  readonly items: readonly HistoryEvent[]
}

export interface HistoryEvent {
  /** Also the webhook-id of its callback. */
  readonly eventId: string
  readonly revision: number
  readonly type: string
  readonly at: string
  readonly data: EventData
  /** The actor that caused it. */
  readonly actor: string
  /** The X-Request-Id of the request that caused it. */
  readonly correlationId: string
}

export interface Merchant {
  readonly merchantId: string
  readonly name: string
  /** No real money moves. */
  readonly sandbox: boolean
  /** The currency of all amounts (ISO 4217). */
  readonly currency: string
  /** The operator’s catalogue. */
  readonly paymentMethods: readonly PaymentMethod[]
}

export interface PaymentMethod {
  /** The `paymentMethod` of a create. */
  readonly code: number
  readonly name: string
  /** How a deposit is paid: from a wallet, or manually by your instructions. */
  readonly type: PaymentMethodType
  readonly kinds: readonly Kind[]
  readonly minAmount: Amount
  readonly maxAmount: Amount
}

export interface ReceiveDepositRequest {
  /** The last revision that you saw: if the transfer has changed since, nothing is done. */
  readonly revision: number
  /** The received amount. */
  readonly amount: Amount
  /** The same amount again, required if it is many times the requested amount. */
  readonly confirmedAmount?: Amount | undefined
  /** The bank’s reference of the payment. It is recorded once: a repeat with the same amount changes nothing. */
  readonly reference: string
  /** Address of the receipt. */
  readonly receiptUrl?: string | undefined
}

export interface RecordWithdrawalReturnRequest {
  /** The last revision that you saw: if the transfer has changed since, nothing is done. */
  readonly revision: number
  /** The amount that came back. */
  readonly amount: Amount
  /** The return reason code of the bank (ISO 20022): AC01, AC03, AC04, AC06, AC07, AG01, AG02, AM05, AM09, BE01, BE04, BE06, CNOR, CUST, FOCR, FR01, MD07, MS02, MS03, NARR, RC01, RR01, RR02, RR03, RR04. NARR is for any other reason. */
  readonly reasonCode: string
  /** The bank’s reference of the return. It is recorded once: a repeat with the same amount and code changes nothing. */
  readonly reference: string
  /** Address of the receipt. */
  readonly receiptUrl?: string | undefined
}

export interface Refund {
  /** The trackingId of the withdrawal that pays it; of any other target, only an id. */
  readonly refundId: string
  readonly referenceId: string
  readonly amount: Amount
  /** `account`: a withdrawal pays it. `wallet`: the wallet credits the account that paid the deposit. `elsewhere`: it was returned without the service. */
  readonly to: RefundTarget
  /** `proposed`: a second user must approve it. `open`: it is being paid. `returned`: it was paid. Any other: it was not paid, and its money can be refunded again. */
  readonly state: RefundState
  /** The user who requested it. */
  readonly by: string
  readonly at: string
  /** The account that receives it. */
  readonly accountNumber: string | null
  readonly receiptUrl: string | null
}

export interface RefundDepositRequest {
  /** The last revision that you saw: if the transfer has changed since, nothing is done. */
  readonly revision: number
  /** The amount to return. */
  readonly amount: Amount
  /** Your unique ID, which is the referenceId of the new withdrawal. */
  readonly referenceId: string
  /** The account that receives the money. Without it, the wallet account that paid the deposit. */
  readonly accountNumber?: string | undefined
  /** Identity number of the customer. */
  readonly identityNumber?: string | null | undefined
  /** The payment method of the withdrawal; defaults to that of the deposit, or to the first one for withdrawals. */
  readonly paymentMethod?: number | undefined
}

export interface RepayWithdrawalRequest {
  /** The last revision that you saw: if the transfer has changed since, nothing is done. */
  readonly revision: number
  /** The amount to pay again. */
  readonly amount: Amount
  /** Your unique ID, which is the referenceId of the new withdrawal. */
  readonly referenceId: string
  /** The account that receives the money. */
  readonly accountNumber: string
  /** Identity number of the customer. */
  readonly identityNumber?: string | null | undefined
  /** The payment method of the new withdrawal; defaults to that of the earlier one. */
  readonly paymentMethod?: number | undefined
}

export interface Repayment {
  /** The trackingId of the withdrawal that pays it. */
  readonly repaymentId: string
  readonly referenceId: string
  readonly amount: Amount
  /** `open`: its withdrawal has not ended. `cancelled`, `failed`, `refused`: it was not paid. */
  readonly state: RepaymentState
  /** The user who requested it. */
  readonly by: string
  readonly at: string
  /** The account that receives it. */
  readonly accountNumber: string
}

export interface ResendCallbacksRequest {
  readonly callbacks?: readonly CallbackId[] | undefined
  /** Callbacks parked at this time or later: an ISO 8601 date, or a time with a time zone. */
  readonly parkedSince?: string | undefined
}

export interface ResendManyResult {
  /** The number of callbacks that will be resent. */
  readonly requeued: number
  /** One request resends at most 1000; repeat it for the rest. */
  readonly more: boolean
}

export interface ResendResult {
  /** The number of callbacks that will be resent. */
  readonly requeued: number
}

export interface ResendTransferCallbacksRequest {
  /** Only this callback. */
  readonly webhookId?: string | undefined
}

export interface Transfer {
  readonly trackingId: string
  /** The same as trackingId. */
  readonly transactionId: string
  readonly referenceId: string
  readonly kind: Kind
  /** `hosted` or `native`; null for a withdrawal. */
  readonly channel: string | null
  /** 1 Pending, 2 Completed, 3 ManualControl, 4 Cancelled, 5 Failed. */
  readonly status: Status
  readonly statusDescription: StatusName
  /** The requested amount. */
  readonly amount: Amount
  /** The amount that moved: the booked amount if Completed, otherwise the received amount that was not returned. */
  readonly transactionAmount: Amount
  /** The amount that moved differs from the requested amount. */
  readonly hasAmountMismatch: boolean
  /** Deposits: the received amount. */
  readonly receivedAmount: Amount
  /** Deposits: the amount that was returned to the customer. Withdrawals: the paid amount that came back. */
  readonly returnedAmount: Amount
  /** Deposits: the part of the returned amount that was booked. */
  readonly refundedAmount: Amount
  /** The amount of the refunds that are proposed or open, or of the open repayments. */
  readonly reservedAmount: Amount
  /** The amount that the operator resolved. */
  readonly resolvedAmount: Amount
  /** Received or returned money, a proposed correction or a proposed refund needs a decision. */
  readonly needsAttention: boolean
  /** Deposits: the received amount that is not booked, returned or resolved. Withdrawals: the returned amount that is not resolved. */
  readonly lateFunds: Amount
  readonly receiptUrl: string | null
  /** `amount corrected` after a correction. */
  readonly message: string | null
  readonly userId: string
  readonly name: string
  readonly username: string
  readonly paymentMethod: number
  /** The `metadata` of the create; null if it had none, and empty after the customer was erased. */
  readonly metadata: Readonly<Record<string, string>> | null
  /** Withdrawals only. */
  readonly accountNumber: string | null
  /** Withdrawals only. */
  readonly identityNumber: string | null
  /** Withdrawals: the user who has claimed it, while it is open. */
  readonly claimedBy: string | null
  /** The end of the claim; null while a bank file contains the withdrawal. */
  readonly claimedUntil: string | null
  /** Withdrawals: the id of the latest bank file that contains it. The bank may have paid it. */
  readonly bankFile: string | null
  /** Withdrawals: why the bank does not pay it, as a reason code of ISO 20022, until someone has decided what to do. NARR if the bank gave none. */
  readonly bankRejection: string | null
  /** Withdrawals: the amount that a second user has approved. */
  readonly approvedAmount: Amount | null
  /** Withdrawals: the limits of the operator that it was beyond when its payout started, or would be now. A second user must approve it. */
  readonly exceededLimits: readonly ExceededLimit[]
  /** The corrected amount that waits for the approval of a second user. */
  readonly proposedAmount: Amount | null
  /** Withdrawals: the trackingId of the deposit whose money it returns. */
  readonly refundOf: string | null
  /** Deposits: the refunds, oldest first. */
  readonly refunds: readonly Refund[]
  /** Withdrawals: the trackingId of the withdrawal that came back and that it pays again. */
  readonly repaymentOf: string | null
  /** Withdrawals: the withdrawals that pay its returned money again, oldest first. */
  readonly repayments: readonly Repayment[]
  readonly createdAt: string
  readonly updatedAt: string
  /** Deposits only. It is later while a deposit holds a part of its amount. */
  readonly expiresAt: string | null
  /** The number of its last event, from 0; callbacks contain it, too. */
  readonly revision: number
}

export interface TransferCallbacks {
  readonly items: readonly CallbackDelivery[]
}

export interface TransferPage {
  /** Newest first. */
  readonly items: readonly Transfer[]
  /** Null on the last page. */
  readonly nextCursor: string | null
}

export interface ValidationError {
  readonly message: string
  /** The field, such as `amount` or `callbacks[3].trackingId`. */
  readonly members: readonly string[]
}

export interface VerifiedCode {
  /** `Completed`: the deposit is complete. `ValidateUserDevice`: the customer has received an email about the device. */
  readonly next_step: string
  /** A token for WalletValidateUserDevice, valid for 10 minutes. */
  readonly token: string
  /** The customer's wallet account. */
  readonly account_number: number
}

export interface WalletCodeRequest {
  /** The trackingId of the native deposit. */
  readonly trackingId: string
  /** The token of WalletCustomerLogin. */
  readonly token: string
  /** The six digits that the customer received. Spaces, hyphens and digits of other scripts are accepted as typed. */
  readonly code: string
}

export interface WalletDeviceRequest {
  /** The token of Wallet2Fa. */
  readonly token: string
  /** The trackingId of the native deposit. */
  readonly trackingId: string
}

export interface WalletLoginRequest {
  /** The trackingId of the native deposit. */
  readonly trackingId: string
  /** The email of the customer's wallet account. */
  readonly userName: string
  /** Six digits. */
  readonly password: string
}

export interface WithdrawalActionRequest {
  /** The last revision that you saw: if the transfer has changed since, nothing is done. */
  readonly revision: number
}

export interface ListTransfersQuery {
  /** The whole referenceId. Finds a new transfer immediately. */
  readonly referenceId?: string | undefined
  /** The name or the number. */
  readonly status?: string | undefined
  /** Only transfers of this kind. */
  readonly kind?: Kind | undefined
  /** Created at or after this ISO 8601 time. */
  readonly from?: string | undefined
  /** Created before this ISO 8601 time. */
  readonly to?: string | undefined
  /** The number of items, 1 to 100. */
  readonly limit?: number | undefined
  /** The `nextCursor` of the previous page. */
  readonly cursor?: string | undefined
  /** Only transfers with exactly these texts in their metadata: `metadata[order]=4711`. */
  readonly metadata?: Readonly<Record<string, string>> | undefined
}

export interface ListEventsQuery {
  /** The `next` of the previous response; defaults to the start. */
  readonly after?: string | undefined
  /** The number of items, 1 to 100. */
  readonly limit?: number | undefined
}

export interface ListCallbacksQuery {
  /** Only callbacks with this status. */
  readonly status?: string | undefined
  /** The number of items, 1 to 100. */
  readonly limit?: number | undefined
  /** The `nextCursor` of the previous page. */
  readonly cursor?: string | undefined
}

/** A request to the service. */
export interface ApiRequest {
  readonly method: string
  readonly path: string
  readonly query?: object
  readonly body?: object
  /** Whether the body gets a hashCode. */
  readonly isHashed?: boolean
  /** Whether it can be repeated after a lost response. */
  readonly isRepeatable: boolean
  /** Whether the result is the field `result` of the response. */
  readonly isEnvelope?: boolean
  /** Whether the result can be null. */
  readonly isNullable?: boolean
  /** The fields that every result has. A result without fields is a text. */
  readonly required: readonly string[]
}

/** @throws TypeError for an id that would change the path */
function segment(id: string): string {
  if (/^\.{0,2}$/.test(id)) throw new TypeError('an id is empty or consists of dots')
  return encodeURIComponent(id)
}

/** The operations of the API. Each rejects with a TransferdError. */
export abstract class Operations {
  protected abstract send<Result>(request: ApiRequest): Promise<Result>

  /** Create a hosted deposit. Redirect the customer to the `url` of the response. The WebApiKey needs the scope `deposits`. */
  async createHostedDeposit(body: CreateHostedDepositRequest): Promise<CreatedHostedDeposit> {
    return this.send({ method: 'POST', path: '/Transaction/CreateDeposit', body: { ...body, transactionType: 1 }, isHashed: true, isRepeatable: true, required: ['url', 'trackingId', 'referenceId', 'status', 'statusDescription', 'amount', 'expiresAt'] })
  }

  /** Create a native deposit. The WebApiKey needs the scope `deposits`. */
  async createNativeDeposit(body: CreateNativeDepositRequest): Promise<CreatedTransfer> {
    return this.send({ method: 'POST', path: '/api/services/app/TransactionRequests/CreateDeposit', body: { ...body, transactionType: 1 }, isHashed: true, isEnvelope: true, isRepeatable: true, required: ['transactionId', 'trackingId', 'referenceId', 'status', 'statusDescription', 'amount'] })
  }

  /** Create a withdrawal. The WebApiKey needs the scope `withdrawals`. */
  async createWithdrawal(body: CreateWithdrawalRequest): Promise<CreatedTransfer> {
    return this.send({ method: 'POST', path: '/api/services/app/TransactionRequests/CreateWithdraw', body: { ...body, transactionType: 2 }, isHashed: true, isEnvelope: true, isRepeatable: true, required: ['transactionId', 'trackingId', 'referenceId', 'status', 'statusDescription', 'amount'] })
  }

  /** Log in to the wallet account that pays a native deposit. Sends a code to the customer by SMS. The limits are 5 codes per minute and account, and 20 logins per deposit. The third wrong password starts a wait. The WebApiKey needs the scope `deposits`. */
  async walletCustomerLogin(body: WalletLoginRequest): Promise<string> {
    return this.send({ method: 'POST', path: '/api/services/app/TransactionRequests/WalletCustomerLogin', body, isEnvelope: true, isRepeatable: false, required: [] })
  }

  /** Verify the code. A login has five attempts. The right code uses up the token. The WebApiKey needs the scope `deposits`. */
  async wallet2Fa(body: WalletCodeRequest): Promise<VerifiedCode> {
    return this.send({ method: 'POST', path: '/api/services/app/TransactionRequests/Wallet2Fa', body, isEnvelope: true, isRepeatable: false, required: ['next_step', 'token', 'account_number'] })
  }

  /** Check whether the customer has confirmed the device, and finish the deposit. Poll every 2 seconds. One request per second and deposit counts against no limit. The WebApiKey needs the scope `deposits`. */
  async walletValidateUserDevice(body: WalletDeviceRequest): Promise<string | null> {
    return this.send({ method: 'POST', path: '/api/services/app/TransactionRequests/WalletValidateUserDevice', body, isEnvelope: true, isNullable: true, isRepeatable: true, required: [] })
  }

  /** Get a transfer. The WebApiKey needs the scope `read`. */
  async getTransfer(trackingId: string): Promise<Transfer> {
    return this.send({ method: 'GET', path: `/v1/transfers/${segment(trackingId)}`, isRepeatable: true, required: ['trackingId', 'transactionId', 'referenceId', 'kind', 'status', 'statusDescription', 'amount', 'transactionAmount', 'hasAmountMismatch', 'receivedAmount', 'returnedAmount', 'refundedAmount', 'reservedAmount', 'resolvedAmount', 'needsAttention', 'lateFunds', 'userId', 'name', 'username', 'paymentMethod', 'exceededLimits', 'refunds', 'repayments', 'createdAt', 'updatedAt', 'revision'] })
  }

  /** List transfers. Newest first. A new transfer can take a moment to appear, except in a search by referenceId. With `metadata`, a page can be short or empty although `nextCursor` leads to more. The WebApiKey needs the scope `read`. */
  async listTransfers(query: ListTransfersQuery = {}): Promise<TransferPage> {
    return this.send({ method: 'GET', path: '/v1/transfers', query, isRepeatable: true, required: ['items'] })
  }

  /** Get the history of a transfer. The WebApiKey needs the scope `read`. */
  async getTransferEvents(trackingId: string): Promise<History> {
    return this.send({ method: 'GET', path: `/v1/transfers/${segment(trackingId)}/events`, isRepeatable: true, required: ['items'] })
  }

  /** Read the feed of all your events. Oldest first. Continue with `after` = `next`. No event is ever inserted before a position that you have read. The WebApiKey needs the scope `read`. */
  async listEvents(query: ListEventsQuery = {}): Promise<Feed> {
    return this.send({ method: 'GET', path: '/v1/events', query, isRepeatable: true, required: ['items'] })
  }

  /** Get the merchant of your key. The WebApiKey needs the scope `read`. */
  async getMerchant(): Promise<Merchant> {
    return this.send({ method: 'GET', path: '/v1/merchant', isRepeatable: true, required: ['merchantId', 'name', 'sandbox', 'currency', 'paymentMethods'] })
  }

  /** Get the callbacks sent about a transfer. The WebApiKey needs the scope `read`. */
  async getTransferCallbacks(trackingId: string): Promise<TransferCallbacks> {
    return this.send({ method: 'GET', path: `/v1/transfers/${segment(trackingId)}/callbacks`, isRepeatable: true, required: ['items'] })
  }

  /** Resend callbacks. Without a webhookId: all parked callbacks, or the latest one if none is parked. A callback can be resent after 1 minute, then after 2, 4, and up to 60 minutes; a callback of a sandbox merchant at any time. The WebApiKey needs the scope `read`. */
  async resendTransferCallbacks(trackingId: string, body: ResendTransferCallbacksRequest = {}): Promise<ResendResult> {
    return this.send({ method: 'POST', path: `/v1/transfers/${segment(trackingId)}/callbacks/resend`, body, isRepeatable: false, required: ['requeued'] })
  }

  /** List callbacks. Newest first. A new callback or a changed status can take a moment to appear. The WebApiKey needs the scope `read`. */
  async listCallbacks(query: ListCallbacksQuery = {}): Promise<CallbackPage> {
    return this.send({ method: 'GET', path: '/v1/callbacks', query, isRepeatable: true, required: ['items'] })
  }

  /** Resend many callbacks. Resends the named callbacks, or those that were parked since a time. The same limit applies to each callback; callbacks that were resent just now are omitted, except those of a sandbox merchant. The WebApiKey needs the scope `read`. */
  async resendCallbacks(body: ResendCallbacksRequest): Promise<ResendManyResult> {
    return this.send({ method: 'POST', path: '/v1/callbacks/resend', body, isRepeatable: false, required: ['requeued', 'more'] })
  }

  /** Get the state of your callback endpoint. The WebApiKey needs the scope `read`. */
  async getCallbackEndpoint(): Promise<CallbackEndpoint> {
    return this.send({ method: 'GET', path: '/v1/callbacks/endpoint', isRepeatable: true, required: ['url', 'state', 'waiting', 'parked'] })
  }

  /** Send a test event to your callback endpoint. At most one every five seconds. It is signed like a callback and has the header `x-transfer-test`. If it is delivered, callbacks that wait after a failed attempt are sent again. The WebApiKey needs the scope `read`. */
  async testCallbackEndpoint(): Promise<EndpointTest> {
    return this.send({ method: 'POST', path: '/v1/callbacks/endpoint/test', isRepeatable: false, required: ['delivered', 'durationMs', 'resendsWaiting'] })
  }

  /** Enable your callback endpoint again. All waiting callbacks are sent, in order per transfer. The WebApiKey needs the scope `read`. */
  async enableCallbackEndpoint(): Promise<CallbackEndpoint> {
    return this.send({ method: 'POST', path: '/v1/callbacks/endpoint/enable', isRepeatable: true, required: ['url', 'state', 'waiting', 'parked'] })
  }

  /** Claim a withdrawal for 15 minutes. Send the `revision` that you saw: if the transfer has changed since, nothing is done. A repeated request gets the same response. The WebApiKey needs the scope `settlement`. */
  async claimWithdrawal(trackingId: string, body: WithdrawalActionRequest): Promise<Transfer> {
    return this.send({ method: 'POST', path: `/v1/withdrawals/${segment(trackingId)}/claim`, body, isRepeatable: true, required: ['trackingId', 'transactionId', 'referenceId', 'kind', 'status', 'statusDescription', 'amount', 'transactionAmount', 'hasAmountMismatch', 'receivedAmount', 'returnedAmount', 'refundedAmount', 'reservedAmount', 'resolvedAmount', 'needsAttention', 'lateFunds', 'userId', 'name', 'username', 'paymentMethod', 'exceededLimits', 'refunds', 'repayments', 'createdAt', 'updatedAt', 'revision'] })
  }

  /** Release a claim. Send the `revision` that you saw: if the transfer has changed since, nothing is done. A repeated request gets the same response. The WebApiKey needs the scope `settlement`. */
  async releaseWithdrawal(trackingId: string, body: WithdrawalActionRequest): Promise<Transfer> {
    return this.send({ method: 'POST', path: `/v1/withdrawals/${segment(trackingId)}/release`, body, isRepeatable: true, required: ['trackingId', 'transactionId', 'referenceId', 'kind', 'status', 'statusDescription', 'amount', 'transactionAmount', 'hasAmountMismatch', 'receivedAmount', 'returnedAmount', 'refundedAmount', 'reservedAmount', 'resolvedAmount', 'needsAttention', 'lateFunds', 'userId', 'name', 'username', 'paymentMethod', 'exceededLimits', 'refunds', 'repayments', 'createdAt', 'updatedAt', 'revision'] })
  }

  /** Complete a paid withdrawal. Requires your own claim. Send the `revision` that you saw: if the transfer has changed since, nothing is done. A repeated request gets the same response. The WebApiKey needs the scope `settlement`. */
  async completeWithdrawal(trackingId: string, body: CompleteWithdrawalRequest): Promise<Transfer> {
    return this.send({ method: 'POST', path: `/v1/withdrawals/${segment(trackingId)}/complete`, body, isRepeatable: true, required: ['trackingId', 'transactionId', 'referenceId', 'kind', 'status', 'statusDescription', 'amount', 'transactionAmount', 'hasAmountMismatch', 'receivedAmount', 'returnedAmount', 'refundedAmount', 'reservedAmount', 'resolvedAmount', 'needsAttention', 'lateFunds', 'userId', 'name', 'username', 'paymentMethod', 'exceededLimits', 'refunds', 'repayments', 'createdAt', 'updatedAt', 'revision'] })
  }

  /** Cancel a withdrawal without paying it. Requires your own claim. Send the `revision` that you saw: if the transfer has changed since, nothing is done. A repeated request gets the same response. The WebApiKey needs the scope `settlement`. */
  async cancelWithdrawal(trackingId: string, body: CancelWithdrawalRequest): Promise<Transfer> {
    return this.send({ method: 'POST', path: `/v1/withdrawals/${segment(trackingId)}/cancel`, body, isRepeatable: true, required: ['trackingId', 'transactionId', 'referenceId', 'kind', 'status', 'statusDescription', 'amount', 'transactionAmount', 'hasAmountMismatch', 'receivedAmount', 'returnedAmount', 'refundedAmount', 'reservedAmount', 'resolvedAmount', 'needsAttention', 'lateFunds', 'userId', 'name', 'username', 'paymentMethod', 'exceededLimits', 'refunds', 'repayments', 'createdAt', 'updatedAt', 'revision'] })
  }

  /** Record a payment for a deposit that is paid manually. Payments add up. The deposit is completed when their sum is the requested amount within your tolerance. Send the `revision` that you saw: if the transfer has changed since, nothing is done. A repeated request gets the same response. The WebApiKey needs the scope `settlement`. */
  async receiveDeposit(trackingId: string, body: ReceiveDepositRequest): Promise<Transfer> {
    return this.send({ method: 'POST', path: `/v1/deposits/${segment(trackingId)}/receive`, body, isRepeatable: true, required: ['trackingId', 'transactionId', 'referenceId', 'kind', 'status', 'statusDescription', 'amount', 'transactionAmount', 'hasAmountMismatch', 'receivedAmount', 'returnedAmount', 'refundedAmount', 'reservedAmount', 'resolvedAmount', 'needsAttention', 'lateFunds', 'userId', 'name', 'username', 'paymentMethod', 'exceededLimits', 'refunds', 'repayments', 'createdAt', 'updatedAt', 'revision'] })
  }

  /** Record that the bank sent money of a completed withdrawal back. The status stays, and the withdrawal needs attention until the operator decides about the money. Send the `revision` that you saw: if the transfer has changed since, nothing is done. A repeated request gets the same response. The WebApiKey needs the scope `settlement`. */
  async recordWithdrawalReturn(trackingId: string, body: RecordWithdrawalReturnRequest): Promise<Transfer> {
    return this.send({ method: 'POST', path: `/v1/withdrawals/${segment(trackingId)}/returned`, body, isRepeatable: true, required: ['trackingId', 'transactionId', 'referenceId', 'kind', 'status', 'statusDescription', 'amount', 'transactionAmount', 'hasAmountMismatch', 'receivedAmount', 'returnedAmount', 'refundedAmount', 'reservedAmount', 'resolvedAmount', 'needsAttention', 'lateFunds', 'userId', 'name', 'username', 'paymentMethod', 'exceededLimits', 'refunds', 'repayments', 'createdAt', 'updatedAt', 'revision'] })
  }

  /** Pay the returned money of a withdrawal again. Creates a withdrawal to the account that you specify, which is paid like any other. Send the `revision` that you saw: if the transfer has changed since, nothing is done. A repeated request gets the same response. The WebApiKey needs the scope `settlement`. */
  async repayWithdrawal(trackingId: string, body: RepayWithdrawalRequest): Promise<Transfer> {
    return this.send({ method: 'POST', path: `/v1/withdrawals/${segment(trackingId)}/repayments`, body, isRepeatable: true, required: ['trackingId', 'transactionId', 'referenceId', 'kind', 'status', 'statusDescription', 'amount', 'transactionAmount', 'hasAmountMismatch', 'receivedAmount', 'returnedAmount', 'refundedAmount', 'reservedAmount', 'resolvedAmount', 'needsAttention', 'lateFunds', 'userId', 'name', 'username', 'paymentMethod', 'exceededLimits', 'refunds', 'repayments', 'createdAt', 'updatedAt', 'revision'] })
  }

  /** Return money of a deposit. A withdrawal returns the money to the account that you specify, and is paid like any other. Without an account, the wallet credits the account that paid the deposit. The money is reserved until then. Send the `revision` that you saw: if the transfer has changed since, nothing is done. A repeated request gets the same response. The WebApiKey needs the scope `settlement`. */
  async refundDeposit(trackingId: string, body: RefundDepositRequest): Promise<Transfer> {
    return this.send({ method: 'POST', path: `/v1/transfers/${segment(trackingId)}/refunds`, body, isRepeatable: true, required: ['trackingId', 'transactionId', 'referenceId', 'kind', 'status', 'statusDescription', 'amount', 'transactionAmount', 'hasAmountMismatch', 'receivedAmount', 'returnedAmount', 'refundedAmount', 'reservedAmount', 'resolvedAmount', 'needsAttention', 'lateFunds', 'userId', 'name', 'username', 'paymentMethod', 'exceededLimits', 'refunds', 'repayments', 'createdAt', 'updatedAt', 'revision'] })
  }

  /** Correct the amount of a completed transfer. The status stays, and a callback with the new amount follows. Above the threshold for approvals, a second user must approve the correction: until then it is the `proposedAmount`. Send the `revision` that you saw: if the transfer has changed since, nothing is done. A repeated request gets the same response. The WebApiKey needs the scope `settlement`. */
  async correctTransfer(trackingId: string, body: CorrectTransferRequest): Promise<Transfer> {
    return this.send({ method: 'POST', path: `/v1/transfers/${segment(trackingId)}/correct`, body, isRepeatable: true, required: ['trackingId', 'transactionId', 'referenceId', 'kind', 'status', 'statusDescription', 'amount', 'transactionAmount', 'hasAmountMismatch', 'receivedAmount', 'returnedAmount', 'refundedAmount', 'reservedAmount', 'resolvedAmount', 'needsAttention', 'lateFunds', 'userId', 'name', 'username', 'paymentMethod', 'exceededLimits', 'refunds', 'repayments', 'createdAt', 'updatedAt', 'revision'] })
  }
}
