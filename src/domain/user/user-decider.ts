import { accept, type Decider, type Decision, type Refused, refuse, refuseField } from '../../kernel/decision.js'
import { violate } from '../../kernel/rules.js'
import type { DataOf, EventsOf } from '../event.js'
import { isMerchantRole, type Role } from './permissions.js'
import { evolve, initialState, type User, type UserState } from './user.js'
import type { UserEvent, userEmailEvents } from './user-events.js'

type OfUser<Type extends UserEvent['type']> = Omit<DataOf<UserEvent, Type>, 'userId'>

export type UserCommand =
  | ({ readonly type: 'Create' } & DataOf<UserEvent, 'UserCreated'>)
  | ({ readonly type: 'ChangeRole' } & OfUser<'UserRoleChanged'>)
  | { readonly type: 'Disable' | 'Enable' | 'RemoveSecondFactor' | 'EndSessions'; readonly at: string }
  | ({ readonly type: 'SetPassword' } & Omit<OfUser<'UserPasswordSet'>, 'temporary'>)
  /** Resets the second factor too: a user who lost the password may have lost the phone as well. */
  | ({ readonly type: 'Reset' } & Omit<OfUser<'UserPasswordSet'>, 'temporary'>)
  | ({ readonly type: 'SetSecondFactor' } & OfUser<'UserSecondFactorSet'>)
  /** Replaces each sealed text by the value of the map. A text that is not a key of the map is unchanged. */
  | { readonly type: 'Reseal'; readonly resealed: ReadonlyMap<string, string>; readonly at: string }
  | ({ readonly type: 'SignIn' } & OfUser<'UserSignedIn'>)
  | ({ readonly type: 'Confirm' } & OfUser<'UserConfirmed'>)

export const userDecider: Decider<UserState, UserCommand, UserEvent> = { initialState, decide, evolve }

function decide(command: UserCommand, state: UserState): Decision<UserEvent> {
  if (command.type === 'Create') {
    if (state.userId !== null) return refuse('conflict', 'user-exists')
    const { type: _, ...data } = command
    return unlessMisplaced(command, { type: 'UserCreated', data })
  }
  if (state.userId === null) return refuse('not-found', 'unknown-user')
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
      const { resealed } = command
      if (!resealed.has(email) && !(secondFactor && resealed.has(secondFactor))) return accept()
      const replace = (text: string) => resealed.get(text) ?? text
      const data = { userId, email: replace(email), secondFactor: secondFactor && replace(secondFactor), at }
      return accept({ type: 'UserSecretsResealed', data })
    }
    case 'SignIn':
    case 'Confirm': {
      const { codeCounter } = command
      const refused = refusedProof(state, codeCounter)
      if (refused) return refused
      const data = { userId, codeCounter, at }
      return accept(command.type === 'SignIn' ? { type: 'UserSignedIn', data } : { type: 'UserConfirmed', data })
    }
    default:
      return command satisfies never
  }
}

/** A user with a merchant role is bound to merchants. A user with any other role sees all merchants. */
function unlessMisplaced(
  { role, merchantIds }: { readonly role: Role; readonly merchantIds: readonly string[] | null },
  event: UserEvent,
): Decision<UserEvent> {
  if (!isMerchantRole(role)) {
    return merchantIds === null
      ? accept(event)
      : refuseField('merchantIds', violate('role-for-all-merchants', { role }))
  }
  const isBound = merchantIds !== null && merchantIds.length > 0
  return isBound ? accept(event) : refuseField('merchantIds', violate('role-needs-merchants', { role }))
}

/** Two simultaneous sign-ins have read the same state, which the first of them may have changed. */
function refusedProof(
  { disabled, secondFactor, lastCodeCounter }: User,
  codeCounter: number | null,
): Refused | undefined {
  if (disabled) return refuse('conflict', 'user-disabled')
  if ((secondFactor === null) !== (codeCounter === null)) return refuse('conflict', 'second-factor-changed')
  return codeCounter !== null && codeCounter <= lastCodeCounter ? refuse('conflict', 'code-used') : undefined
}

type UserEmailReserved = EventsOf<typeof userEmailEvents>

/** Reserves an email for a user in the email's own stream, so that no two users have the same one. A free email has a null userId. */
export const userEmailDecider: Decider<
  { readonly userId: string | null },
  UserEmailReserved['data'],
  UserEmailReserved
> = {
  initialState: { userId: null },
  decide: (data) => accept({ type: 'UserEmailReserved', data }),
  evolve: (_state, { data }) => ({ userId: data.userId }),
}
