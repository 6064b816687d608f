import type { Static } from '@sinclair/typebox'
import { Type } from '../../../kernel/typebox.js'
import { Data, List, Nullable, Reason, Text, Time } from '../api.js'

/** The API of the privacy pages under `/dashboard/api/privacy`, with the conventions of api.ts. */

const Count = Type.Integer({ minimum: 0 })

/** Each request counts a part of the log from where the previous one ended. Repeat it until `complete` is true. */
export const PrivacyStatusResponse = Type.Object({
  /** The number of customers whose personal data is readable. */
  customers: Count,
  /** The number per merchant. */
  byMerchant: List(Type.Object({ merchantId: Text, customers: Count })),
  erasures: Count,
  /** The keys of erased customers that are not destroyed yet. Above 0 only briefly. */
  keysToDestroy: Count,
  /** The counts of the log up to `countedTo`. */
  events: Type.Object({
    total: Count,
    /** The events with encrypted personal data. */
    sealed: Count,
  }),
  complete: Type.Boolean(),
  /** The time of the newest counted event, or null. */
  countedTo: Nullable(Time),
})
export type PrivacyStatusResponse = Static<typeof PrivacyStatusResponse>

/** A customer of a merchant, by the merchant's userId. */
export const CustomerRequest = Type.Object({
  merchantId: Type.String({ minLength: 1, maxLength: 64 }),
  userId: Type.String({ minLength: 1, maxLength: 128 }),
})
export type CustomerRequest = Static<typeof CustomerRequest>

/** All data about a customer, offered as a file, to respond to an access request. */
export const CustomerExport = Type.Object({
  merchantId: Text,
  userId: Text,
  exportedAt: Time,
  transfers: List(
    Type.Object({
      trackingId: Text,
      referenceId: Text,
      kind: Text,
      status: Text,
      amountMinor: Type.Integer(),
      createdAt: Time,
      /** Its events, payments and callbacks, oldest first. */
      events: List(Type.Object({ at: Time, stream: Text, revision: Count, type: Text, actor: Text, data: Data })),
      /** The addresses of uploaded receipts. */
      receipts: List(Text),
    }),
  ),
})

export const EraseCustomerRequest = Type.Composite([CustomerRequest, Type.Object({ reason: Reason })])
export type EraseCustomerRequest = Static<typeof EraseCustomerRequest>

/** Rejected with `transfers-open` while a transfer of the customer is Pending or in ManualControl, and with `unknown-customer`. */
export const ErasureResponse = Type.Object({
  /** Identifies the erasure in the log, but no person. */
  erasureId: Text,
  erasedAt: Time,
  transfers: Count,
  /** The number of deleted receipts. */
  receipts: Count,
})
export type ErasureResponse = Static<typeof ErasureResponse>
