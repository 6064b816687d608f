/** The forms of what a customer is known by (specification, Limits). */

export const maxAccountNumber = 999_999_999_999

const emailForm = /^[^\s@"(),:;<>[\\\]]{1,64}@[a-z0-9-]+(\.[a-z0-9-]+)+$/
const maxEmailLength = 254
const controlCharacter = /\p{Cc}/u

/** The form in which e-mails are compared; undefined for what is none. */
export function normalEmail(text: string): string | undefined {
  const email = text.trim().normalize('NFC').toLowerCase()
  return emailForm.test(email) && email.length <= maxEmailLength && !controlCharacter.test(email) ? email : undefined
}

export function isPassword(text: string): boolean {
  return /^[0-9]{6}$/.test(text)
}

/** E.164, with the plus: `+905551234567`. */
export function isPhone(text: string): boolean {
  return /^\+[1-9][0-9]{6,14}$/.test(text)
}

/** A verification code's form. */
export function isCode(text: string): boolean {
  return /^[0-9]{6}$/.test(text)
}
