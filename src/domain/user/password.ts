/** NIST SP 800-63B asks for length and for nothing else; what anybody would guess first is refused. */

const minLength = 12
const maxLength = 256

/** What is wrong with a password that a user chose, as the end of a sentence; undefined when it will do. */
export function passwordProblem(password: string, email: string): string | undefined {
  const characters = [...password.normalize('NFC')]
  if (characters.length < minLength) return `must have at least ${minLength} characters`
  if (characters.length > maxLength) return `must have at most ${maxLength} characters`
  if (new Set(characters).size === 1) return 'must not be one character again and again'
  if (password.trim().normalize('NFC').toLowerCase() === email) return 'must not be the e-mail'
  return undefined
}
