import { api } from '../../api/api-client'
import type {
  CompleteAction,
  MessageAction,
  PlainAction,
  ReasonAction,
  ReturnAction,
  TransferAction,
  TransferDetail,
} from '../../api/contract'
import { completionOf, filled, filledMinor, receiptOf } from '../../api/settlement-form'

/** Done at once, as there is nothing to say. */
export type DirectAction = Extract<TransferAction, 'claim' | 'release'>
export type DialogAction = Exclude<TransferAction, DirectAction>

export function isDirect(action: TransferAction): action is DirectAction {
  return action === 'claim' || action === 'release'
}

type Body = PlainAction | CompleteAction | MessageAction | ReasonAction | ReturnAction

/** `seen`: what the user decided by. The server does nothing when it is another transfer by now. */
export async function act(
  action: TransferAction,
  seen: TransferDetail,
  data = new FormData(),
): Promise<TransferDetail> {
  const body = await bodyOf(action, seen, data)
  return api.send<TransferDetail>('POST', `/transfers/${encodeURIComponent(seen.trackingId)}/${action}`, body)
}

async function bodyOf(action: TransferAction, { revision }: TransferDetail, data: FormData): Promise<Body> {
  switch (action) {
    case 'claim':
    case 'release':
    case 'approve':
      return { revision }
    case 'complete':
      return completionOf(data, revision)
    case 'cancel':
    case 'manual-control':
      return { revision, message: filled(data, 'message') ?? '' }
    case 'return':
      return { revision, amountMinor: filledMinor(data, 'amountMinor') ?? 0, receiptUrl: (await receiptOf(data)) ?? '' }
    case 'resolve':
    case 'reopen':
      return { revision, reason: filled(data, 'reason') ?? '' }
  }
}
