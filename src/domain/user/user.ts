import { Type } from '../../kernel/typebox.js'
import {
  accept,
  type Decider,
  type Decision,
  type Folded,
  type Refused,
  refuse,
  refuseField,
  violate,
} from '../decider.js'
import { Data, type DataOf, type EventsOf, Nullable, OneOf } from '../event.js'
import { Actor, Count, Id, Index, PasswordHash, Sealed, Text, Time } from '../fields.js'
import { isMerchantRole, roles } from './permissions.js'

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
/** Null without a second factor, and with a recovery code. */
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
  /** Keyed digests of new recovery codes, which replace all earlier ones. */
  UserRecoveryCodesIssued: Data({ ...user, codeDigests: Type.Array(Id, { minItems: 1, maxItems: 20 }) }),
  /** A recovery code replaced the code of the second factor, for a sign-in or a confirmation. It is not accepted again. */
  UserRecoveryCodeUsed: Data({ ...user, codeDigest: Id }),
  /** `by` changed the user's access where that needs a second administrator, until whose confirmation the user cannot sign in. */
  UserAccessHeld: Data({ ...user, by: Actor }),
  UserAccessConfirmed: Data({ ...user, by: Actor }),
  UserSignedIn: Data({ ...user, ...proof }),
  /** The user proved their identity again in an open session. */
  UserConfirmed: Data({ ...user, ...proof }),
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

/** A user of the dashboard. The email and the second factor are sealed. */
export interface User extends Omit<DataOf<UserEvent, 'UserCreated'>, 'temporary' | 'at'> {
  /** Whether the user can only change the password. */
  readonly mustChangePassword: boolean
  readonly secondFactor: string | null
  /** The counter of the latest used code; -1 before the first one. */
  readonly lastCodeCounter: number
  /** The digests of the unused recovery codes. */
  readonly recoveryCodes: readonly string[]
  /** The digests of the used recovery codes that were issued with the unused ones. */
  readonly usedRecoveryCodes: readonly string[]
  readonly disabled: boolean
  /** The actors whose changes wait for the confirmation of another administrator. */
  readonly heldBy: readonly string[]
  /** Sessions that started in an earlier epoch have ended. */
  readonly epoch: number
  /** When the epoch started. After a restore, a different epoch can have the same number. */
  readonly epochStartedAt: string
  readonly createdAt: string
  readonly lastSignInAt: string | null
}

export type UserState = { readonly userId: null } | User
type OfUser<Type extends UserEvent['type']> = Omit<DataOf<UserEvent, Type>, 'userId'>
/** The actor of a change that waits for the confirmation of another administrator. */
type Held = { readonly heldBy?: string | undefined }
/** The digest of the recovery code that replaces the code, if any. */
type Recovery = { readonly recoveryCode?: string | undefined }

export type UserCommand =
  | ({ readonly type: 'Create' } & DataOf<UserEvent, 'UserCreated'> & Held)
  | ({ readonly type: 'ChangeRole' } & OfUser<'UserRoleChanged'> & Held)
  | { readonly type: 'Disable' | 'RemoveSecondFactor' | 'EndSessions'; readonly at: string }
  | ({ readonly type: 'Enable'; readonly at: string } & Held)
  | ({ readonly type: 'SetPassword' } & Omit<OfUser<'UserPasswordSet'>, 'temporary'>)
  /** `Reset` removes the second factor too: a user who lost the password may have lost the phone as well. */
  | ({ readonly type: 'Reset' } & Omit<OfUser<'UserPasswordSet'>, 'temporary'> & Held)
  | ({ readonly type: 'ConfirmAccess' } & OfUser<'UserAccessConfirmed'>)
  | ({ readonly type: 'SetSecondFactor' } & OfUser<'UserSecondFactorSet'>)
  | ({ readonly type: 'IssueRecoveryCodes' } & OfUser<'UserRecoveryCodesIssued'>)
  /** Replaces each sealed text by the value of the map. A text that is not a key of the map is unchanged. */
  | { readonly type: 'Reseal'; readonly resealed: ReadonlyMap<string, string>; readonly at: string }
  | ({ readonly type: 'SignIn' | 'Confirm' } & OfUser<'UserSignedIn'> & Recovery)

/** Returns whether the user is allowed to sign in and to use open sessions. */
export const isActive = ({ disabled, heldBy }: User): boolean => !disabled && heldBy.length === 0

export const userDecider: Decider<UserState, UserCommand, UserEvent> = {
  initialState: { userId: null },
  decide(command, state) {
    if (command.type === 'Create') {
      if (state.userId !== null) return refuse('conflict', 'user-exists')
      const { type: _, heldBy, ...data } = command
      return merchantsRefusal(command, [{ type: 'UserCreated', data }, ...held(data, heldBy)])
    }
    return state.userId === null ? refuse('not-found', 'unknown-user') : change(command, state)
  },
  evolve,
}

function change(command: Exclude<UserCommand, { type: 'Create' }>, user: User): Decision<UserEvent> {
  const { userId, disabled, email, secondFactor } = user
  const common = { userId, at: command.at }
  switch (command.type) {
    case 'ChangeRole': {
      const { role, merchantIds } = command
      if (role === user.role && String(merchantIds) === String(user.merchantIds)) return accept()
      const changed = { type: 'UserRoleChanged', data: { ...common, role, merchantIds } } as const
      return merchantsRefusal(command, [changed, ...held(common, command.heldBy)])
    }
    case 'Disable':
      return disabled ? accept() : accept({ type: 'UserDisabled', data: common })
    case 'Enable':
      if (!disabled) return accept()
      return accept<UserEvent>({ type: 'UserEnabled', data: common }, ...held(common, command.heldBy))
    case 'SetPassword': {
      const { passwordHash } = command
      return accept({ type: 'UserPasswordSet', data: { ...common, passwordHash, temporary: false } })
    }
    case 'Reset': {
      const { passwordHash, heldBy } = command
      const removed: UserEvent[] = secondFactor === null ? [] : [{ type: 'UserSecondFactorRemoved', data: common }]
      const set = { type: 'UserPasswordSet', data: { ...common, passwordHash, temporary: true } } as const
      return accept<UserEvent>(...removed, set, ...held(common, heldBy))
    }
    case 'ConfirmAccess': {
      const { by } = command
      if (user.heldBy.length === 0) return accept()
      const isInvolved = user.heldBy.includes(by) || by === `user:${userId}`
      return isInvolved
        ? refuse('conflict', 'second-administrator-needed')
        : accept({ type: 'UserAccessConfirmed', data: { ...common, by } })
    }
    case 'SetSecondFactor': {
      const { secret, codeCounter } = command
      return accept({ type: 'UserSecondFactorSet', data: { ...common, secret, codeCounter } })
    }
    case 'IssueRecoveryCodes':
      if (secondFactor === null) return refuse('conflict', 'second-factor-missing')
      return accept({ type: 'UserRecoveryCodesIssued', data: { ...common, codeDigests: command.codeDigests } })
    case 'RemoveSecondFactor':
      return secondFactor === null ? accept() : accept({ type: 'UserSecondFactorRemoved', data: common })
    case 'EndSessions':
      return accept({ type: 'UserSessionsEnded', data: common })
    case 'Reseal': {
      const { resealed } = command
      if (!resealed.has(email) && !(secondFactor && resealed.has(secondFactor))) return accept()
      const replace = (text: string) => resealed.get(text) ?? text
      const secrets = { email: replace(email), secondFactor: secondFactor && replace(secondFactor) }
      return accept({ type: 'UserSecretsResealed', data: { ...common, ...secrets } })
    }
    case 'SignIn':
    case 'Confirm': {
      const { codeCounter, recoveryCode: codeDigest } = command
      const type = command.type === 'SignIn' ? 'UserSignedIn' : 'UserConfirmed'
      const proven = { type, data: { ...common, codeCounter } } as const
      const used: UserEvent[] =
        codeDigest === undefined ? [] : [{ type: 'UserRecoveryCodeUsed', data: { ...common, codeDigest } }]
      return refusedProof(user, command) ?? accept<UserEvent>(...used, proven)
    }
    default:
      return command satisfies never
  }
}

/** A user with a merchant role is bound to merchants. A user with any other role sees all merchants. */
function merchantsRefusal(
  { role, merchantIds }: Pick<User, 'role' | 'merchantIds'>,
  events: readonly UserEvent[],
): Decision<UserEvent> {
  if (!isMerchantRole(role)) {
    return merchantIds === null
      ? accept(...events)
      : refuseField('merchantIds', violate('role-for-all-merchants', { role }))
  }
  return merchantIds?.length ? accept(...events) : refuseField('merchantIds', violate('role-needs-merchants', { role }))
}

function held({ userId, at }: { readonly userId: string; readonly at: string }, by: string | undefined): UserEvent[] {
  return by === undefined ? [] : [{ type: 'UserAccessHeld', data: { userId, at, by } }]
}

type SignInProof = Pick<OfUser<'UserSignedIn'>, 'codeCounter'> & Recovery

/** Two simultaneous sign-ins have read the same state, which the first of them may have changed. */
function refusedProof(user: User, { codeCounter, recoveryCode }: SignInProof): Refused | undefined {
  if (!isActive(user)) return refuse('conflict', 'user-disabled')
  if (recoveryCode !== undefined)
    return user.recoveryCodes.includes(recoveryCode) ? undefined : refuse('conflict', 'code-used')
  if ((user.secondFactor === null) !== (codeCounter === null)) return refuse('conflict', 'second-factor-changed')
  return codeCounter !== null && codeCounter <= user.lastCodeCounter ? refuse('conflict', 'code-used') : undefined
}

const withoutSecondFactor = { secondFactor: null, lastCodeCounter: -1, recoveryCodes: [], usedRecoveryCodes: [] }

function evolve(state: UserState, event: UserEvent): UserState {
  if (event.type === 'UserCreated') {
    const { at, temporary, ...data } = event.data
    const access = { disabled: false, heldBy: [], epoch: 0, mustChangePassword: temporary }
    return { ...data, ...withoutSecondFactor, ...access, createdAt: at, epochStartedAt: at, lastSignInAt: null }
  }
  if (state.userId === null) throw new Error('a user changed before being created')
  const inNextEpoch = { ...state, epoch: state.epoch + 1, epochStartedAt: event.data.at }
  switch (event.type) {
    case 'UserRoleChanged': {
      const { role, merchantIds } = event.data
      return { ...inNextEpoch, role, merchantIds }
    }
    case 'UserDisabled':
      return { ...inNextEpoch, disabled: true }
    case 'UserEnabled':
      return { ...state, disabled: false }
    case 'UserPasswordSet': {
      const { passwordHash, temporary } = event.data
      return { ...inNextEpoch, passwordHash, mustChangePassword: temporary }
    }
    case 'UserSecondFactorSet': {
      const { secret, codeCounter } = event.data
      return { ...state, secondFactor: secret, lastCodeCounter: codeCounter }
    }
    case 'UserSecondFactorRemoved':
      return { ...state, ...withoutSecondFactor }
    case 'UserRecoveryCodesIssued':
      return { ...state, recoveryCodes: event.data.codeDigests, usedRecoveryCodes: [] }
    case 'UserRecoveryCodeUsed': {
      const { codeDigest } = event.data
      const recoveryCodes = state.recoveryCodes.filter((digest) => digest !== codeDigest)
      return { ...state, recoveryCodes, usedRecoveryCodes: [...state.usedRecoveryCodes, codeDigest] }
    }
    case 'UserAccessHeld':
      return { ...inNextEpoch, heldBy: [...state.heldBy, event.data.by] }
    case 'UserAccessConfirmed':
      return { ...state, heldBy: [] }
    case 'UserSignedIn':
    case 'UserConfirmed': {
      const { codeCounter, at } = event.data
      const lastSignInAt = event.type === 'UserSignedIn' ? at : state.lastSignInAt
      return { ...state, lastCodeCounter: codeCounter ?? state.lastCodeCounter, lastSignInAt }
    }
    case 'UserSecretsResealed': {
      const { email, secondFactor } = event.data
      return { ...state, email, secondFactor }
    }
    case 'UserSessionsEnded':
      return inNextEpoch
    default:
      return event satisfies never
  }
}

/** Reserves an email for a user in the email's own stream, so that no two users have the same one. A free email has a null userId. */
export const userEmailReservation: Folded<{ readonly userId: string | null }, EventsOf<typeof userEmailEvents>> = {
  initialState: { userId: null },
  evolve: (_state, { data }) => data,
}
