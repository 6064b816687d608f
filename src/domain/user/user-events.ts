import type { EventsOf } from '../event.js'
import type { Role } from './permissions.js'

/**
 * What happens to somebody who signs in to the dashboard. The e-mail and the secret of the second factor appear only sealed, the password
 * only as a keyed hash; codes not at all.
 */

interface Common {
  readonly userId: string
  /** ISO 8601, by the service's clock. */
  readonly at: string
}

interface Position {
  readonly role: Role
  /** Those that a merchant's user sees; null for the house, which sees all. */
  readonly merchantIds: readonly string[] | null
}

interface Password {
  /** argon2id over a keyed digest: worth nothing without the key, which is not in the log. */
  readonly passwordHash: string
  /** Known to whoever issued it: nothing but changing it is possible with it. */
  readonly temporary: boolean
}

/** The number of the half minute (RFC 6238) that a code belonged to: neither it nor an earlier one is taken again. */
interface CodeUsed {
  readonly codeCounter: number
}

interface UserData {
  UserCreated: Common &
    Position &
    Password & {
      /** Keyed digest of the e-mail, normalised: the same one that its reservation is found by. */
      readonly emailMac: string
      readonly email: string
      readonly name: string
    }
  UserRoleChanged: Common & Position
  UserDisabled: Common
  UserEnabled: Common
  UserPasswordSet: Common & Password
  UserSecondFactorSet: Common & CodeUsed & { readonly secret: string }
  UserSecondFactorRemoved: Common
  /** `codeCounter` is null without a second factor. */
  UserSignedIn: Common & { readonly codeCounter: number | null }
  /** The user proved once more, in a session that is under way, who sits there. */
  UserConfirmed: Common & { readonly codeCounter: number | null }
  /** Signed out everywhere. */
  UserSessionsEnded: Common
  /** The same e-mail and secret under another master key; nothing else changes. `secondFactor` is null without one. */
  UserSecretsResealed: Common & { readonly email: string; readonly secondFactor: string | null }
}

export type UserEvent = EventsOf<UserData>
