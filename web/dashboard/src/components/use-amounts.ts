import { useMemo } from 'react'
import { useIntl } from 'react-intl'
import { useSession } from '../app/current-session'
import { amountsIn } from './amount-format'

/** Returns functions that format and parse amounts in the service's currency and the viewer's locale. */
export function useAmounts() {
  const { locale } = useIntl()
  const { currency } = useSession()
  return useMemo(() => amountsIn(locale, currency), [locale, currency])
}
