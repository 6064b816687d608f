import type {
  ApproveCorrectionAction,
  CompleteAction,
  CorrectAction,
  Kind,
  MessageAction,
  PayAgainAction,
  PayoutReturnedAction,
  PlainAction,
  ReasonAction,
  ReceiveAction,
  RefundAction,
  RefundDecision,
  ReturnAction,
  StoredReceipt,
  TransferAction,
  TransferDetail,
} from '../../../../../src/http/dashboard/api'
import { api } from '../../api/api-client'
import { fieldMinor, fieldText } from '../../components/form-data'

/** The actions that need no input. */
export type DirectAction = Extract<TransferAction, 'claim' | 'release'>
export type DialogAction = Exclude<TransferAction, DirectAction>

export function isDirect(action: TransferAction): action is DirectAction {
  return action === 'claim' || action === 'release'
}

/** Returns whether the action asks a question and needs no text, so that Enter can answer it. */
export function isQuestion(action: DialogAction): boolean {
  return questions.includes(action)
}
const questions: readonly DialogAction[] = [
  ...(['complete', 'approve', 'approve-correction', 'approve-refund', 'reject-refund'] as const),
]

/** Returns the refund that the viewer can approve, or the first one that waits for an approval. */
export function proposedRefund({ refunds }: TransferDetail) {
  return refunds.find(({ canApprove }) => canApprove) ?? refunds.find(({ state }) => state === 'proposed')
}

type ByKind = 'complete' | 'cancel'
type ActionVariant = Exclude<DialogAction, ByKind> | `${ByKind}.${Kind}`

/** Returns the name under which the texts of an action are found, which differ by kind for some. */
export function variantOf(action: DialogAction, kind: Kind): ActionVariant {
  return action === 'complete' || action === 'cancel' ? `${action}.${kind}` : action
}

type Body =
  | PlainAction
  | CompleteAction
  | ReceiveAction
  | CorrectAction
  | ApproveCorrectionAction
  | MessageAction
  | ReasonAction
  | ReturnAction
  | PayoutReturnedAction
  | RefundAction
  | RefundDecision
  | PayAgainAction

/** Carries out an action on the transfer that the user saw. The server rejects it if the transfer has changed since. */
export async function act(
  action: TransferAction,
  seen: TransferDetail,
  data = new FormData(),
): Promise<TransferDetail> {
  const body = await bodyOf(action, seen, data)
  return api.send<TransferDetail>('POST', `/transfers/${encodeURIComponent(seen.trackingId)}/${action}`, body)
}

async function bodyOf(action: TransferAction, seen: TransferDetail, data: FormData): Promise<Body> {
  const { revision } = seen
  switch (action) {
    case 'claim':
    case 'release':
    case 'approve':
      return { revision }
    case 'complete':
      return completionOf(data, revision)
    case 'receive':
      return receiptOf(data, revision)
    case 'correct':
      return correctionOf(data, revision)
    case 'approve-correction':
      return { revision, amountMinor: seen.proposedCorrection?.amountMinor ?? 0 }
    case 'cancel':
    case 'manual-control':
      return { revision, message: fieldText(data, 'message') }
    case 'return': {
      const receiptUrl = (await uploadReceipt(data)) ?? ''
      return { revision, amountMinor: fieldMinor(data, 'amountMinor') ?? 0, receiptUrl }
    }
    case 'payout-returned':
      return payoutReturnOf(data, revision)
    case 'refund': {
      const accountNumber = fieldText(data, 'accountNumber')
      const amountMinor = fieldMinor(data, 'amountMinor') ?? 0
      return { revision, amountMinor, ...(accountNumber !== '' && { accountNumber }) }
    }
    case 'pay-again':
      return {
        revision,
        amountMinor: fieldMinor(data, 'amountMinor') ?? 0,
        accountNumber: fieldText(data, 'accountNumber'),
      }
    case 'approve-refund':
    case 'reject-refund':
      return { revision, refundId: proposedRefund(seen)?.refundId ?? '' }
    case 'resolve':
    case 'reopen':
      return { revision, reason: fieldText(data, 'reason') }
  }
}

async function completionOf(data: FormData, revision: number): Promise<CompleteAction> {
  const amountMinor = fieldMinor(data, 'amountMinor')
  const confirmedAmountMinor = fieldMinor(data, 'confirmedAmountMinor')
  const receiptUrl = await uploadReceipt(data)
  const message = fieldText(data, 'message')
  const reason = fieldText(data, 'reason')
  return {
    revision,
    ...(amountMinor !== undefined && { amountMinor }),
    ...(confirmedAmountMinor !== undefined && { confirmedAmountMinor }),
    ...(receiptUrl !== undefined && { receiptUrl }),
    ...(message !== '' && { message }),
    ...(reason !== '' && { reason }),
  }
}

async function receiptOf(data: FormData, revision: number): Promise<ReceiveAction> {
  const confirmedAmountMinor = fieldMinor(data, 'confirmedAmountMinor')
  const receiptUrl = await uploadReceipt(data)
  return {
    revision,
    amountMinor: fieldMinor(data, 'amountMinor') ?? 0,
    reference: fieldText(data, 'reference'),
    ...(confirmedAmountMinor !== undefined && { confirmedAmountMinor }),
    ...(receiptUrl !== undefined && { receiptUrl }),
  }
}

async function payoutReturnOf(data: FormData, revision: number): Promise<PayoutReturnedAction> {
  const receiptUrl = await uploadReceipt(data)
  return {
    revision,
    amountMinor: fieldMinor(data, 'amountMinor') ?? 0,
    reasonCode: fieldText(data, 'reasonCode'),
    reference: fieldText(data, 'reference'),
    ...(receiptUrl !== undefined && { receiptUrl }),
  }
}

function correctionOf(data: FormData, revision: number): CorrectAction {
  const confirmedAmountMinor = fieldMinor(data, 'confirmedAmountMinor')
  const reference = fieldText(data, 'reference')
  return {
    revision,
    amountMinor: fieldMinor(data, 'amountMinor') ?? 0,
    reason: fieldText(data, 'reason'),
    ...(confirmedAmountMinor !== undefined && { confirmedAmountMinor }),
    ...(reference !== '' && { reference }),
  }
}

/** Returns the link to the receipt. A file is uploaded first; uploading the same file again has no effect. */
export async function uploadReceipt(data: FormData): Promise<string | undefined> {
  const file = data.get('receiptFile')
  if (!(file instanceof File) || file.size === 0) return fieldText(data, 'receiptUrl') || undefined
  return (await api.send<StoredReceipt>('POST', '/receipts', file)).receiptUrl
}
