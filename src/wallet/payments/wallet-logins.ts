import type { CommandContext } from '../../commands/handle-command.js'
import { createLoginGuard, type Guarded } from '../../commands/user/login-guard.js'
import { loginDecider } from '../../domain/login-lock.js'
import { walletLogInsStream } from '../../domain/streams.js'
import type { EventStore } from '../../event-store/event-store.js'
import type { Clock } from '../../kernel/time.js'
import type { SecretBox } from '../../security/secret-box.js'
import type { LogIn } from '../wallet.js'

export interface WalletLoginAttempt {
  readonly email: string
  readonly merchantId: string
  readonly trackingId: string
  /** An opaque id of the merchant's customer, which becomes a known device once the password was correct. */
  readonly customer: string
  readonly deviceCookie: string | undefined
}

/** Logs in as often as the login guard allows, and returns the number of the account. `logIn` calls the wallet. */
export type WalletLogin = (
  attempt: WalletLoginAttempt,
  logIn: () => Promise<LogIn>,
  context: CommandContext,
) => Promise<Guarded<number>>

export function createWalletLogin(store: EventStore, box: Pick<SecretBox, 'mac'>, clock: Clock): WalletLogin {
  const purposes = { account: 'wallet login', device: 'login device' }
  const guard = createLoginGuard({ store, box, clock, decider: loginDecider, streamOf: walletLogInsStream, purposes })
  return (attempt, logIn, context) => {
    const { email, customer: device, deviceCookie, merchantId, trackingId } = attempt
    const compare = async () => {
      const result = await logIn()
      return result.outcome === 'accepted' ? ({ outcome: 'accepted', value: result.accountNumber } as const) : result
    }
    return guard({ email, subject: { merchantId, trackingId }, deviceCookie, device }, compare, context)
  }
}
