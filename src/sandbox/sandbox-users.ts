import type { Logger } from 'pino'
import type { CommandContext } from '../commands/handle-command.js'
import type { NewUser, UserCommands } from '../commands/user/user-commands.js'
import { isMerchantRole, type Role, roles } from '../domain/user/permissions.js'
import type { User } from '../domain/user/user.js'
import { UnreadableEventError } from '../event-store/event-codec.js'
import type { SecretBox } from '../security/secret-box.js'
import { sandboxActor } from './sandbox-actor.js'

/** A user for trying out the dashboard. */
export interface SandboxUser {
  readonly role: Role
  readonly email: string
  readonly password: string
}

interface SandboxUserParts {
  readonly users: UserCommands
  readonly box: Pick<SecretBox, 'mac'>
  readonly context: CommandContext
  readonly logger: Logger
}

/** Events of normal use, after which a user still belongs to the sandbox. */
const usual: ReadonlySet<string> = new Set(['UserSignedIn', 'UserConfirmed', 'UserSessionsEnded'])
/** Events that decide who owns a user and whether the user can sign in. */
const deciding: ReadonlySet<string> = new Set(['UserCreated', 'UserEnabled', 'UserDisabled'])
const passwordLength = 20

/**
 * Returns one user for each role and creates missing ones. Users with a merchant role see `merchantIds`. The passwords derive from the
 * master key, so every start can show them. Omits a user that anyone else has changed, because the password may no longer work.
 */
export async function ensureSandboxUsers(
  parts: SandboxUserParts,
  merchantIds: readonly string[],
): Promise<readonly SandboxUser[]> {
  const offered = await Promise.all(roles.map((role) => offer(parts, role, isMerchantRole(role) ? merchantIds : null)))
  return offered.flat()
}

async function offer(
  { users, box, context, logger }: SandboxUserParts,
  role: Role,
  merchantIds: readonly string[] | null,
): Promise<readonly SandboxUser[]> {
  const email = emailOf(role)
  const password = box.mac('sandbox user password', email).slice(0, passwordLength)
  try {
    const wanted = { email, name: `Sandbox ${role}`, role, merchantIds }
    const user = (await users.findByEmail(email)) ?? (await made(users, wanted, password, context))
    if (!user || !(await isAsMade(users, user))) return []
    // The user was disabled when an earlier sandbox ended.
    if (user.disabled) await users.execute(user.userId, { type: 'Enable' }, context)
    await users.changeRole(user.userId, { role, merchantIds }, context)
    return [{ role, email, password }]
  } catch (error) {
    // The service must start even without this user.
    if (!(error instanceof UnreadableEventError)) throw error
    logger.error({ err: error }, 'a user of the sandbox cannot be read')
    return []
  }
}

async function made(
  users: UserCommands,
  wanted: NewUser,
  password: string,
  context: CommandContext,
): Promise<User | undefined> {
  const result = await users.create(wanted, context, password)
  // Another node may have created the user concurrently.
  return result.accepted ? result.user : users.findByEmail(wanted.email)
}

async function isAsMade(users: UserCommands, { userId }: User): Promise<boolean> {
  const history = await users.history(userId)
  return history.every(({ event, metadata }) => metadata.actor === sandboxActor || usual.has(event.type))
}

/** Disables the users whose passwords a banner showed. A user that an operator has since enabled again stays enabled. */
export async function disableSandboxUsers(users: UserCommands, context: CommandContext): Promise<void> {
  for (const role of roles) {
    const user = await users.findByEmail(emailOf(role))
    if (!user || user.disabled) continue
    const decisive = (await users.history(user.userId)).filter(({ event }) => deciding.has(event.type))
    const isOurs = decisive.every(({ metadata }) => metadata.actor === sandboxActor)
    if (isOurs) await users.execute(user.userId, { type: 'Disable' }, { ...context, actor: sandboxActor })
  }
}

function emailOf(role: Role): string {
  return `${role}@sandbox.example`
}
