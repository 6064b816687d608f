import type { BankRecord, PaymentStatus } from '../domain/bank/bank-records.js'
import { fail } from './bank-file-error.js'
import { referenceOrNull } from './values.js'
import { allAt, type MessagePart, textAt, type XmlElement } from './xml-message.js'

/** The codes of ISO 20022 for the status of a group, of payments and of a payment (ExternalPaymentTransactionStatus1Code and others). */
const statuses: { readonly [code: string]: PaymentStatus['status'] } = {
  ...{ RJCT: 'rejected', CANC: 'rejected' },
  ...{ ACTC: 'accepted', ACCP: 'accepted', ACSP: 'accepted', ACSC: 'accepted', ACCC: 'accepted', ACFC: 'accepted' },
  ...{ ACWC: 'accepted', ACWP: 'accepted', PART: 'accepted' },
  ...{ PDNG: 'pending', RCVD: 'pending', PATC: 'pending', ACPD: 'pending', ACIS: 'pending', PRES: 'pending' },
  ...{ BLCK: 'pending', CPUC: 'pending' },
}

/** Returns the statuses of pain.002, in version 03 and later: of the file, of its groups of payments, and of payments. */
export async function* painStatuses(parts: AsyncIterable<MessagePart>): AsyncGenerator<BankRecord> {
  let messageId: string | null = null
  let level: Level | undefined
  for await (const each of parts) {
    // Version 02 has the payments next to the group.
    if (each.type === 'start' && each.part === 'TxInfAndSts') fail('bank-file-unrecognised')
    if (each.type === 'start') level = undefined
    if (each.type === 'child' && each.part === 'OrgnlGrpInfAndSts') {
      if (each.element.name === 'OrgnlMsgId') messageId = referenceOrNull(each.element.text)
      level = withChild(level, each.element, 'GrpSts')
    }
    if (each.type === 'child' && each.part === 'OrgnlPmtInfAndSts') {
      if (each.element.name === 'TxInfAndSts') {
        yield* statusesOf(level, messageId)
        const groupId: string | null = level?.groupId ?? null
        level = { reasons: [], groupId, code: null }
        yield transactionStatus(each.element, messageId ?? groupId)
      } else level = withChild(level, each.element, 'PmtInfSts')
    }
    if (each.type === 'end') yield* statusesOf(level, messageId)
  }
}

/** The status of a file or of a group of its payments, as far as it was read. */
interface Level {
  readonly code: { readonly text: string; readonly place: string } | null
  readonly groupId: string | null
  readonly reasons: readonly XmlElement[]
}

function withChild(level: Level | undefined, { name, text, place, ...rest }: XmlElement, status: string): Level {
  const { code, groupId, reasons } = level ?? { code: null, groupId: null, reasons: [] }
  return {
    code: name === status ? { text: text.trim(), place } : code,
    groupId: name === 'OrgnlPmtInfId' ? referenceOrNull(text) : groupId,
    reasons: name === 'StsRsnInf' && reasons.length < 100 ? [...reasons, { name, text, place, ...rest }] : reasons,
  }
}

function* statusesOf(level: Level | undefined, messageId: string | null): Generator<PaymentStatus> {
  if (level?.code == null) return
  const { text, place } = level.code
  yield {
    type: 'status',
    fileId: messageId ?? level.groupId,
    endToEndId: null,
    ...codeOf(text, place),
    ...reasonOf(level.reasons),
  }
}

function transactionStatus(element: XmlElement, fileId: string | null): PaymentStatus {
  const code = textAt(element, 'TxSts') ?? fail('bank-value-missing', { name: 'TxSts', place: element.place })
  return {
    ...{ type: 'status', fileId },
    // Null would concern every payment of the file.
    endToEndId: textAt(element, 'OrgnlEndToEndId') ?? 'NOTPROVIDED',
    ...codeOf(code, element.place),
    ...reasonOf(allAt(element, 'StsRsnInf')),
  }
}

function codeOf(statusCode: string, place: string) {
  const status = Object.hasOwn(statuses, statusCode) ? statuses[statusCode] : undefined
  return { status: status ?? fail('bank-value-unknown', { name: 'Sts', place }), statusCode }
}

function reasonOf(reasons: readonly XmlElement[]) {
  const [code = null] = reasons.flatMap((reason) => textAt(reason, 'Rsn/Cd', 'Rsn/Prtry') ?? [])
  const texts = reasons.flatMap((reason) => allAt(reason, 'AddtlInf')).map(({ text }) => text.trim())
  return { reasonCode: code, reasonText: texts.filter((text) => text !== '').join(' ') || null }
}
