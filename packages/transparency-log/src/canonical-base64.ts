/** Decodes canonical standard Base64. Returns `undefined` for any other text; Node's own decoder ignores invalid characters. */
export function fromBase64(text: string): Buffer | undefined {
  const bytes = Buffer.from(text, 'base64')
  return bytes.toString('base64') === text ? bytes : undefined
}
