import { type Command, Option } from 'commander'
import { normalEmail } from '../domain/email.js'
import { type Role, roles } from '../domain/user/permissions.js'
import type { User } from '../domain/user/user.js'
import type { Workplace } from './cli-stores.js'
import { accepted, answer, answerList } from './command.js'
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
  const users = program.command('users').description('who may sign in to the dashboard')
  const create = users
    .command('create')
    .description('make a user; the first password is shown this once and must be changed at the first sign-in')
    .requiredOption('--email <email>', 'what the user signs in with', email)
    .requiredOption('--name <name>', 'as others see it', text(128))
  answer(addPosition(create), createUser, { log: 'may be new' })
  answerList(users.command('list').description('all users, newest first'), listUsers, {
    columns: () => [
      { head: 'USER ID', cell: ({ userId }) => userId },
      { head: 'ROLE', cell: ({ role }) => role },
      { head: 'STATE', cell: ({ disabled }) => (disabled ? 'disabled' : 'enabled') },
      { head: 'LAST SIGN-IN', cell: ({ lastSignInAt }) => lastSignInAt },
      { head: 'EMAIL', cell: ({ email }) => email },
    ],
    none: 'No users found.',
  })
  const role = users.command('role <userId>').description('give a user another role; it ends the sessions')
  answer(addPosition(role), changeRole)
  answer(users.command('disable <userId>').description('let a user sign in no more; it ends the sessions'), disableUser)
  answer(users.command('enable <userId>').description('let a user sign in again'), enableUser)
  answer(
    users
      .command('reset <userId>')
      .description('issue another first password and remove the second factor; it ends the sessions'),
    resetUser,
  )
}

function addPosition(command: Command): Command {
  return command
    .addOption(new Option('--role <role>', 'what the user may do').choices(roles).makeOptionMandatory())
    .addOption(
      new Option(
        '--merchant <id>',
        'for viewer, operator and approver: what the user sees; repeat it for several',
      ).argParser((id, before: readonly string[] | undefined) => [...(before ?? []), id]),
    )
}

const email = matching((each) => normalEmail(visible(each)) !== undefined, 'It must be an e-mail address.')

/** Beside a running service, which learns of it from the log. */
async function commandsOf(workplace: Workplace) {
  const { createUserCommands } = await import('../main/user-commands-wiring.js')
  return createUserCommands(workplace)
}

async function createUser(workplace: Workplace, { email, name, role, merchant }: CreateOptions) {
  const { users } = await commandsOf(workplace)
  const created = await users.create({ email, name, role, merchantIds: merchant ?? null }, workplace.context)
  const { user, password } = accepted(created)
  return { ...viewOf(user, users.shownEmailOf(user)), password }
}

async function listUsers(workplace: Workplace) {
  const { users, directory } = await commandsOf(workplace)
  await directory.catchUp()
  for (const problem of directory.problems())
    workplace.tell(`a user is out of service: ${problem.message} (events problems)`)
  const latestFirst = directory.all().sort((a, b) => (a.createdAt < b.createdAt ? 1 : -1))
  return latestFirst.map((user) => viewOf(user, users.shownEmailOf(user)))
}

async function changeRole(workplace: Workplace, { role, merchant }: PositionOptions, userId: string) {
  const { users } = await commandsOf(workplace)
  const { user, changed } = accepted(await users.changeRole(userId, role, merchant ?? null, workplace.context))
  return { ...viewOf(user, users.shownEmailOf(user)), changed }
}

async function disableUser(workplace: Workplace, _options: object, userId: string) {
  const { users } = await commandsOf(workplace)
  const { user, changed } = accepted(await users.disable(userId, workplace.context))
  return { ...viewOf(user, users.shownEmailOf(user)), changed }
}

async function enableUser(workplace: Workplace, _options: object, userId: string) {
  const { users } = await commandsOf(workplace)
  const { user, changed } = accepted(await users.enable(userId, workplace.context))
  return { ...viewOf(user, users.shownEmailOf(user)), changed }
}

async function resetUser(workplace: Workplace, _options: object, userId: string) {
  const { users } = await commandsOf(workplace)
  const { user, password } = accepted(await users.reset(userId, workplace.context))
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
