import type { EndpointEvent } from '../../../src/domain/callback/endpoint.js'
import type { CallbackEvent, CallbackSweepAdvanced } from '../../../src/domain/callback/events.js'
import type { HashCodeSeen } from '../../../src/domain/hash-code.js'
import type { MerchantEvent } from '../../../src/domain/merchant/events.js'
import type { WalletCodeRefused } from '../../../src/domain/payment/code-cap.js'
import type { PaymentEvent } from '../../../src/domain/payment/events.js'
import type { LogInEvent } from '../../../src/domain/payment/log-in-lock.js'
import type { EventPassedOver } from '../../../src/domain/problem/passed-over.js'
import type { TransferEvent } from '../../../src/domain/transfer/events.js'
import type { WalletAccountEvent, WalletEmailReserved } from '../../../src/domain/wallet/events.js'
import type { DomainEvent } from '../../../src/event-store/event-codec.js'

/** This file is a test that the compiler runs: every event of the domain has the shape that its schema has, and no other. */

type Declared =
  | TransferEvent
  | MerchantEvent
  | CallbackEvent
  | CallbackSweepAdvanced
  | EndpointEvent
  | PaymentEvent
  | WalletCodeRefused
  | LogInEvent
  | HashCodeSeen
  | WalletAccountEvent
  | WalletEmailReserved
  | EventPassedOver

type DataOf<Events extends { readonly type: string }, Type> =
  Extract<Events, { readonly type: Type }> extends {
    readonly data: infer Data
  }
    ? Data
    : 'no such event'

/** The names of the events that differ in either direction. */
type Differing = {
  [Type in (Declared | DomainEvent)['type']]: [DataOf<Declared, Type>] extends [DataOf<DomainEvent, Type>]
    ? [DataOf<DomainEvent, Type>] extends [DataOf<Declared, Type>]
      ? never
      : Type
    : Type
}[(Declared | DomainEvent)['type']]

type None<Types extends never> = Types

export type NoEventDiffers = None<Differing>
