import { useQueries } from '@tanstack/react-query'
import { useRouter } from '@tanstack/react-router'
import { useState } from 'react'
import type { Kind, TransfersSum } from '../../../../../src/http/dashboard/api'
import { api } from '../../api/api-client'
import { useMerchant } from '../../app/merchant-names'
import { preference, setPreference } from '../../app/preferences'
import { useText } from '../../app/texts'
import { lastDays } from '../../components/local-days'
import type { View } from '../../components/Views'
import { filtersIn, isFiltered, noFilters, type TransfersSearch, transfersSearch } from './list-search'

interface SavedView {
  readonly id: string
  readonly label: string
  readonly search: TransfersSearch
}

/** Returns the views of everyone. The first one is the whole list. */
function useCommonViews(): readonly SavedView[] {
  const text = useText()
  return [
    { id: 'all', label: text('transfers.view.all'), search: {} },
    { id: 'today', label: text('common.today'), search: lastDays(1) },
    { id: 'pending', label: text('common.status.Pending'), search: { status: 'Pending' } },
    { id: 'manual', label: text('common.status.ManualControl'), search: { status: 'ManualControl' } },
    { id: 'attention', label: text('transfer.attention'), search: { attention: 'open' } },
  ]
}

/** Reads the views that this browser has stored. Anything else in its storage is ignored. */
function storedViews(name: string): readonly SavedView[] {
  try {
    const stored: unknown = JSON.parse(preference(name) ?? '[]')
    return Array.isArray(stored)
      ? stored.map(({ id, label, search }) => ({
          id: String(id),
          label: String(label),
          search: transfersSearch(search),
        }))
      : []
  } catch {
    return []
  }
}

const sameFilters = (a: TransfersSearch, b: TransfersSearch) =>
  JSON.stringify(filtersIn(a)) === JSON.stringify(filtersIn(b))

/** Returns the views of a list with the number of their transfers, and functions that change the user's own. */
export function useTransferViews(kind: Kind, search: TransfersSearch, onSearch: (changes: TransfersSearch) => void) {
  const router = useRouter()
  const merchantId = useMerchant()
  const name = `views.${kind}`
  const [own, setOwn] = useState(() => storedViews(name))
  const common = useCommonViews()
  const all = [...common, ...own]
  const counts = useQueries({
    queries: all.map(({ search: filters }) => transfersSumQuery({ ...filters, kind, merchantId }, isFiltered(filters))),
  })
  const keep = (next: readonly SavedView[]) => {
    setPreference(name, JSON.stringify(next))
    setOwn(next)
  }
  const current = all.find((view) => sameFilters(view.search, search))
  const views: readonly View[] = all.map((view, index) => ({
    id: view.id,
    label: view.label,
    href: router.buildLocation({ to: kind === 'deposit' ? '/deposits' : '/withdrawals', search: view.search }).href,
    isCurrent: view === current,
    count: counts[index]?.data?.count,
    isOwn: own.includes(view),
  }))
  return {
    views,
    open: (id: string) => onSearch({ ...noFilters, sort: undefined, ...all.find((view) => view.id === id)?.search }),
    save: current
      ? undefined
      : (label: string) => keep([...own, { id: `own-${Date.now()}`, label, search: filtersIn(search) }]),
    remove: (id: string) => keep(own.filter((view) => view.id !== id)),
  }
}

const staleMs = 15_000

/** Fetches the number and the sum of a list's transfers. */
export function transfersSumQuery(
  question: TransfersSearch & { kind: Kind; merchantId: string | undefined },
  enabled = true,
) {
  const { sort: _, ...filters } = question
  return {
    queryKey: ['transfers-sum', filters],
    queryFn: ({ signal }: { readonly signal: AbortSignal }) => api.get<TransfersSum>('/transfers/sum', filters, signal),
    staleTime: staleMs,
    refetchInterval: staleMs,
    enabled,
  }
}
