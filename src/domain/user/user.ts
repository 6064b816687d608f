import type { Role } from './permissions.js'
import type { UserEvent } from './user-events.js'

/** A user of the dashboard. */
export interface User {
  readonly userId: string
  readonly emailMac: string
  /** Sealed. */
  readonly email: string
  readonly name: string
  readonly role: Role
  /** The merchants that a merchant's user sees; null for a user who sees all merchants. */
  readonly merchantIds: readonly string[] | null
  readonly passwordHash: string
  /** Whether the user can only change the password. */
  readonly mustChangePassword: boolean
  /** Sealed; null without one. */
  readonly secondFactor: string | null
  /** The counter of the latest used code; -1 before the first one. */
  readonly lastCodeCounter: number
  readonly disabled: boolean
  /** Sessions that started in an earlier epoch have ended. */
  readonly epoch: number
  readonly createdAt: string
  readonly lastSignInAt: string | null
}

export type UserState = { readonly userId: null } | User

export const initialState: UserState = { userId: null }

export function evolve(state: UserState, event: UserEvent): UserState {
  if (event.type === 'UserCreated') {
    const { at, temporary, ...data } = event.data
    const nothingYet = { secondFactor: null, lastCodeCounter: -1, disabled: false, epoch: 0, lastSignInAt: null }
    return { ...data, ...nothingYet, mustChangePassword: temporary, createdAt: at }
  }
  if (state.userId === null) throw new Error('a user changed before being created')
  switch (event.type) {
    case 'UserRoleChanged': {
      const { role, merchantIds } = event.data
      return inNextEpoch({ ...state, role, merchantIds })
    }
    case 'UserDisabled':
      return inNextEpoch({ ...state, disabled: true })
    case 'UserEnabled':
      return { ...state, disabled: false }
    case 'UserPasswordSet': {
      const { passwordHash, temporary } = event.data
      return inNextEpoch({ ...state, passwordHash, mustChangePassword: temporary })
    }
    case 'UserSecondFactorSet': {
      const { secret, codeCounter } = event.data
      return { ...state, secondFactor: secret, lastCodeCounter: codeCounter }
    }
    case 'UserSecondFactorRemoved':
      return { ...state, secondFactor: null, lastCodeCounter: -1 }
    case 'UserSignedIn':
      return { ...withCode(state, event.data.codeCounter), lastSignInAt: event.data.at }
    case 'UserConfirmed':
      return withCode(state, event.data.codeCounter)
    case 'UserSecretsResealed': {
      const { email, secondFactor } = event.data
      return { ...state, email, secondFactor }
    }
    case 'UserSessionsEnded':
      return inNextEpoch(state)
    default:
      return event satisfies never
  }
}

function inNextEpoch(user: User): User {
  return { ...user, epoch: user.epoch + 1 }
}

function withCode(user: User, codeCounter: number | null): User {
  return codeCounter === null ? user : { ...user, lastCodeCounter: codeCounter }
}
