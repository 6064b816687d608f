import { hash } from '@node-rs/argon2'
import { createPasswords, type Passwords } from '../../src/security/passwords.js'

/** Hashes with the least cost that argon2id allows. A hash contains its cost, so its verification is cheap too. */
export const cheapPasswords: Passwords = {
  ...createPasswords(),
  hash: (secret) => hash(secret, { memoryCost: 8, timeCost: 1, parallelism: 1 }),
}
