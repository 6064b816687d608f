const emailForm = /^[^\s@"(),:;<>[\\\]]{1,64}@[a-z0-9-]+(\.[a-z0-9-]+)+$/
const maxEmailLength = 254
const controlCharacter = /\p{Cc}/u

/** The form in which e-mails are compared; undefined for what is none. */
export function normalEmail(text: string): string | undefined {
  const email = text.trim().normalize('NFC').toLowerCase()
  return emailForm.test(email) && email.length <= maxEmailLength && !controlCharacter.test(email) ? email : undefined
}
