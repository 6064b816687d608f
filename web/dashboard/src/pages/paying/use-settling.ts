import { useQueryClient } from '@tanstack/react-query'
import { useCallback, useState } from 'react'
import { api } from '../../api/api-client'
import type { TransferDetail } from '../../api/contract'
import { useAction } from '../../api/use-action'
import { transferKey } from './use-payment-queue'

export type DirectAction = 'claim' | 'release' | 'approve'

export interface Direct {
  readonly action: DirectAction
  readonly transfer: TransferDetail
}

/** What is done at once, without a dialog. Whatever fails may mean that another was faster: all is fetched again. */
export function useSettling(remember: (transfers: readonly TransferDetail[]) => void, done: (direct: Direct) => void) {
  const refetch = useRefetch()
  const [started, setStarted] = useState<DirectAction>()
  const action = useAction({
    run: async (direct: Direct) => {
      const { action, transfer } = direct
      setStarted(action)
      const path = `/transfers/${transfer.trackingId}/${action}`
      try {
        remember([await api.send<TransferDetail>('POST', path, { revision: transfer.revision })])
      } catch (error) {
        refetch(transfer.trackingId)
        throw error
      }
      return direct
    },
    done,
  })
  return { ...action, started }
}

export function useRefetch() {
  const client = useQueryClient()
  return useCallback(
    (trackingId?: string) => {
      void client.invalidateQueries({ queryKey: ['paying'] })
      if (trackingId !== undefined) void client.invalidateQueries({ queryKey: transferKey(trackingId) })
    },
    [client],
  )
}
