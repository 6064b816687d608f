import { keepPreviousData, useQuery, useQueryClient } from '@tanstack/react-query'
import { useCallback, useMemo, useState } from 'react'
import type { PayoutTab } from '../../../../../src/domain/transfer/payout-queue'
import type { PayoutQueueResponse, TransferDetail, TransferRow } from '../../../../../src/http/dashboard/api'
import { api } from '../../api/api-client'
import { useLive } from '../../api/live-updates'
import { useThrottled } from '../../api/use-throttled'
import { transferKeys } from '../transfer/use-transfer'
import { withNewerRows } from '../transfers/live-rows'
import { withKnown } from './payout-queue'

/** The queue is fetched this often while withdrawals change, because only the server decides about its tabs and counts. */
const refetchMs = 2_000
/** The interval without live messages. */
const pollMs = 15_000
/** The number of the user's own results kept until the lists contain them. */
const maxKnown = 500

export function usePayoutQueue(merchantId: string | undefined, tab: PayoutTab) {
  const client = useQueryClient()
  const [known, setKnown] = useState<readonly TransferRow[]>([])
  const queryKey = useMemo(() => ['payout-queue', merchantId, tab], [merchantId, tab])
  const query = useQuery({
    queryKey,
    queryFn: ({ signal }) => api.get<PayoutQueueResponse>('/withdrawals/queue', { merchantId, tab }, signal),
    refetchInterval: pollMs,
    placeholderData: keepPreviousData,
  })
  const refetchSoon = useThrottled(() => void client.invalidateQueries({ queryKey: ['payout-queue'] }), refetchMs)
  useLive(merchantId, {
    onMessage({ transfers }) {
      const rows = transfers.filter(({ kind }) => kind === 'withdrawal')
      if (rows.length === 0) return
      client.setQueryData<PayoutQueueResponse>(queryKey, (answer) => {
        return answer && { ...answer, items: withNewerRows(answer.items, rows) }
      })
      setKnown((previous) => withNewerRows(previous, rows))
      for (const { trackingId } of rows) void client.invalidateQueries({ queryKey: transferKeys.detail(trackingId) })
      refetchSoon()
    },
    onLive: refetchSoon,
  })
  const answer = query.isPlaceholderData ? undefined : query.data
  const items = useMemo(() => withKnown(answer?.items ?? [], known), [answer, known])
  const remember = useCallback(
    (details: readonly TransferDetail[]) => {
      for (const detail of details) client.setQueryData(transferKeys.detail(detail.trackingId), detail)
      const ids = new Set(details.map(({ trackingId }) => trackingId))
      setKnown((previous) => [...previous.filter((row) => !ids.has(row.trackingId)), ...details].slice(-maxKnown))
      refetchSoon()
    },
    [client, refetchSoon],
  )
  return { query, answer, items, known, remember }
}
