import { accept, type Decider, type Decision, type Refused, refuse, refuseField, violate } from '../../kernel/rules.js'
import { Type } from '../../kernel/typebox.js'
import {
  Count,
  Data,
  type DataOf,
  type EventsOf,
  Id,
  Index,
  Nullable,
  OneOf,
  PasswordHash,
  Sealed,
  Text,
  Time,
} from '../event.js'
import { isMerchantRole, type Role, roles } from './permissions.js'

const user = { userId: Id, at: Time }

const position = {
  role: OneOf(...roles),
  /** The merchants that a merchant's user sees; null for a role of the operator, which sees all merchants. */
  merchantIds: Nullable(Type.Array(Id, { minItems: 1, maxItems: 100 })),
}

const password = {
  passwordHash: PasswordHash,
  /** Whether someone else issued the password: the user can only change it. */
  temporary: Type.Boolean(),
}

/** The number of the half minute (RFC 6238) of a used code. Neither this code nor an earlier one is accepted again. */
const CodeCounter = Index
/** Null without a second factor. */
const proof = { codeCounter: Nullable(CodeCounter) }

/** The events of a user of the dashboard, in `user-<userId>`. No event holds a code. */
export const userEvents = {
  UserCreated: Data({
    ...user,
    /** The keyed digest of the normalised email, by which its reservation is found too. */
    emailMac: Id,
    email: Sealed,
    name: Text,
    ...position,
    ...password,
  }),
  UserRoleChanged: Data({ ...user, ...position }),
  UserDisabled: Data(user),
  UserEnabled: Data(user),
  UserPasswordSet: Data({ ...user, ...password }),
  UserSecondFactorSet: Data({ ...user, secret: Sealed, codeCounter: CodeCounter }),
  UserSecondFactorRemoved: Data(user),
  UserSignedIn: Data({ ...user, ...proof }),
  /** The user proved their identity again in an open session. */
  UserConfirmed: Data({ ...user, ...proof }),
  /** The user was signed out everywhere. */
  UserSessionsEnded: Data(user),
  /** The same email and secret, sealed with a different master key. */
  UserSecretsResealed: Data({ ...user, email: Sealed, secondFactor: Nullable(Sealed) }),
}

export type UserEvent = EventsOf<typeof userEvents>

/** The user that an email belongs to, in `useremail-<keyed digest>`. */
export const userEmailEvents = { UserEmailReserved: Data(user) }

/** Wrong passwords and codes for one user, and the known browsers, in `usersignins-<keyed digest of the email>`. */
export const signInEvents = {
  UserSignInFailed: Data({
    /** A browser in which the user signed in before; null for all unknown browsers jointly. */
    device: Nullable(Id),
    /** The number of failures from 1, since the last correct password of a known browser, or since a day without any. */
    failure: Count,
    at: Time,
  }),
  /** The user signed in from this browser, whose earlier failures no longer count. */
  UserSignInDeviceKnown: Data({ device: Id, at: Time }),
}

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
