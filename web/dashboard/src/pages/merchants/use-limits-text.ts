import { useText } from '../../app/texts'
import { useAmounts } from '../../components/use-amounts'
import type { Limit } from './withdrawal-limits'

/** Returns a function that writes limits as one text each. */
export function useLimitTexts(): (limits: readonly Limit[]) => readonly string[] {
  const text = useText()
  const { format } = useAmounts()
  return (limits) =>
    limits.map(({ per, hours, count, amountMinor }) => {
      const values = [
        ...(count === null ? [] : [text('merchants.limit.shownCount', { count })]),
        ...(amountMinor === null ? [] : [format(amountMinor)]),
      ]
      return text('merchants.limit.shown', { per, hours, values: values.join(', ') })
    })
}
