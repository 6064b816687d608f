import { useCallback } from 'react'
import type { TransferRow } from '../../../../src/http/dashboard/api'
import { useKnownText } from '../app/texts'
import { useAmounts } from './use-amounts'

type ExceededLimit = TransferRow['exceeded'][number]
type KnownText = ReturnType<typeof useKnownText>

/** Returns by how much a payout is beyond its limits, such as `5 withdrawals to this account in 24 hours, limit 4`. */
export function exceededText(
  exceeded: readonly ExceededLimit[],
  known: KnownText,
  format: (minor: number) => string,
): string {
  const texts = exceeded.flatMap(({ per, hours, count, amountMinor, actualCount, actualMinor }) => {
    const period = { per, hours, count: actualCount }
    return [
      count !== null && actualCount > count ? known('errors.limitCount', { ...period, limit: count }) : undefined,
      amountMinor !== null && actualMinor > amountMinor
        ? known('errors.limitAmount', { ...period, amount: format(actualMinor), limit: format(amountMinor) })
        : undefined,
    ]
  })
  return texts.filter((each) => each !== undefined).join('; ')
}

export function useExceededText(): (exceeded: readonly ExceededLimit[]) => string {
  const known = useKnownText()
  const { format } = useAmounts()
  return useCallback((exceeded) => exceededText(exceeded, known, format), [known, format])
}
