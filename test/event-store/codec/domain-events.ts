import type { CallbackEvent } from '../../../src/domain/callback/callback-events.js'
import type { EndpointEvent } from '../../../src/domain/callback/endpoint-decider.js'
import type { IntegrityEvent } from '../../../src/domain/integrity/integrity.js'
import type { MerchantEvent } from '../../../src/domain/merchant/merchant-events.js'
import type { WalletCodeRefused } from '../../../src/domain/payment/code-cap.js'
import type { PaymentEvent } from '../../../src/domain/payment/payment-events.js'
import type { LogInEvent } from '../../../src/domain/payment/payment-logins.js'
import type { TransferEvent } from '../../../src/domain/transfer/transfer-events.js'
import type { SignInEvent } from '../../../src/domain/user/sign-ins.js'
import type { UserEmailReserved } from '../../../src/domain/user/user-email-reservation.js'
import type { UserEvent } from '../../../src/domain/user/user-events.js'
import type { WalletEmailReserved } from '../../../src/domain/wallet/wallet-email-reservation.js'
import type { WalletAccountEvent } from '../../../src/domain/wallet/wallet-events.js'
import type { DomainEvent } from '../../../src/event-store/event-codec.js'

/** This file is a test that the compiler runs: every event of the domain has the shape that its schema has, and no other. */

type Declared =
  | TransferEvent
  | MerchantEvent
  | CallbackEvent
  | EndpointEvent
  | PaymentEvent
  | WalletCodeRefused
  | LogInEvent
  | WalletAccountEvent
  | WalletEmailReserved
  | UserEvent
  | UserEmailReserved
  | SignInEvent
  | IntegrityEvent

/** What no decider decides, the schema alone describes. */
type Undecided =
  | 'CallbackSweepAdvanced'
  | 'HashCodeSeen'
  | 'EventSkipped'
  | 'DigestKeySealed'
  | 'CustomerErased'
  | 'ErasureCompleted'
  | 'StreamsListed'
type Decided = Exclude<DomainEvent, { readonly type: Undecided }>

type DataOf<Events extends { readonly type: string }, Type> =
  Extract<Events, { readonly type: Type }> extends {
    readonly data: infer Data
  }
    ? Data
    : 'no such event'

/** The names of the events that differ in either direction. */
type Differing = {
  [Type in (Declared | Decided)['type']]: [DataOf<Declared, Type>] extends [DataOf<Decided, Type>]
    ? [DataOf<Decided, Type>] extends [DataOf<Declared, Type>]
      ? never
      : Type
    : Type
}[(Declared | Decided)['type']]

type None<Types extends never> = Types

export type NoEventDiffers = None<Differing>
