import fc from 'fast-check'
import t from 'tap'
import { importFile } from '../../src/bank/import-path.js'
import { BankFileError } from '../../src/bank-formats/bank-file-error.js'
import { sepaText } from '../../src/domain/sepa-text.js'
import { camt053, mt940, ntry } from '../bank-formats/bank-files.js'
import { long } from '../support/long.js'
import { bankWorld, bankContext as context } from './bank-world.js'

t.test('a damaged file is rejected or read, and never matches a transfer that it does not name', async (t) => {
  const world = await bankWorld(t)
  const withdrawals = [await world.withdrawal('W-1', 10_00n), await world.withdrawal('W-2', 20_00n)]
  await world.deposit('ORDER-77812', 10_00n)
  await world.deposit('ORDER-77813', 20_00n)
  await world.caughtUp(['transfers'])
  const [id, other] = withdrawals.map((each) => each.replaceAll('-', '')) as [string, string]
  const details = (elements: string) => `<NtryDtls><TxDtls>${elements}</TxDtls></NtryDtls>`
  const camt = camt053(
    [
      ntry({
        CdtDbtInd: '<CdtDbtInd>DBIT</CdtDbtInd>',
        NtryDtls: details(`<Refs><EndToEndId>${id}</EndToEndId></Refs>`),
      }),
      ntry({ NtryDtls: details('<RmtInf><Ustrd>ORDER-77812</Ustrd></RmtInf>') }),
    ].join('\n'),
  )
  const entry = (mark: string, amount: string, text: string) =>
    `:61:2603020302${mark}${amount}NTRFNONREF//B1\r\n:86:166?20${text}`
  const mt = mt940(entry('C', '20,', 'ORDER-77813'), entry('D', '20,', `EREF+${other}`))
  const change = fc.record({ at: fc.nat(), byte: fc.integer({ min: 0, max: 255 }), length: fc.nat(3) })
  const damaged = fc.tuple(fc.constantFrom(camt, mt), fc.array(change, { minLength: 1, maxLength: 4 }))
  const seen = { rejected: 0, certain: 0 }
  await fc.assert(
    fc.asyncProperty(damaged, async ([text, changes]) => {
      let bytes = Buffer.from(text)
      for (const { at, byte, length } of changes) {
        const from = at % bytes.length
        bytes = Buffer.concat([bytes.subarray(0, from), Buffer.from([byte]), bytes.subarray(from + length)])
      }
      const chunks = async function* () {
        yield bytes
      }
      const request = { mode: 'preview', merchantIds: null } as const
      const result = await importFile(world.sources, { bytes: chunks }, request, context).catch((error: unknown) => {
        if (error instanceof BankFileError) return undefined
        throw error
      })
      if (!result?.accepted) {
        seen.rejected++
        return
      }
      // Letters such as Ö are the same as their basic letters.
      const letters = new TextDecoder('windows-1252').decode(bytes) + bytes.toString()
      const plain = (sepaText(letters, letters.length * 4) ?? '').toUpperCase().replaceAll(/[^A-Z0-9]/g, '')
      for (const { found, proposals } of result.payments) {
        for (const { isCertain, transfer } of proposals) {
          if (!isCertain) continue
          seen.certain++
          const names = [transfer.trackingId, transfer.referenceId].map((each) =>
            each.replaceAll('-', '').toUpperCase(),
          )
          if (!names.some((each) => plain.includes(each))) t.fail('a certain transfer is named in the file')
          const { paidAmountMinor } = found.payment
          if (transfer.kind === 'withdrawal') t.equal(paidAmountMinor, transfer.amountMinor)
          else t.ok(paidAmountMinor <= transfer.amountMinor)
        }
      }
    }),
    { numRuns: long ? 10_000 : 300, ...(!long && { seed: 42 }) },
  )
  for (const [what, count] of Object.entries(seen)) t.ok(count > 0, what)
})
