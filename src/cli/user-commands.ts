import { type Command, Option } from 'commander'
import { normalEmail } from '../domain/credentials.js'
import { type Role, roles } from '../domain/user/permissions.js'
import type { User } from '../domain/user/user.js'
import type { CommandStores } from './cli-stores.js'
import { accepted, defineCommand, defineListCommand } from './command.js'
import { matching, text, visible } from './options.js'

interface PositionOptions {
  readonly role: Role
  readonly merchant?: readonly string[]
}

interface CreateOptions extends PositionOptions {
  readonly email: string
  readonly name: string
}

export function addUserCommands(program: Command): void {
  const users = program.command('users').description('users of the dashboard')
  const create = users
    .command('create')
    .description('create a user; the initial password is shown only once and must be changed at the first sign-in')
    .requiredOption('--email <email>', 'the sign-in name', email)
    .requiredOption('--name <name>', 'the displayed name', text(128))
  defineCommand(addPosition(create), createUser, { log: 'may be new' })
  defineListCommand(users.command('list').description('all users, newest first'), listUsers, {
    columns: () => [
      { head: 'USER ID', cell: ({ userId }) => userId },
      { head: 'ROLE', cell: ({ role }) => role },
      { head: 'STATE', cell: ({ disabled }) => (disabled ? 'disabled' : 'enabled') },
      { head: 'LAST SIGN-IN', cell: ({ lastSignInAt }) => lastSignInAt },
      { head: 'EMAIL', cell: ({ email }) => email },
    ],
    emptyText: 'No users found.',
  })
  const role = users.command('role <userId>').description('change the role of a user and end their sessions')
  defineCommand(addPosition(role), changeRole)
  defineCommand(users.command('disable <userId>').description('block a user and end their sessions'), disableUser)
  defineCommand(users.command('enable <userId>').description('allow a user to sign in again'), enableUser)
  defineCommand(
    users
      .command('reset <userId>')
      .description('issue a new initial password, remove the second factor, and end the sessions'),
    resetUser,
  )
}

function addPosition(command: Command): Command {
  return command
    .addOption(new Option('--role <role>', 'the permissions of the user').choices(roles).makeOptionMandatory())
    .addOption(
      new Option('--merchant <id>', 'a merchant of a viewer, operator or approver; repeatable').argParser(
        (id, before: readonly string[] | undefined) => [...(before ?? []), id],
      ),
    )
}

const email = matching((each) => normalEmail(visible(each)) !== undefined, 'It must be an email address.')

/** A running service receives the changes from the log. */
async function commandsOf(stores: CommandStores) {
  const { createUserCommands } = await import('../commands/user/user-commands.js')
  return createUserCommands(stores)
}

async function createUser(stores: CommandStores, { email, name, role, merchant }: CreateOptions) {
  const { users } = await commandsOf(stores)
  const created = await users.create({ email, name, role, merchantIds: merchant ?? null }, stores.context)
  const { user, password } = accepted(created)
  return { ...viewOf(user, users.shownEmailOf(user)), password }
}

async function listUsers(stores: CommandStores) {
  const { users, directory } = await commandsOf(stores)
  await directory.catchUp()
  for (const problem of directory.problems())
    stores.notify(`a user is out of service: ${problem.message} (events problems)`)
  const latestFirst = directory.all().sort((a, b) => (a.createdAt < b.createdAt ? 1 : -1))
  return latestFirst.map((user) => viewOf(user, users.shownEmailOf(user)))
}

async function changeRole(stores: CommandStores, { role, merchant }: PositionOptions, userId: string) {
  const { users } = await commandsOf(stores)
  const { user, changed } = accepted(
    await users.changeRole(userId, { role, merchantIds: merchant ?? null }, stores.context),
  )
  return { ...viewOf(user, users.shownEmailOf(user)), changed }
}

async function disableUser(stores: CommandStores, _options: object, userId: string) {
  const { users } = await commandsOf(stores)
  const { user, changed } = accepted(await users.disable(userId, stores.context))
  return { ...viewOf(user, users.shownEmailOf(user)), changed }
}

async function enableUser(stores: CommandStores, _options: object, userId: string) {
  const { users } = await commandsOf(stores)
  const { user, changed } = accepted(await users.execute(userId, { type: 'Enable' }, stores.context))
  return { ...viewOf(user, users.shownEmailOf(user)), changed }
}

async function resetUser(stores: CommandStores, _options: object, userId: string) {
  const { users } = await commandsOf(stores)
  const { user, password } = accepted(await users.reset(userId, stores.context))
  return { ...viewOf(user, users.shownEmailOf(user)), password }
}

function viewOf(user: User, email: string) {
  const { userId, name, role, merchantIds, disabled, mustChangePassword, createdAt, lastSignInAt } = user
  const hasSecondFactor = user.secondFactor !== null
  return {
    ...{ userId, email, name, role, merchantIds, disabled },
    ...{ mustChangePassword, hasSecondFactor, createdAt, lastSignInAt },
  }
}
