import { useAmounts } from './use-amounts'
import './Amount.css'

interface AmountProps {
  /** Whole minor units of the service's currency. */
  readonly minor: number | bigint
  /** `differs`: the amount differs from the requested one. */
  readonly tone?: 'differs' | undefined
  /** Omits the currency, for tables whose heading states it. */
  readonly plain?: boolean
}

/** Shows the currency and the decimals in a softer colour. */
export function Amount({ minor, tone, plain = false }: AmountProps) {
  const { parts } = useAmounts()
  return (
    <span className={tone ? `Amount Amount-${tone}` : 'Amount'}>
      {parts(minor, plain).map(({ type, value }) =>
        type === 'main' ? (
          value
        ) : (
          <span key={type} className={`Amount-${type}`}>
            {value}
          </span>
        ),
      )}
    </span>
  )
}
