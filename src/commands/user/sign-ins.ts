import { userSignInsStream } from '../../domain/streams.js'
import { signInDecider } from '../../domain/user/sign-ins.js'
import type { User } from '../../domain/user/user.js'
import type { EventStore } from '../../event-store/event-store.js'
import type { Clock } from '../../kernel/clock.js'
import type { SecretBox } from '../../security/secret-box.js'
import type { CommandContext } from '../handle-command.js'
import { type Compared, createLoginGuard, type Guarded } from './login-guard.js'
import type { UserCommands } from './user-commands.js'

export interface SignInAttempt {
  readonly email: string
  readonly password: string
  readonly code?: string | undefined
  readonly deviceCookie: string | undefined
  /** The party that the slow hash is queued for. */
  readonly address: string
  /** Starts a session or confirms an action, with the code if the user has a second factor; or checks the password alone. */
  readonly purpose: 'SignIn' | 'Confirm' | 'PasswordOnly'
}

/**
 * Checks who a user is, as often as the login guard allows. The attempt is unfinished if the code is missing.
 * @throws TooManyPasswordsError, StoreUnavailableError, TooMuchContentionError
 */
export type SignIn = (attempt: SignInAttempt, context: CommandContext) => Promise<Guarded<User>>

export function createSignIn(
  store: EventStore,
  box: Pick<SecretBox, 'mac'>,
  clock: Clock,
  users: UserCommands,
): SignIn {
  const purposes = { account: 'user sign-in', device: 'sign-in device' }
  const guard = createLoginGuard({ store, box, clock, decider: signInDecider, streamOf: userSignInsStream, purposes })
  const compare = async (attempt: SignInAttempt, context: CommandContext): Promise<Compared<User>> => {
    const { address, purpose, ...claimed } = attempt
    const proof = await users.prove(claimed, address)
    if (proof.outcome === 'wrong') return { outcome: 'refused', isAccount: proof.isUser }
    if (purpose === 'PasswordOnly') return { outcome: 'accepted', value: proof.user }
    if (proof.outcome === 'code-needed') return { outcome: 'unfinished' }
    const recorded = await users.record(purpose, proof.user.userId, proof.codeCounter, context)
    // The user has just been disabled, or another request has used the code.
    return recorded.accepted ? { outcome: 'accepted', value: recorded.user } : { outcome: 'refused', isAccount: true }
  }
  return (attempt, context) => {
    const { email, deviceCookie } = attempt
    return guard({ email, deviceCookie, subject: {} }, () => compare(attempt, context), context)
  }
}
