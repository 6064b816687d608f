import { randomBytes } from 'node:crypto'
import { mkdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { Account } from '@transferd/event-log-server'
import { createFileDurably } from '../files/durable-file.js'

/** The file of users is invalid. The message states what to change and does not quote the file. */
export class EventsUsersError extends Error {
  override readonly name = 'ConfigurationError'
}

export interface EventsUsers {
  /** The file, if the users come from one. */
  readonly path?: string
  readonly accounts: readonly Account[]
  /** Notices for the operator: that the file was created, or that others can read it. */
  readonly notices: readonly string[]
}

/** Reads the users from `<directory>/events-users.json`, which is created with one administrator if it does not exist. */
export function ensureEventsUsers(directory: string): EventsUsers {
  const path = join(directory, 'events-users.json')
  mkdirSync(directory, { recursive: true, mode: 0o700 })
  const administrator: Account = {
    login: 'admin',
    password: randomBytes(24).toString('base64url'),
    groups: ['$admins'],
  }
  const isNew = createFileDurably(path, `${JSON.stringify({ users: [administrator] }, null, 2)}\n`)
  const users = readEventsUsers(path)
  if (!isNew) return users
  return { ...users, notices: [`created ${path} (mode 0600) with the login and password of the user admin`] }
}

/** @throws EventsUsersError */
export function readEventsUsers(path: string): EventsUsers {
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (error) {
    throw new EventsUsersError(`${path} cannot be read: ${(error as NodeJS.ErrnoException).code}`)
  }
  const accounts = accountsOf(text)
  if (accounts === undefined) {
    throw new EventsUsersError(
      `${path} must contain {"users": [{"login": …, "password": …, "groups": […]}, …]} with unique logins without a colon and no empty password`,
    )
  }
  const mode = statSync(path).mode & 0o777
  const isTooOpen = process.platform !== 'win32' && (mode & 0o077) !== 0
  const notice = `${path} has mode 0${mode.toString(8)}, so others can read it: change the mode to 0600`
  return { path, accounts, notices: isTooOpen ? [notice] : [] }
}

/** Returns `undefined` for an invalid list of users. */
function accountsOf(text: string): readonly Account[] | undefined {
  let document: unknown
  try {
    document = JSON.parse(text)
  } catch {
    return undefined
  }
  const users = isObject(document) ? document.users : undefined
  if (!Array.isArray(users) || users.length === 0 || !users.every(isAccount)) return undefined
  return new Set(users.map(({ login }) => login)).size === users.length ? users : undefined
}

function isAccount(user: unknown): user is Account {
  if (!isObject(user)) return false
  const { login, password, groups, ...others } = user
  const isText = (value: unknown): value is string => typeof value === 'string' && value !== ''
  const isLogin = isText(login) && !login.includes(':')
  return isLogin && isText(password) && isGroups(groups) && Object.keys(others).length === 0
}

function isGroups(groups: unknown): boolean {
  return Array.isArray(groups) && groups.every((group) => typeof group === 'string' && group !== '')
}

function isObject(value: unknown): value is { readonly [key: string]: unknown } {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
