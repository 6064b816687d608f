/** Splits an account number into groups of four characters, which are easier to read and compare. */
export function inFours(account: string): readonly string[] {
  return account.replace(/\s/g, '').match(/.{1,4}/gu) ?? []
}
