import { Link } from '@tanstack/react-router'
import { FormattedDate } from 'react-intl'
import type { BankPayment } from '../../../../../src/http/dashboard/bank/bank-api'
import { useActorName } from '../../app/actor-names'
import { useKnownText, useText } from '../../app/texts'
import { AccountNumber } from '../../components/AccountNumber'
import { shortAccount } from '../../components/account-number'
import { Badge, Flag, type Tone } from '../../components/Badge'
import { BankAmount, DirectedAmount } from './BankAmount'

const tones: { readonly [status in BankPayment['status']]: Tone } = {
  open: 'person',
  applying: 'wait',
  used: 'good',
  explained: 'off',
  superseded: 'off',
}

interface PaymentFactsProps {
  readonly payment: BankPayment
  /** Shows the status, in a list that contains payments of several. */
  readonly withStatus?: boolean
  /** Shows our account, if the list contains payments of several. */
  readonly withAccount?: boolean
}

/** Shows the bank's data about a payment, and the decision about it. */
export function PaymentFacts({ payment, withStatus = false, withAccount = false }: PaymentFactsProps) {
  const text = useText()
  const actorName = useActorName()
  const { name, accountNumber, remittance, bankReference, endToEndId, uses, explanation, explainedBy } = payment
  return (
    <div className="PaymentFacts">
      <p className="PaymentFacts-head">
        <DirectedAmount payment={payment} />
        <FormattedDate value={payment.date} timeZone="UTC" dateStyle="medium" />
        {withAccount && <span className="small faint">{shortAccount(payment.accountId)}</span>}
        {withStatus && <Badge tone={tones[payment.status]}>{text(`bank.status.${payment.status}`)}</Badge>}
        <PaymentFlag payment={payment} />
      </p>
      <p>{name === null ? <span className="faint">{text('bank.nameless')}</span> : <bdi>{name}</bdi>}</p>
      {accountNumber !== null && (
        <p className="small muted">
          <AccountNumber account={accountNumber} />
        </p>
      )}
      {remittance !== null && (
        <p className="PaymentFacts-text">
          <bdi>{remittance}</bdi>
        </p>
      )}
      {(bankReference !== null || endToEndId !== null) && (
        <p className="small faint">
          <bdi>{[bankReference, endToEndId].filter((each) => each !== null).join(' · ')}</bdi>
        </p>
      )}
      {uses.map(({ trackingId, amountMinor, effect, by }) => (
        <p key={trackingId} className="small">
          {text(effect === null ? 'bank.effectPending' : `fields.effect.${effect}`)}:{' '}
          <Link to="/transfers/$trackingId" params={{ trackingId }}>
            {text('transfer.linkedTransfer')}
          </Link>
          {amountMinor !== payment.amountMinor && (
            <>
              {' '}
              <BankAmount minor={amountMinor} currency={payment.currency} />
            </>
          )}{' '}
          <span className="faint">
            <bdi>{actorName(by)}</bdi>
          </span>
        </p>
      ))}
      {explanation !== null && (
        <p className="PaymentFacts-text">
          <bdi>{explanation}</bdi>{' '}
          <span className="faint">
            <bdi>{explainedBy && actorName(explainedBy)}</bdi>
          </span>
        </p>
      )}
    </div>
  )
}

/** States why the bank sent money back, or that it takes an earlier entry back. */
function PaymentFlag({ payment }: { readonly payment: BankPayment }) {
  const text = useText()
  const known = useKnownText()
  const { isReturn, isReversal, returnReasonCode, returnReasonText } = payment
  if (isReturn) {
    const words = [returnReasonCode, known(`fields.reasonCode.${returnReasonCode}`), returnReasonText]
    const given = words.filter((each) => each !== null && each !== undefined).join(', ')
    return <Flag tone="person">{given === '' ? text('bank.return') : text('bank.returnWith', { reason: given })}</Flag>
  }
  return isReversal ? <Flag tone="person">{text('bank.reversal')}</Flag> : null
}
