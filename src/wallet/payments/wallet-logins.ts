import type { CommandContext } from '../../commands/handle-command.js'
import { LogInGuard } from '../../commands/user/sign-in-guard.js'
import { loginDecider } from '../../domain/payment/payment-logins.js'
import { walletLogInsStream } from '../../domain/streams.js'
import type { EventStore } from '../../event-store/event-store.js'
import type { Clock } from '../../kernel/clock.js'
import type { SecretBox } from '../../security/secret-box.js'
import type { LogIn } from '../wallet.js'

export interface LogInAttempt {
  readonly email: string
  readonly merchantId: string
  readonly trackingId: string
  /** The merchant's customer, an opaque text: a device of its own once the password was right for it. */
  readonly customer: string
  /** What {@link Admitted} gave to this browser before; undefined when there is none, or it is no browser of ours. */
  readonly deviceCookie: string | undefined
}

export interface Admitted {
  readonly outcome: 'accepted'
  readonly accountNumber: number
  /** For the browser to show next time. It opens nothing: its failures are its own, that is all. */
  readonly deviceCookie: string
}

export type LogInResult =
  | Admitted
  | { readonly outcome: 'refused' }
  | { readonly outcome: 'locked'; readonly retryAfterSeconds: number }

/** Log-ins to wallet accounts, whichever wallet has them (see {@link LogInGuard}). */
export class WalletLogIns {
  readonly #guard

  constructor(store: EventStore, box: Pick<SecretBox, 'mac'>, clock: Clock) {
    const purposes = { account: 'wallet log-in', device: 'log-in device' }
    this.#guard = new LogInGuard({ store, box, clock, decider: loginDecider, streamOf: walletLogInsStream, purposes })
  }

  /** `logIn` asks the wallet, and is not called while passwords from there are not compared. What it throws counts nothing. */
  async attempt(attempt: LogInAttempt, logIn: () => Promise<LogIn>, context: CommandContext): Promise<LogInResult> {
    const { email, customer: device, deviceCookie, merchantId, trackingId } = attempt
    const compare = async () => {
      const result = await logIn()
      return result.outcome === 'accepted' ? ({ outcome: 'accepted', value: result.accountNumber } as const) : result
    }
    const subject = { merchantId, trackingId }
    const result = await this.#guard.attempt({ email, subject, deviceCookie, device }, compare, context)
    if (result.outcome === 'unfinished') throw new Error('a wallet leaves no log-in unfinished')
    if (result.outcome !== 'accepted') return result
    return { outcome: 'accepted', accountNumber: result.value, deviceCookie: result.deviceCookie }
  }
}
