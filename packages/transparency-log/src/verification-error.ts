/** A note, checkpoint, tile or proof is missing, malformed or invalid. The message names the problem and its place. */
export class VerificationError extends Error {
  override readonly name = 'VerificationError'
}
