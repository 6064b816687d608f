import {
  receiptUrlProblem,
  referenceProblem,
  returnReasonProblem,
  settlementAmountProblem,
  settlementTextProblem,
} from '../commands/transfer/transfer-requests.js'
import type { Currency } from '../domain/money.js'
import type { Violation } from '../domain/rules.js'
import type { ReturnReason } from '../domain/transfer/return-reasons.js'
import { hasReceipt } from '../read-models/receipts.js'
import { uploadedReceipt } from '../security/receipt-names.js'
import { invalid, invalidFields } from './refusals.js'
import type { HttpServices } from './services.js'

type Texts = { readonly [field in 'receiptUrl' | 'message' | 'reason']?: string | undefined }

/** Checks the texts of a settlement. @throws RequestError that names the field */
export function checkTexts({ receiptUrl, message, reason }: Texts): void {
  checkText('message', message)
  checkText('reason', reason)
  check('receiptUrl', receiptUrl, receiptUrlProblem)
}

/** @throws RequestError that names the field */
export function checkText(field: string, text: string | undefined): void {
  check(field, text, settlementTextProblem)
}

/** @throws RequestError */
export function checkReference(reference: string | undefined): void {
  check('reference', reference, referenceProblem)
}

/** @throws RequestError */
export function checkedReturnReason(reasonCode: string): ReturnReason {
  check('reasonCode', reasonCode, returnReasonProblem)
  return reasonCode as ReturnReason
}

/** Checks that an address of this service is that of a stored receipt, and no other address imitates one. @throws RequestError */
export async function checkReceipt(
  { secretBox, publicUrl, readModels }: Pick<HttpServices, 'secretBox' | 'publicUrl' | 'readModels'>,
  receiptUrl: string | undefined,
): Promise<void> {
  const sha256 = receiptUrl === undefined ? undefined : uploadedReceipt(secretBox, publicUrl, receiptUrl)
  if (sha256 === undefined || (sha256 !== 'invalid' && (await hasReceipt(readModels, sha256)))) return
  throw invalid('receiptUrl', 'receipt-unknown')
}

/** Returns an amount that the currency can represent. @throws RequestError that names the field */
export function checkedAmount<Amount extends bigint | undefined>(
  field: string,
  amountMinor: Amount,
  currency: Currency,
): Amount {
  check(field, amountMinor, (amount) => settlementAmountProblem(currency, amount))
  return amountMinor
}

function check<Value>(
  field: string,
  value: Value,
  problemOf: (value: NonNullable<Value>) => Violation | undefined,
): void {
  const problem = value === undefined || value === null ? undefined : problemOf(value)
  if (problem) throw invalidFields([{ field, ...problem }])
}
