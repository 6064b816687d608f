/** Splits an account number into groups of four characters, which are easier to read and compare. */
export function inFours(account: string): readonly string[] {
  return account.replace(/\s/g, '').match(/.{1,4}/gu) ?? []
}

/** Shortens an account number to its first four and last six characters, which tell accounts in a list apart. */
export function shortAccount(account: string): string {
  const plain = account.replace(/\s/g, '')
  if (plain.length < 14) return inFours(plain).join(' ')
  return `${plain.slice(0, 4)} •••• ${plain.slice(-6, -2)} ${plain.slice(-2)}`
}
