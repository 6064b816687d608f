import { useQueries } from '@tanstack/react-query'
import type { AuditStateResponse, AuditStoryItem } from '../../../../../src/http/dashboard/audit/audit-api'
import { api } from '../../api/api-client'
import { type ChangedField, changedFields } from './changed-fields'

/** The limit of states that are requested. Earlier events of a longer history show their own fields only. */
const maxStates = 40

/** Returns what each event changed, by its position. The server computes the states from the log. */
export function useChanges(id: string, items: readonly AuditStoryItem[]): ReadonlyMap<string, readonly ChangedField[]> {
  const own = items.filter(({ source }) => source === 'transfer').slice(-maxStates)
  return useQueries({
    queries: own.map(({ position }) => {
      const search = { of: 'transfer', id, at: position }
      return {
        queryKey: ['audit-state', search],
        queryFn: ({ signal }: { readonly signal: AbortSignal }) =>
          api.get<AuditStateResponse>('/audit/state', search, signal),
        staleTime: Number.POSITIVE_INFINITY,
      }
    }),
    combine: (results) =>
      new Map(
        results.flatMap(({ data }, index) => {
          const before = index === 0 ? undefined : results[index - 1]!.data
          if (!data?.state || (index > 0 && !before)) return []
          return [[own[index]!.position, changedFields(before?.state ?? undefined, data.state)] as const]
        }),
      ),
  })
}
