import { useState } from 'react'
import type { TransferDetail } from '../../api/contract'
import { useText } from '../../app/texts'
import { Amount } from '../../components/Amount'
import { AmountField } from '../../components/AmountField'
import { Facts } from '../../components/Facts'
import { TextField } from '../../components/TextField'
import { ReceiptFields } from './ReceiptFields'
import type { DialogAction } from './transfer-actions'
import { expectedMinor } from './transfer-amounts'

interface ActionFieldsProps {
  readonly action: DialogAction
  readonly seen: TransferDetail
  /** It was tried once, and the server said no. */
  readonly isRefused: boolean
}

export function ActionFields({ action, seen, isRefused }: ActionFieldsProps) {
  const text = useText()
  return (
    <>
      <Facts
        items={[
          { label: text('transfer.requested'), value: <Amount minor={seen.amountMinor} /> },
          { label: text('transfer.name'), value: <bdi>{seen.name}</bdi> },
          { label: text('transfer.accountNumber'), value: seen.accountNumber },
        ]}
      />
      <p>{text(`transfer.explain.${action}`)}</p>
      {action === 'complete' && <CompleteFields seen={seen} isRefused={isRefused} />}
      {(action === 'cancel' || action === 'manual-control') && (
        <TextField
          name="message"
          label={text('transfer.message')}
          description={text('transfer.messageHelp')}
          multiline
          required
        />
      )}
      {(action === 'resolve' || action === 'reopen') && (
        <TextField
          name="reason"
          label={text('transfer.reason')}
          description={text('transfer.reasonHelp')}
          multiline
          required
        />
      )}
      {action === 'return' && (
        <>
          <AmountField
            name="amountMinor"
            label={text('transfer.returnedAmount')}
            defaultMinor={seen.unsettledMinor}
            required
          />
          <ReceiptFields required />
        </>
      )}
    </>
  )
}

function CompleteFields({ seen, isRefused }: Omit<ActionFieldsProps, 'action'>) {
  const text = useText()
  const expected = expectedMinor(seen)
  const [typed, setTyped] = useState<number | undefined>(expected)
  const differs = typed !== expected
  return (
    <>
      <AmountField
        name="amountMinor"
        label={text(seen.kind === 'deposit' ? 'transfer.bookedAmount' : 'transfer.paidAmount')}
        defaultMinor={expected}
        onChange={setTyped}
        required
      />
      {(differs || expected !== seen.amountMinor || isRefused) && (
        <AmountField
          name="confirmedAmountMinor"
          label={text('transfer.amountAgain')}
          description={text('transfer.amountAgainHelp')}
          required={differs}
        />
      )}
      {seen.receivedMinor > 0 && differs && (
        <TextField
          name="reason"
          label={text('transfer.whyOther')}
          description={text('transfer.whyOtherHelp')}
          required
        />
      )}
      <ReceiptFields />
      <TextField name="message" label={text('transfer.message')} description={text('transfer.messageHelp')} />
    </>
  )
}
