import { useMemo } from 'react'
import { useIntl } from 'react-intl'
import { useSession } from '../app/current-session'
import { amountsIn } from './amount-format'

/** How this viewer writes amounts of the service's currency. */
export function useAmounts() {
  const { locale } = useIntl()
  const { currency } = useSession()
  return useMemo(() => amountsIn(locale, currency), [locale, currency])
}
