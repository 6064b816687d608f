/** Fours are read and compared without losing one's place; what is copied has no gaps. */
export function inFours(account: string): readonly string[] {
  return account.replace(/\s/g, '').match(/.{1,4}/gu) ?? []
}
