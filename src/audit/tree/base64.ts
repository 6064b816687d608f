/** Standard Base64 in its one canonical form; undefined for anything else. Node's own decoder passes over what is none. */
export function fromBase64(text: string): Buffer | undefined {
  const bytes = Buffer.from(text, 'base64')
  return bytes.toString('base64') === text ? bytes : undefined
}
