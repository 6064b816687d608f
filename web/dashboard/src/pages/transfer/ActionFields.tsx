import { useState } from 'react'
import type { TransferDetail } from '../../../../../src/http/dashboard/api'
import { useActorName } from '../../app/actor-names'
import { useText } from '../../app/texts'
import { AmountField } from '../../components/AmountField'
import { Button } from '../../components/Button'
import { TextField } from '../../components/TextField'
import { useAmounts } from '../../components/use-amounts'
import { ReceiptFields } from './ReceiptFields'
import type { DialogAction } from './transfer-actions'
import { missingMinor } from './transfer-amounts'

interface ActionFieldsProps {
  readonly action: DialogAction
  readonly seen: TransferDetail
  /** The server has rejected an earlier attempt. */
  readonly wasRefused: boolean
  /** Receives the amount of a completion while the user types it. */
  readonly onAmount: (minor: number | undefined) => void
}

/** The fields of an action. The first one that the user has to fill has the focus. */
export function ActionFields({ action, seen, wasRefused, onAmount }: ActionFieldsProps) {
  const text = useText()
  return (
    <>
      {action === 'complete' && <CompleteFields seen={seen} wasRefused={wasRefused} onAmount={onAmount} />}
      {(action === 'cancel' || action === 'manual-control') && (
        <TextField
          name="message"
          label={text('fields.message')}
          description={text('transfer.messageHelp')}
          multiline
          required
          autoFocus
        />
      )}
      {(action === 'resolve' || action === 'reopen') && (
        <TextField
          name="reason"
          label={text('fields.reason')}
          description={text('common.reasonHelp')}
          multiline
          required
          autoFocus
        />
      )}
      {action === 'receive' && <ReceiveFields seen={seen} wasRefused={wasRefused} />}
      {action === 'correct' && <CorrectFields seen={seen} wasRefused={wasRefused} />}
      {action === 'approve-correction' && <Proposal seen={seen} />}
      {action === 'return' && (
        <>
          <AmountField
            name="amountMinor"
            label={text('transfer.returnedAmount')}
            defaultMinor={seen.unsettledMinor}
            required
            autoFocus
          />
          <ReceiptFields required />
        </>
      )}
    </>
  )
}

type SeenProps = Pick<ActionFieldsProps, 'seen' | 'wasRefused'>

function ReceiveFields({ seen, wasRefused }: SeenProps) {
  const text = useText()
  return (
    <>
      <AmountField
        name="amountMinor"
        label={text('transfer.receivedAmount')}
        defaultMinor={missingMinor(seen)}
        required
        autoFocus
      />
      {wasRefused && <ConfirmedAmount />}
      <TextField
        name="reference"
        label={text('transfer.paymentReference')}
        description={text('transfer.paymentReferenceHelp')}
        required
      />
      <ReceiptFields />
    </>
  )
}

function CorrectFields({ seen, wasRefused }: SeenProps) {
  const text = useText()
  return (
    <>
      <AmountField
        name="amountMinor"
        label={text('transfer.correctAmount')}
        defaultMinor={seen.transactionAmountMinor}
        required
        autoFocus
      />
      {wasRefused && <ConfirmedAmount />}
      <TextField
        name="reason"
        label={text('fields.reason')}
        description={text('common.reasonHelp')}
        multiline
        required
      />
      <TextField name="reference" label={text('transfer.ownReference')} />
    </>
  )
}

/** Asks for the amount again, in case the server has rejected it as unlikely. */
function ConfirmedAmount() {
  const text = useText()
  return (
    <AmountField
      name="confirmedAmountMinor"
      label={text('transfer.amountAgain')}
      description={text('transfer.amountAgainHelp')}
    />
  )
}

export function Proposal({ seen: { proposedCorrection: proposed, transactionAmountMinor } }: Pick<SeenProps, 'seen'>) {
  const text = useText()
  const actorName = useActorName()
  const { format } = useAmounts()
  if (!proposed) return null
  const amounts = { amount: format(proposed.amountMinor), booked: format(transactionAmountMinor) }
  return (
    <p className="notice">
      <bdi>{text('transfer.proposal', { name: actorName(proposed.name), ...amounts, reason: proposed.reason })}</bdi>
    </p>
  )
}

function CompleteFields({ seen, wasRefused, onAmount }: Omit<ActionFieldsProps, 'action'>) {
  const text = useText()
  const expected = seen.expectedMinor
  const [isOther, setOther] = useState(false)
  const [hasMore, setMore] = useState(false)
  const [typed, setTyped] = useState<number | undefined>(expected)
  const differs = typed !== expected
  const isPaid = seen.kind === 'withdrawal'
  const change = (minor: number | undefined) => {
    setTyped(minor)
    onAmount(minor)
  }
  return (
    <>
      {isOther ? (
        <>
          <AmountField
            name="amountMinor"
            label={text(isPaid ? 'transfer.paidAmount' : 'transfer.bookedAmount')}
            defaultMinor={expected}
            onChange={change}
            required
            autoFocus
          />
          {(differs || wasRefused) && (
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
        </>
      ) : (
        <input type="hidden" name="amountMinor" data-minor={expected} />
      )}
      {hasMore && (
        <>
          <ReceiptFields autoFocus />
          <TextField name="message" label={text('fields.message')} description={text('transfer.messageHelp')} />
        </>
      )}
      <div className="ActionForm-more">
        {!hasMore && (
          <Button look="quiet" onPress={() => setMore(true)}>
            {text('transfer.addReceipt')}
          </Button>
        )}
        {!isOther && (
          <Button look="quiet" onPress={() => setOther(true)}>
            {text(isPaid ? 'transfer.otherPaid' : 'transfer.otherBooked')}
          </Button>
        )}
      </div>
    </>
  )
}
