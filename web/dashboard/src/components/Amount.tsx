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

export function Amount({ minor, tone, plain = false }: AmountProps) {
  const { format, formatPlain } = useAmounts()
  return <span className={tone ? `Amount Amount-${tone}` : 'Amount'}>{plain ? formatPlain(minor) : format(minor)}</span>
}
