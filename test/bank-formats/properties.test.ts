import { readdirSync } from 'node:fs'
import { performance } from 'node:perf_hooks'
import fc from 'fast-check'
import t from 'tap'
import { BankFileError } from '../../src/bank-formats/bank-file-error.js'
import { proposeCsvMapping } from '../../src/bank-formats/propose-csv-mapping.js'
import { readBankFile } from '../../src/bank-formats/read-bank-file.js'
import type { BankRecord, CsvMapping } from '../../src/domain/bank/bank-records.js'
import { long } from '../support/long.js'
import { fixture } from './bank-files.js'

t.setTimeout(600_000)

const files = readdirSync('test/fixtures/bank')
  .filter((name) => name !== 'README.md')
  .map((name) => {
    const bytes = fixture(name)
    const csv = name.endsWith('.csv') ? { currency: 'EUR', ...proposeCsvMapping(bytes)! } : undefined
    return { name, bytes, csv }
  })
const seed = long ? {} : { seed: 54 }

/** Returns the records before the end or a problem, and the rule of the problem. */
async function read(bytes: Buffer, csv: CsvMapping | undefined, cuts: readonly number[]) {
  const records: BankRecord[] = []
  async function* pieces() {
    const ends = [...cuts.map((cut) => cut % (bytes.length + 1)), bytes.length].sort((a, b) => a - b)
    for (const [index, end] of ends.entries()) yield bytes.subarray(ends[index - 1] ?? 0, end)
  }
  try {
    for await (const record of readBankFile(pieces(), csv === undefined ? {} : { csv })) records.push(record)
    return { records, rule: undefined }
  } catch (error) {
    if (!(error instanceof BankFileError)) throw error
    return { records, rule: error.violation.rule }
  }
}

/** A changed range of bytes: removed, repeated, or replaced by others. */
const change = fc.record({
  at: fc.nat(),
  length: fc.nat({ max: 40 }),
  by: fc.oneof(
    fc.uint8Array({ maxLength: 8 }),
    fc
      .constantFrom(
        '<',
        '>',
        '</',
        '&',
        '"',
        ':61:',
        ':86:',
        '\n',
        '-',
        ',',
        '.',
        '?20',
        '//',
        '<Ntry>',
        ']]>',
        '\u0000',
      )
      .map((text) => Buffer.from(text)),
  ),
  repeats: fc.nat({ max: 3 }),
})

function changed(
  bytes: Buffer,
  changes: readonly (typeof change extends fc.Arbitrary<infer Each> ? Each : never)[],
): Buffer {
  return changes.reduce((result, { at, length, by, repeats }) => {
    const from = at % (result.length + 1)
    const range = result.subarray(from, from + length)
    return Buffer.concat([result.subarray(0, from), ...Array(repeats).fill(range), by, result.subarray(from + length)])
  }, bytes)
}

const mutated = fc
  .tuple(fc.constantFrom(...files), fc.array(change, { minLength: 1, maxLength: 3 }))
  .map(([{ csv, bytes }, changes]) => ({ csv, bytes: changed(bytes, changes) }))
const cuts = fc.array(fc.nat({ max: 20_000 }), { maxLength: 20 })

t.test('the pieces in which a file arrives change nothing', async (t) => {
  for (const { name, bytes, csv } of files) {
    const everyByte = Array.from({ length: bytes.length }, (_, index) => index)
    t.same(await read(bytes, csv, everyByte), await read(bytes, csv, []), name)
  }
  const property = fc.asyncProperty(mutated, cuts, async ({ bytes, csv }, where) => {
    const [cut, whole] = [await read(bytes, csv, where), await read(bytes, csv, [])]
    // A piece with a problem states no records, so larger pieces can end earlier.
    const common = Math.min(cut.records.length, whole.records.length)
    if (cut.rule === undefined || whole.rule === undefined) t.same(cut, whole)
    else t.same(cut.records.slice(0, common), whole.records.slice(0, common))
  })
  await fc.assert(property, { numRuns: long ? 1_000 : 100, ...seed })
})

t.test('a damaged file ends in records or in a problem, in bounded time', async (t) => {
  let problems = 0
  const property = fc.asyncProperty(mutated, async ({ bytes, csv }) => {
    const startMs = performance.now()
    const { rule, records } = await read(bytes, csv, [])
    if (rule !== undefined) problems += 1
    for (const record of records)
      if (record.type === 'entry' && record.amountMinor < 0n) throw new Error('a negative amount')
    if (performance.now() - startMs > 5_000) throw new Error('too slow')
  })
  const numRuns = long ? 10_000 : 300
  await fc.assert(property, { numRuns, ...seed })
  t.ok(problems > numRuns / 10, `${problems} problems`)
  t.ok(problems < numRuns, `${problems} problems`)
})

t.test('proposing a mapping never throws', async () => {
  const property = fc.property(mutated, ({ bytes }) => {
    proposeCsvMapping(bytes)
  })
  fc.assert(property, { numRuns: long ? 2_000 : 100, ...seed })
})
