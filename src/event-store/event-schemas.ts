import { callbackEvents, endpointEvents } from '../domain/callback.js'
import type { EventsOf } from '../domain/event.js'
import { integrityEvents } from '../domain/integrity.js'
import { merchantEvents } from '../domain/merchant/merchant-events.js'
import { codeCapEvents, paymentEvents, walletLoginEvents } from '../domain/payment.js'
import {
  directoryEvents,
  hashEvents,
  masterKeyEvents,
  privacyEvents,
  problemEvents,
  sweepEvents,
} from '../domain/service-events.js'
import { type StreamPrefix, streamPrefix } from '../domain/streams.js'
import { transferEvents } from '../domain/transfer/transfer-events.js'
import { signInEvents, userEmailEvents, userEvents } from '../domain/user/user.js'
import { walletAccountEvents, walletEmailEvents } from '../domain/wallet-account.js'
import type { TObject } from '../kernel/typebox.js'
import type { JsonObject } from './event-store.js'

/** The schemas of all events in their newest version, by the prefix of the streams that hold them. */
export const schemasByStream = {
  [streamPrefix.transfer]: transferEvents,
  [streamPrefix.merchant]: merchantEvents,
  [streamPrefix.callback]: callbackEvents,
  [streamPrefix.callbacks]: { ...sweepEvents, ...endpointEvents },
  [streamPrefix.payment]: paymentEvents,
  [streamPrefix.walletCodes]: codeCapEvents,
  [streamPrefix.walletLogIns]: walletLoginEvents,
  [streamPrefix.hash]: hashEvents,
  [streamPrefix.wallet]: walletAccountEvents,
  [streamPrefix.walletEmail]: walletEmailEvents,
  [streamPrefix.user]: userEvents,
  [streamPrefix.userEmail]: userEmailEvents,
  [streamPrefix.userSignIns]: signInEvents,
  [streamPrefix.privacy]: privacyEvents,
  [streamPrefix.problems]: problemEvents,
  [streamPrefix.masterKeys]: masterKeyEvents,
  [streamPrefix.integrity]: integrityEvents,
  [streamPrefix.directory]: directoryEvents,
} as const satisfies { readonly [prefix in StreamPrefix]: { readonly [type: string]: TObject } }

export const eventSchemas: { readonly [type: string]: TObject } = Object.assign({}, ...Object.values(schemasByStream))

/** A version of an event that is no longer written. */
export interface OlderVersion {
  readonly schema: TObject
  /** Turns the data of this version into the next one's. It is pure, because it runs on every read. */
  readonly upcast: (data: JsonObject) => JsonObject
}

/**
 * The earlier versions of each event type, oldest first. To change a released event, move its schema here with an upcaster to the next
 * version, and add the golden JSON of the new version to test/fixtures/events.
 */
export const olderVersions: { readonly [type: string]: readonly OlderVersion[] } = {}

/** Every event in its newest version. */
export type DomainEvent = EventsOf<(typeof schemasByStream)[StreamPrefix]>
