import { userSignInsStream } from '../../domain/streams.js'
import { signInDecider } from '../../domain/user/sign-ins.js'
import type { User } from '../../domain/user/user.js'
import type { EventStore } from '../../event-store/event-store.js'
import type { Clock } from '../../kernel/clock.js'
import type { SecretBox } from '../../security/secret-box.js'
import type { CommandContext } from '../handle-command.js'
import { type Compared, type Guarded, LogInGuard } from './sign-in-guard.js'
import type { UserCommands } from './user-commands.js'

export interface SignInAttempt {
  readonly email: string
  readonly password: string
  readonly code?: string | undefined
  readonly deviceCookie: string | undefined
  /** Whose turn it is: hashes are slow. */
  readonly address: string
  /** To begin a session, or once more in one that is under way: with the code where there is one, or the password alone. */
  readonly purpose: 'SignIn' | 'Confirm' | 'PasswordOnly'
}

/** How users prove who they are, guessed at no more often than {@link LogInGuard} lets anybody. */
export class SignIns {
  readonly #guard

  constructor(
    store: EventStore,
    box: Pick<SecretBox, 'mac'>,
    clock: Clock,
    private readonly users: UserCommands,
  ) {
    const purposes = { account: 'user sign-in', device: 'sign-in device' }
    this.#guard = new LogInGuard({ store, box, clock, decider: signInDecider, streamOf: userSignInsStream, purposes })
  }

  /** Unfinished: the code is missing. @throws TooManyPasswordsError, StoreUnavailableError, TooMuchContentionError */
  attempt(attempt: SignInAttempt, context: CommandContext): Promise<Guarded<User>> {
    const { email, deviceCookie } = attempt
    return this.#guard.attempt({ email, deviceCookie, subject: {} }, () => this.#compare(attempt, context), context)
  }

  async #compare({ address, purpose, ...claimed }: SignInAttempt, context: CommandContext): Promise<Compared<User>> {
    const proof = await this.users.prove(claimed, address)
    if (proof.outcome === 'wrong') return { outcome: 'refused', isAccount: proof.isUser }
    if (purpose === 'PasswordOnly') return { outcome: 'accepted', value: proof.user }
    if (proof.outcome === 'code-needed') return { outcome: 'unfinished' }
    const recorded = await this.users.record(purpose, proof.user.userId, proof.codeCounter, context)
    // Disabled just now, or the code was used by another request meanwhile.
    return recorded.accepted ? { outcome: 'accepted', value: recorded.user } : { outcome: 'refused', isAccount: true }
  }
}
