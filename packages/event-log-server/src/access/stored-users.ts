import { createHash, randomBytes, scrypt, timingSafeEqual } from 'node:crypto'
import { damagedType, parseObject, type StreamStore } from '@transferd/event-log/streams'

export interface User {
  readonly login: string
  readonly groups: readonly string[]
}

/** A user that is stored in the log. */
export interface StoredUser extends User {
  readonly fullName: string
  readonly disabled: boolean
  readonly salt: string
  readonly hash: string
}

export interface FoundUser {
  readonly user: StoredUser
  readonly revision: number
  readonly changedAtMs: number
}

export function userStream(login: string): string {
  return `$user-${login}`
}

export function findUser({ reader }: StreamStore, login: string): FoundUser | undefined {
  const last = reader.last(userStream(login))
  const user = last && (parseObject(last.data) as StoredUser | undefined)
  if (!user || last.type === '$UserDeleted' || last.type === damagedType) return undefined
  return { user, revision: last.revision, changedAtMs: last.recordedAtMs }
}

export function newSalt(): string {
  return randomBytes(16).toString('base64')
}

export function hashPassword(password: string, salt: string): Promise<string> {
  return new Promise((resolve, reject) => {
    scrypt(password, salt, 32, (error, key) => (error ? reject(error) : resolve(key.toString('base64'))))
  })
}

/** Compares texts in a time that does not depend on how similar they are. */
export function sameText(a: string, b: string): boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest()
  return timingSafeEqual(digest(a), digest(b))
}
