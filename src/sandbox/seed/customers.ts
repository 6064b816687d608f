import type { Dice } from './dice.js'

/** A fictitious customer. The account number has the form of an IBAN at a fictitious bank. */
export interface MadeUpCustomer {
  readonly userId: string
  readonly name: string
  readonly username: string
  readonly accountNumber: string
}

const firstNames = [
  ...['Ada', 'Ahmet', 'Alice', 'Ayşe', 'Bob', 'Can', 'Çağla', 'Deniz', 'Elif', 'Emre', 'Grace', 'Gül', 'İbrahim'],
  ...['Jale', 'Kerem', 'Leyla', 'Linus', 'Mehmet', 'Nur', 'Oğuz', 'Özlem', 'Petra', 'Selin', 'Şule', 'Umut', 'Zeynep'],
]
const lastNames = [
  ...['Aydın', 'Çelik', 'Demir', 'Doğan', 'Example', 'Kaya', 'Kılıç', 'Koç', 'Öztürk', 'Placeholder', 'Sample'],
  ...['Şahin', 'Testowski', 'Yıldız', 'Yılmaz'],
]
const customerCount = 80

export function madeUpCustomers(dice: Dice): readonly MadeUpCustomer[] {
  return Array.from({ length: customerCount }, (_, n) => {
    const name = `${dice.oneOf(firstNames)} ${dice.oneOf(lastNames)}`
    const username = name
      .normalize('NFD')
      .replaceAll('ı', 'i')
      .replace(/[^A-Za-z]/g, '')
      .toLowerCase()
    const digits = Array.from({ length: 17 }, () => dice.between(0, 9)).join('')
    return {
      userId: `made-up-${n + 1}`,
      name,
      username: `${username}${n + 1}`,
      accountNumber: iban('TR', `00000${digits}`),
    }
  })
}

/** Returns the IBAN with its check digits (ISO 13616): 98 minus the remainder, modulo 97, of account, country as digits, and 00. */
function iban(country: string, account: string): string {
  const letters = [...country].map((letter) => letter.charCodeAt(0) - 55).join('')
  const check = 98n - (BigInt(`${account}${letters}00`) % 97n)
  return `${country}${String(check).padStart(2, '0')}${account}`
}
