import { typedEmail } from '../kernel/typed-text.js'
import { violate } from './decider.js'
import type { Violation } from './rules.js'

/** The form that browsers accept, with the limits of RFC 5321. It is ASCII only, because other characters are invisible or look alike. */
const label = '[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?'
const emailForm = new RegExp(`^[A-Za-z0-9.!#$%&'*+/=?^_\`{|}~-]{1,64}@${label}(?:\\.${label})+$`)
const maxEmailLength = 254

/** Returns the form in which emails are compared, or `undefined` if the text is not an email. */
export function normalEmail(text: string): string | undefined {
  // The form is checked before the change to lower case, which turns the Kelvin sign into a k.
  const email = emailForm.exec(typedEmail(text))?.[0].toLowerCase()
  return email !== undefined && email.length <= maxEmailLength ? email : undefined
}

/** NIST SP 800-63B requires only a minimum length, and the rejection of common passwords. */
const minPasswordLength = 12
const maxPasswordLength = 256

export function passwordProblem(password: string, email: string): Violation | undefined {
  const characters = [...password.normalize('NFC')]
  if (characters.length < minPasswordLength) return violate('too-short', { least: minPasswordLength })
  if (characters.length > maxPasswordLength) return violate('too-long', { most: maxPasswordLength })
  if (new Set(characters).size === 1) return violate('one-character')
  return password.trim().normalize('NFC').toLowerCase() === email ? violate('equals-email') : undefined
}

// The forms of a customer's credentials (specification, Limits).

export const maxAccountNumber = 999_999_999_999
export const isPassword = (text: string): boolean => /^[0-9]{6}$/.test(text)

/** The most common passwords of six digits that no rule below finds. */
const chosenOften: ReadonlySet<string> = new Set(
  '102030 112233 123321 123654 142536 147258 147852 159357 159753 258456 369258 456123 741852 753951 789123 789456'.split(
    ' ',
  ),
)

/** Returns whether a password is guessed first, such as 000000, 123456, 987654, 121212, 123123, and the most common ones. */
export function isEasyPassword(digits: string): boolean {
  const isRepetition = /^(\d{1,3})\1+$/.test(digits)
  return isRepetition || isRun(digits, 1) || isRun(digits, 9) || chosenOften.has(digits)
}

/** Returns whether each digit is the previous one plus `step`, where 0 follows 9. */
function isRun(digits: string, step: number): boolean {
  return [...digits].every((digit, index) => index === 0 || Number(digit) === (Number(digits[index - 1]) + step) % 10)
}

/** Returns whether a text is a phone number in E.164 form with the plus: `+905551234567`. */
export const isPhone = (text: string): boolean => /^\+[1-9][0-9]{6,14}$/.test(text)
export const isCode = (text: string): boolean => /^[0-9]{6}$/.test(text)
