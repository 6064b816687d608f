import { useState } from 'react'
import type { TransferDetail } from '../../api/contract'
import { useText } from '../../app/texts'
import { AccountNumber } from '../../components/AccountNumber'
import { Amount } from '../../components/Amount'
import { AmountField } from '../../components/AmountField'
import { Facts } from '../../components/Facts'
import { TextField } from '../../components/TextField'
import { ClaimChip } from '../paying/ClaimChip'
import { ReceiptFields } from './ReceiptFields'
import type { DialogAction } from './transfer-actions'
import { expectedMinor } from './transfer-amounts'

interface ActionFieldsProps {
  readonly action: DialogAction
  readonly seen: TransferDetail
  /** The server has rejected an earlier attempt. */
  readonly wasRefused: boolean
}

export function ActionFields({ action, seen, wasRefused }: ActionFieldsProps) {
  const text = useText()
  const { amountMinor, name, accountNumber, claim } = seen
  return (
    <>
      <Facts
        items={[
          { label: text('transfer.requested'), value: <Amount minor={amountMinor} /> },
          { label: text('fields.name'), value: <bdi>{name}</bdi> },
          { label: text('fields.accountNumber'), value: accountNumber && <AccountNumber account={accountNumber} /> },
          { label: text('fields.claim'), value: claim && <ClaimChip claim={claim} /> },
        ]}
      />
      <p>{text(`transfer.explain.${action}`)}</p>
      {action === 'complete' && <CompleteFields seen={seen} wasRefused={wasRefused} />}
      {(action === 'cancel' || action === 'manual-control') && (
        <TextField
          name="message"
          label={text('fields.message')}
          description={text('transfer.messageHelp')}
          multiline
          required
        />
      )}
      {(action === 'resolve' || action === 'reopen') && (
        <TextField
          name="reason"
          label={text('fields.reason')}
          description={text('common.reasonHelp')}
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

function CompleteFields({ seen, wasRefused }: Omit<ActionFieldsProps, 'action'>) {
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
      {(differs || expected !== seen.amountMinor || wasRefused) && (
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
          label={text('transfer.differenceReason')}
          description={text('transfer.differenceReasonHelp')}
          required
        />
      )}
      <ReceiptFields />
      <TextField name="message" label={text('fields.message')} description={text('transfer.messageHelp')} />
    </>
  )
}
