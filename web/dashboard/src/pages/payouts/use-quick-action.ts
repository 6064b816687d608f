import { useQueryClient } from '@tanstack/react-query'
import { useCallback, useState } from 'react'
import type { TransferDetail } from '../../../../../src/http/dashboard/api'
import { useAction } from '../../api/use-action'
import { useText } from '../../app/texts'
import { notify } from '../../components/Toasts'
import { act, type DirectAction } from '../transfer/transfer-actions'
import { transferKeys } from '../transfer/use-transfer'

interface QuickStart {
  readonly action: DirectAction
  readonly transfer: TransferDetail
}

/** Claims or releases without a question. After a failure everything is fetched again, because another user may have been faster. */
export function useQuickAction(remember: (transfers: readonly TransferDetail[]) => void) {
  const text = useText()
  const refreshQueue = useRefreshQueue()
  const [action, setAction] = useState<DirectAction>()
  const submission = useAction({
    run: async ({ action, transfer }: QuickStart) => {
      setAction(action)
      try {
        remember([await act(action, transfer)])
      } catch (error) {
        refreshQueue(transfer.trackingId)
        throw error
      }
    },
    onSuccess: (_, { action, transfer }) =>
      notify(text(`transfer.done.${action}`, { reference: transfer.referenceId })),
  })
  return { ...submission, action }
}

/** Returns a function that fetches the queue again, and optionally one of its transfers. */
export function useRefreshQueue() {
  const client = useQueryClient()
  return useCallback(
    (trackingId?: string) => {
      void client.invalidateQueries({ queryKey: ['payout-queue'] })
      if (trackingId === undefined) return
      void client.invalidateQueries({ queryKey: transferKeys.detail(trackingId) })
      void client.invalidateQueries({ queryKey: transferKeys.history(trackingId) })
    },
    [client],
  )
}
