import { Type } from '../../../kernel/typebox.js'

/** What the dashboard asks about personal data, under `/dashboard/api/privacy`; as api.ts otherwise. */

const Text = Type.String()
const Time = Type.String()
const Count = Type.Integer({ minimum: 0 })
const Fields = Type.Record(Text, Type.Unknown())

/** The log is looked through from where the last answer ended, for a moment each time: ask again until it is `complete`. */
export const PrivacyStatusAnswer = Type.Object({
  /** Those whose personal data can be read. */
  customers: Count,
  /** Of them, those of each merchant. */
  byMerchant: Type.Array(Type.Object({ merchantId: Text, customers: Count })),
  erasures: Count,
  /** Keys whose customer was erased, and which are to be destroyed still; more than 0 for a moment only. */
  keysToDestroy: Count,
  /** Of the log as far as it was looked through. */
  events: Type.Object({
    total: Count,
    /** With personal data as ciphertext. */
    sealed: Count,
  }),
  complete: Type.Boolean(),
  /** Time of the newest event that was looked at; null when there is none. */
  countedTo: Type.Union([Time, Type.Null()]),
})

/** A customer of a merchant, by the merchant's own id of theirs. */
export const CustomerRequest = Type.Object({
  merchantId: Type.String({ minLength: 1, maxLength: 64 }),
  userId: Type.String({ minLength: 1, maxLength: 128 }),
})

/** All that is known of a customer, for whoever asks what is: offered as a file. */
export const CustomerExport = Type.Object({
  merchantId: Text,
  userId: Text,
  exportedAt: Time,
  transfers: Type.Array(
    Type.Object({
      trackingId: Text,
      referenceId: Text,
      kind: Text,
      status: Text,
      amountMinor: Type.Integer(),
      createdAt: Time,
      /** How it was created, changed, paid and told to the merchant, oldest first. */
      events: Type.Array(
        Type.Object({ at: Time, stream: Text, revision: Count, type: Text, actor: Text, data: Fields }),
      ),
      /** Addresses of the receipts that people uploaded. */
      receipts: Type.Array(Text),
    }),
  ),
})

export const EraseCustomerRequest = Type.Composite([
  CustomerRequest,
  Type.Object({ reason: Type.String({ minLength: 1, maxLength: 500 }) }),
])

/** Refused with `transfers-open` while a transfer of the customer is Pending or in ManualControl, and with `unknown-customer`. */
export const ErasureAnswer = Type.Object({
  /** Names the erasure in the log, and nobody. */
  erasureId: Text,
  erasedAt: Time,
  transfers: Count,
  /** Uploaded receipts that were deleted. */
  receipts: Count,
})
