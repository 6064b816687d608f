import { useState } from 'react'
import type { BankFileResponse } from '../../../../../src/http/dashboard/bank/bank-api'
import { useText } from '../../app/texts'
import { Button } from '../../components/Button'
import { BankStatementFacts } from './BankStatementFacts'
import { type FilePayment, groupOf, groups } from './bank-matches'
import { PaymentFacts } from './PaymentFacts'
import { Proposals } from './Proposals'
import { RejectionList } from './RejectionList'

interface BankFileContentProps {
  readonly response: BankFileResponse
  readonly pending: boolean
  readonly onConfirm: () => void
  readonly onClose: () => void
}

/** Shows what recording the file would do, and asks whether to do it. */
export function BankFileContent({ response, pending, onConfirm, onClose }: BankFileContentProps) {
  const text = useText()
  const { statements, counts, payments, rejections } = response
  const certain = counts.certain + rejections.filter(({ proposals }) => proposals.some(isCertain)).length
  return (
    <>
      <div className="BankFile-question">
        <p>{text('bank.counts', counts)}</p>
        <div className="row">
          <Button look="primary" pending={pending} onPress={onConfirm}>
            {text('bank.confirm', { count: certain })}
          </Button>
          <Button onPress={onClose}>{text('common.cancel')}</Button>
        </div>
      </div>
      {statements.map((statement) => (
        <BankStatementFacts key={statement.importId} statement={statement} />
      ))}
      <RejectionList rejections={rejections} />
      {groups.map((group) => (
        <PaymentGroup key={group} group={group} payments={payments.filter((each) => groupOf(each) === group)} />
      ))}
    </>
  )
}

const isCertain = (proposal: { readonly isCertain: boolean }) => proposal.isCertain

const pageSize = 50

interface PaymentGroupProps {
  readonly group: (typeof groups)[number]
  readonly payments: readonly FilePayment[]
}

/** Shows the payments of one kind, some at first, because a file can have a thousand. */
function PaymentGroup({ group, payments }: PaymentGroupProps) {
  const text = useText()
  const [shown, setShown] = useState(pageSize)
  if (payments.length === 0) return null
  return (
    <section className="BankFile-group" aria-labelledby={`bank-${group}`}>
      <h3 id={`bank-${group}`}>{text(`bank.group.${group}`, { count: payments.length })}</h3>
      <p className="small muted">{text(`bank.groupHelp.${group}`)}</p>
      <ul className="BankPayments-list">
        {payments.slice(0, shown).map((payment) => (
          <li key={payment.paymentId} className="BankPayments-one">
            <PaymentFacts payment={payment} />
            <div className="BankPayments-decision">
              <Proposals payment={payment} />
            </div>
          </li>
        ))}
      </ul>
      {payments.length > shown && (
        <Button small onPress={() => setShown(shown + pageSize)}>
          {text('common.loadMore')}
        </Button>
      )}
    </section>
  )
}
