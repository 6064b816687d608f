import { useAmounts } from './use-amounts'
import './Amount.css'

interface AmountProps {
  /** Whole minor units of the service's currency. */
  readonly minor: number | bigint
  /** `differs`: not what was asked for. */
  readonly tone?: 'differs' | undefined
  /** Without the currency, where a heading names it. */
  readonly plain?: boolean
}

export function Amount({ minor, tone, plain = false }: AmountProps) {
  const { format, formatPlain } = useAmounts()
  return <span className={tone ? `Amount Amount-${tone}` : 'Amount'}>{plain ? formatPlain(minor) : format(minor)}</span>
}
