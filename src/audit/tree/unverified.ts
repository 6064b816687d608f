/** A note, checkpoint, tile or proof is malformed, or does not say what it should. The message says what and where. */
export class Unverified extends Error {
  override readonly name = 'Unverified'
}
