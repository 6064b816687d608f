import { accept, type Decider, type Decision, refuse } from '../../kernel/decision.js'
import type { DataOf } from '../event.js'
import { isMerchantRole, type Role } from './permissions.js'
import { evolve, initialState, type User, type UserState } from './user.js'
import type { UserEvent } from './user-events.js'

type OfUser<Type extends UserEvent['type']> = Omit<DataOf<UserEvent, Type>, 'userId'>

export type UserCommand =
  | ({ readonly type: 'Create' } & DataOf<UserEvent, 'UserCreated'>)
  | ({ readonly type: 'ChangeRole' } & OfUser<'UserRoleChanged'>)
  | { readonly type: 'Disable' | 'Enable' | 'RemoveSecondFactor' | 'EndSessions'; readonly at: string }
  | ({ readonly type: 'SetPassword' } & Omit<OfUser<'UserPasswordSet'>, 'temporary'>)
  /** Who lost the password has lost the telephone as well, perhaps: both begin anew. */
  | ({ readonly type: 'Reset' } & Omit<OfUser<'UserPasswordSet'>, 'temporary'>)
  | ({ readonly type: 'SetSecondFactor' } & OfUser<'UserSecondFactorSet'>)
  /** What each sealed text is to be replaced by; one that is not there any more, or not in it, stays as it is. */
  | { readonly type: 'Reseal'; readonly resealed: ReadonlyMap<string, string>; readonly at: string }
  | ({ readonly type: 'SignIn' } & OfUser<'UserSignedIn'>)
  | ({ readonly type: 'Confirm' } & OfUser<'UserConfirmed'>)

export const userDecider: Decider<UserState, UserCommand, UserEvent> = { initialState, decide, evolve }

function decide(command: UserCommand, state: UserState): Decision<UserEvent> {
  if (command.type === 'Create') {
    if (state.userId !== null) return refuse('conflict', 'This user exists already.')
    const { type: _, ...data } = command
    return unlessMisplaced(command, { type: 'UserCreated', data })
  }
  if (state.userId === null) return refuse('not-found', 'There is no such user.')
  const { userId } = state
  const { at } = command
  switch (command.type) {
    case 'ChangeRole': {
      const { role, merchantIds } = command
      if (role === state.role && String(merchantIds) === String(state.merchantIds)) return accept()
      return unlessMisplaced(command, { type: 'UserRoleChanged', data: { userId, role, merchantIds, at } })
    }
    case 'Disable':
      return state.disabled ? accept() : accept({ type: 'UserDisabled', data: { userId, at } })
    case 'Enable':
      return state.disabled ? accept({ type: 'UserEnabled', data: { userId, at } }) : accept()
    case 'SetPassword': {
      const { passwordHash } = command
      return accept({ type: 'UserPasswordSet', data: { userId, passwordHash, temporary: false, at } })
    }
    case 'Reset': {
      const { passwordHash } = command
      const reset = { type: 'UserPasswordSet', data: { userId, passwordHash, temporary: true, at } } as const
      if (state.secondFactor === null) return accept(reset)
      return accept<UserEvent>({ type: 'UserSecondFactorRemoved', data: { userId, at } }, reset)
    }
    case 'SetSecondFactor': {
      const { secret, codeCounter } = command
      return accept({ type: 'UserSecondFactorSet', data: { userId, secret, codeCounter, at } })
    }
    case 'RemoveSecondFactor':
      if (state.secondFactor === null) return accept()
      return accept({ type: 'UserSecondFactorRemoved', data: { userId, at } })
    case 'EndSessions':
      return accept({ type: 'UserSessionsEnded', data: { userId, at } })
    case 'Reseal': {
      const { email, secondFactor } = state
      const anew = (text: string) => command.resealed.get(text) ?? text
      const resealed = { email: anew(email), secondFactor: secondFactor && anew(secondFactor) }
      if (resealed.email === email && resealed.secondFactor === secondFactor) return accept()
      return accept({ type: 'UserSecretsResealed', data: { userId, ...resealed, at } })
    }
    case 'SignIn':
    case 'Confirm': {
      const { codeCounter } = command
      const problem = proofProblem(state, codeCounter)
      if (problem !== undefined) return refuse('conflict', problem)
      const data = { userId, codeCounter, at }
      return accept(command.type === 'SignIn' ? { type: 'UserSignedIn', data } : { type: 'UserConfirmed', data })
    }
    default:
      return command satisfies never
  }
}

/** Merchants' users are bound to merchants; the house sees all of them. */
function unlessMisplaced(
  { role, merchantIds }: { readonly role: Role; readonly merchantIds: readonly string[] | null },
  event: UserEvent,
): Decision<UserEvent> {
  if (!isMerchantRole(role)) {
    return merchantIds === null
      ? accept(event)
      : refuse('conflict', `The role ${role} is for all merchants.`, 'merchantIds')
  }
  const isBound = merchantIds !== null && merchantIds.length > 0
  return isBound ? accept(event) : refuse('conflict', `The role ${role} needs one or more merchants.`, 'merchantIds')
}

/** Two sign-ins at once have read the same state; what the second one finds may be another. */
function proofProblem({ disabled, secondFactor, lastCodeCounter }: User, codeCounter: number | null) {
  if (disabled) return 'The user is disabled.'
  if ((secondFactor === null) !== (codeCounter === null)) return 'The second factor has changed.'
  return codeCounter !== null && codeCounter <= lastCodeCounter ? 'The code was used before.' : undefined
}
