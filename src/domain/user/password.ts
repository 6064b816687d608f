import { type Violation, violate } from '../../kernel/rules.js'

/** NIST SP 800-63B requires length and nothing else, apart from passwords that are guessed first. */

const minLength = 12
const maxLength = 256

/** Returns the rule that a chosen password violates, or `undefined`. */
export function passwordProblem(password: string, email: string): Violation | undefined {
  const characters = [...password.normalize('NFC')]
  if (characters.length < minLength) return violate('too-short', { least: minLength })
  if (characters.length > maxLength) return violate('too-long', { most: maxLength })
  if (new Set(characters).size === 1) return violate('one-character')
  return password.trim().normalize('NFC').toLowerCase() === email ? violate('equals-email') : undefined
}
