import type { Command } from 'commander'
import type { UserCommands, UserResult } from '../commands/user/user-commands.js'
import { roles } from '../domain/user/permissions.js'
import type { User } from '../domain/user/user.js'
import { storedUuid } from '../kernel/uuid.js'
import type { CommandStores } from './cli-stores.js'
import { accepted, defineCommand } from './command.js'
import { columnsOnlyIn } from './listing.js'
import { choice, email, option, repeatable, required, seenRevision, text } from './options.js'
import { shortId } from './readable.js'

const position = {
  role: required(choice('<role>', 'the permissions of the user', roles)),
  merchant: option('<id>', 'a merchant of a viewer, operator or approver; repeatable', repeatable(storedUuid)),
}

export function addUserCommands(program: Command): void {
  const users = program.command('users').description('users of the dashboard')
  const created = 'create a user; the initial password is shown only once and must be changed at the first sign-in'
  defineCommand(users, 'create', created, {
    examples: [
      '--email ada@example.com --name "Ada Lovelace" --role administrator',
      '--email joe@example.com --name Joe --role operator --merchant f5ebe0d2',
    ],
    log: 'may be new',
    options: {
      email: required(option('<email>', 'the sign-in name', email)),
      name: required(option('<name>', 'the displayed name', text(128))),
      ...position,
    },
    async run(stores, { email, name, role, merchant: merchantIds = null }) {
      const { users } = await commandsOf(stores)
      const created = accepted(await users.create({ email, name, role, merchantIds }, stores.context))
      return { ...viewOf(created, users), password: created.password }
    },
  })
  defineCommand(users, 'list', 'all users, newest first', {
    examples: ['', '--json'],
    async run(stores) {
      const { users, directory } = await commandsOf(stores)
      await directory.catchUp()
      for (const problem of directory.problems())
        stores.notify(`a user is out of service: ${problem.message} (events problems)`)
      const latestFirst = directory.all().sort((a, b) => (a.createdAt < b.createdAt ? 1 : -1))
      return latestFirst.map((user) => viewOf({ user, revision: directory.revisionOf(user.userId) }, users))
    },
    list: {
      columns: {
        userId: {},
        role: {},
        disabled: {
          head: 'STATE',
          cell: ({ disabled, heldBy }) => (disabled ? 'disabled' : heldBy.length > 0 ? 'held' : 'enabled'),
        },
        revision: { head: 'REV' },
        lastSignInAt: { head: 'LAST SIGN-IN' },
        ...columnsOnlyIn('wide and csv', 'name', 'merchantIds', 'hasSecondFactor', 'createdAt'),
        ...columnsOnlyIn('csv', 'heldBy', 'mustChangePassword'),
        email: {},
      },
      none: 'No users found.',
    },
  })
  defineCommand(users, 'role <userId>', 'change the role of a user and end their sessions', {
    examples: [
      '3b9f6c52-7a0e-4f0e-9d53-2f0f3a6f1b77 --role auditor',
      '3b9f6c52-7a0e-4f0e-9d53-2f0f3a6f1b77 --role approver --merchant f5ebe0d2',
    ],
    options: position,
    run: async (stores, { role, merchant: merchantIds = null }, userId: string) =>
      changedUser(stores, (users) => users.changeRole(userId, { role, merchantIds }, stores.context)),
  })
  defineCommand(users, 'disable <userId>', 'block a user and end their sessions', {
    examples: ['3b9f6c52-7a0e-4f0e-9d53-2f0f3a6f1b77', '3b9f6c52-7a0e-4f0e-9d53-2f0f3a6f1b77 --json'],
    run: async (stores, _, userId: string) => changedUser(stores, (users) => users.disable(userId, stores.context)),
  })
  defineCommand(users, 'enable <userId>', 'allow a user to sign in again', {
    examples: ['3b9f6c52-7a0e-4f0e-9d53-2f0f3a6f1b77', '3b9f6c52-7a0e-4f0e-9d53-2f0f3a6f1b77 --json'],
    run: async (stores, _, userId: string) => changedUser(stores, (users) => users.enable(userId, stores.context)),
  })
  const confirm = 'confirm the access of a user that an administrator changed, in place of a second administrator'
  defineCommand(users, 'confirm <userId>', confirm, {
    examples: [
      '3b9f6c52-7a0e-4f0e-9d53-2f0f3a6f1b77 --revision 4',
      '3b9f6c52-7a0e-4f0e-9d53-2f0f3a6f1b77 --revision 4 --json',
    ],
    options: { revision: required(option('<n>', 'the `revision` of the user that you have checked', seenRevision)) },
    run: async (stores, { revision }, userId: string) =>
      changedUser(stores, (users) => users.confirmAccess(userId, revision, stores.context)),
  })
  const reset = 'issue a new initial password, remove the second factor, and end the sessions'
  defineCommand(users, 'reset <userId>', reset, {
    examples: ['3b9f6c52-7a0e-4f0e-9d53-2f0f3a6f1b77', '3b9f6c52-7a0e-4f0e-9d53-2f0f3a6f1b77 --yes'],
    confirmation: {
      question: (_, __, userId: string) => ({
        effect: `The password and the second factor of the user ${userId} are removed, and the sessions end.`,
        word: shortId(userId),
      }),
    },
    async run(stores, _, userId: string) {
      const { users } = await commandsOf(stores)
      const reset = accepted(await users.reset(userId, stores.context))
      return { ...viewOf(reset, users), password: reset.password }
    },
  })
}

/** A running service receives the changes from the log. */
async function commandsOf(stores: CommandStores) {
  const { createUserCommands } = await import('../commands/user/user-commands.js')
  return createUserCommands(stores)
}

async function changedUser(stores: CommandStores, change: (users: UserCommands) => Promise<UserResult>) {
  const { users } = await commandsOf(stores)
  const after = accepted(await change(users))
  return { ...viewOf(after, users), changed: after.changed }
}

function viewOf(
  { user, revision }: { readonly user: User; readonly revision: number },
  users: Pick<UserCommands, 'shownEmailOf'>,
) {
  const { userId, name, role, merchantIds, disabled, heldBy, mustChangePassword, createdAt, lastSignInAt } = user
  const hasSecondFactor = user.secondFactor !== null
  return {
    userId,
    email: users.shownEmailOf(user),
    name,
    role,
    merchantIds,
    disabled,
    heldBy,
    mustChangePassword,
    hasSecondFactor,
    createdAt,
    lastSignInAt,
    revision,
  }
}
