import { ArrowDownToLine, ArrowUpFromLine } from 'lucide-react'
import { useIntl } from 'react-intl'
import type { BankPayment } from '../../../../../src/http/dashboard/bank/bank-api'
import { useSession } from '../../app/current-session'
import { useText } from '../../app/texts'
import { Amount } from '../../components/Amount'
import { amountsIn } from '../../components/amount-format'

interface BankAmountProps {
  readonly minor: number
  /** The currency of the account. */
  readonly currency: string
}

export function BankAmount({ minor, currency }: BankAmountProps) {
  const { locale } = useIntl()
  const own = useSession().currency
  if (currency === own.code) return <Amount minor={minor} />
  return <span className="Amount">{amountsIn(locale, { code: currency, digits: 2 }).format(minor)}</span>
}

/** Shows the amount of a payment, and whether it came in or went out. */
export function DirectedAmount({ payment }: { readonly payment: BankPayment }) {
  const text = useText()
  const { direction, amountMinor, currency } = payment
  const Icon = direction === 'credit' ? ArrowDownToLine : ArrowUpFromLine
  return (
    <span className="BankAmount" data-direction={direction} title={text(`bank.direction.${direction}`)}>
      <Icon className="icon-14" aria-hidden />
      <span className="visually-hidden">{text(`bank.direction.${direction}`)} </span>
      <BankAmount minor={amountMinor} currency={currency} />
    </span>
  )
}
