import { Type } from '../../kernel/typebox.js'
import { Count, Data, type EventsOf, Id, Index, Nullable, OneOf, PasswordHash, Sealed, Text, Time } from '../event.js'
import { roles } from './permissions.js'

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
