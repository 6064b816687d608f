/** There is no usable key for the secrets in the log. */
export class MasterKeyError extends Error {
  override readonly name = 'MasterKeyError'
}
