const emailForm = /^[^\s@"(),:;<>[\\\]]{1,64}@[a-z0-9-]+(\.[a-z0-9-]+)+$/
const maxEmailLength = 254
const controlCharacter = /\p{Cc}/u

/** Returns the form in which emails are compared, or `undefined` if the text is not an email. */
export function normalEmail(text: string): string | undefined {
  const email = text.trim().normalize('NFC').toLowerCase()
  return emailForm.test(email) && email.length <= maxEmailLength && !controlCharacter.test(email) ? email : undefined
}
