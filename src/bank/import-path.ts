import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { proposeCsvMapping } from '../bank-formats/propose-csv-mapping.js'
import { readBankFile } from '../bank-formats/read-bank-file.js'
import type { CommandContext } from '../commands/handle-command.js'
import { bankAccountId } from '../domain/bank/bank-account.js'
import type { CsvMapping } from '../domain/bank/bank-records.js'
import { type BankSources, type FileRequest, type FileResult, importBankFile } from './bank-statements.js'

/** A file whose bytes can be read several times. */
export interface BankFile {
  readonly bytes: () => AsyncIterable<Uint8Array>
}

export type PathRequest = Omit<FileRequest, 'records' | 'sha256'> & {
  /** How the columns of a CSV file are read. By default, as for the last file of the account, or as the file itself suggests. */
  readonly csv?: CsvMapping | undefined
}

export const fileAt = (path: string): BankFile => ({ bytes: () => createReadStream(path) })

/** Imports a file as {@link importBankFile} does. @throws BankFileError, and the errors of reading the file */
export async function importFile(
  sources: BankSources,
  { bytes }: BankFile,
  { csv: given, ...request }: PathRequest,
  context: CommandContext,
): Promise<FileResult> {
  const accountId = request.account === undefined ? undefined : bankAccountId(request.account)
  const known = accountId === undefined ? undefined : (await sources.bank.account(accountId)).csv
  const { sha256, start } = await digestOf(bytes())
  const csv = given ?? known ?? proposeCsvMapping(start)
  // Exports of one account often state no currency.
  const records = readBankFile(bytes(), csv ? { csv: { currency: sources.currency, ...csv } } : {})
  const result = await importBankFile(sources, { ...request, records, sha256 }, context)
  if (result.accepted && given && accountId !== undefined && request.mode !== 'preview')
    await sources.bank.mapCsv(accountId, given, context)
  return result
}

const startSize = 64 * 1024

async function digestOf(bytes: AsyncIterable<Uint8Array>) {
  const digest = createHash('sha256')
  const first: Uint8Array[] = []
  let size = 0
  for await (const chunk of bytes) {
    digest.update(chunk)
    if (size < startSize) first.push(chunk)
    size += chunk.length
  }
  return { sha256: digest.digest('hex'), start: Buffer.concat(first).subarray(0, startSize) }
}
