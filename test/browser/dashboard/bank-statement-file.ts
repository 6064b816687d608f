import { camt053, ntry } from '../../bank-formats/bank-files.js'

export interface StatedEntry {
  readonly amount: string
  readonly direction: 'CRDT' | 'DBIT'
  readonly name?: string
  readonly text?: string
  readonly endToEndId?: string
  /** The account of the other party. */
  readonly account?: string
  readonly reference?: string
  readonly date?: string
}

/** Returns a camt.053 of the account with booked entries, whose closing balance is right. */
export function statementFile(entries: readonly StatedEntry[], openingMinor = 1_000_000_00): string {
  const sum = entries.reduce((all, { amount, direction }) => all + (direction === 'CRDT' ? 1 : -1) * minor(amount), 0)
  const balance = (code: string, amountMinor: number) =>
    `<Bal><Tp><CdOrPrtry><Cd>${code}</Cd></CdOrPrtry></Tp><Amt Ccy="EUR">${(amountMinor / 100).toFixed(2)}</Amt>` +
    '<CdtDbtInd>CRDT</CdtDbtInd><Dt><Dt>2026-03-02</Dt></Dt></Bal>'
  const balances = balance('OPBD', openingMinor) + balance('CLBD', openingMinor + sum)
  return camt053(entries.map(entryOf).join('\n'), balances)
}

const minor = (amount: string) => Math.round(Number(amount) * 100)

function entryOf({ amount, direction, name, text, endToEndId, account, reference, date = '2026-03-02' }: StatedEntry) {
  const [party, holder] = direction === 'CRDT' ? ['Dbtr', 'DbtrAcct'] : ['Cdtr', 'CdtrAcct']
  const parties = [
    name === undefined ? '' : `<${party}><Pty><Nm>${name}</Nm></Pty></${party}>`,
    account === undefined ? '' : `<${holder}><Id><IBAN>${account}</IBAN></Id></${holder}>`,
  ].join('')
  const details = [
    `<Refs>${endToEndId === undefined ? '' : `<EndToEndId>${endToEndId}</EndToEndId>`}</Refs>`,
    `<RltdPties>${parties}</RltdPties>`,
    text === undefined ? '' : `<RmtInf><Ustrd>${text}</Ustrd></RmtInf>`,
  ].join('')
  return ntry({
    Amt: `<Amt Ccy="EUR">${amount}</Amt>`,
    CdtDbtInd: `<CdtDbtInd>${direction}</CdtDbtInd>`,
    BookgDt: `<BookgDt><Dt>${date}</Dt></BookgDt>`,
    ...(reference !== undefined && { AcctSvcrRef: `<AcctSvcrRef>${reference}</AcctSvcrRef>` }),
    NtryDtls: `<NtryDtls><TxDtls>${details}</TxDtls></NtryDtls>`,
  })
}
