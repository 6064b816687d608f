import { readFile } from 'node:fs/promises'
import { promisify } from 'node:util'
import { brotliDecompress } from 'node:zlib'
import { loadOnce } from '../kernel/load-once.js'

/**
 * Returns whether a password is on a list of 49,000 common ones (NIST SP 800-63B), in any case. Most of them are shorter than the service
 * requires, so one that is lengthened with digits or signs at its ends, or repeated, is common too: `Password2026!`, `qwertyqwerty`.
 */
export async function isCommonPassword(password: string): Promise<boolean> {
  const list = await loadList()
  const folded = password.normalize('NFKC').toLowerCase()
  const withoutEnds = folded.replace(/^\P{L}+|\P{L}+$/gu, '')
  return [folded, withoutEnds].some((text) => list.has(text) || list.has(text.replace(/^(.+?)\1+$/su, '$1')))
}

/**
 * The build writes the list in lower case (scripts/bundle.js). Each line starts with the number of characters that it shares with the previous
 * one, in base 36. It is loaded on first use, because few processes ever set a password: 4 MB in memory.
 */
const loadList = loadOnce(async (): Promise<ReadonlySet<string>> => {
  const file = await readFile(new URL(import.meta.resolve('#data/common-passwords.br')))
  const text = await promisify(brotliDecompress)(file)
  let previous = ''
  const passwords = text
    .toString()
    .split('\n')
    .map((line) => {
      previous = previous.slice(0, Number.parseInt(line.charAt(0), 36)) + line.slice(1)
      return previous
    })
  return new Set(passwords)
})
