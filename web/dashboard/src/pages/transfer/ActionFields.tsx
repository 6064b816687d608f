import { useState } from 'react'
import { returnReasonCodes } from '../../../../../src/domain/transfer/return-reasons'
import type { TransferDetail } from '../../../../../src/http/dashboard/api'
import { useKnownText, useText } from '../../app/texts'
import { AmountField } from '../../components/AmountField'
import { Button } from '../../components/Button'
import { Select } from '../../components/Select'
import { TextField } from '../../components/TextField'
import { useAmounts } from '../../components/use-amounts'
import { ReceiptFields } from './ReceiptFields'
import type { DialogAction } from './transfer-actions'
import { missingMinor } from './transfer-amounts'

interface ActionFieldsProps {
  readonly action: DialogAction
  readonly seen: TransferDetail
  /** The server has rejected the amount until it is entered twice. */
  readonly mustConfirm: boolean
  /** Receives the amount of a completion while the user types it. */
  readonly onAmount: (minor: number | undefined) => void
}

/** The fields of an action. The first one that the user has to fill has the focus. */
export function ActionFields({ action, seen, mustConfirm, onAmount }: ActionFieldsProps) {
  const text = useText()
  return (
    <>
      {action === 'complete' && <CompleteFields seen={seen} mustConfirm={mustConfirm} onAmount={onAmount} />}
      {action === 'receive' && (
        <>
          <AmountField
            name="amountMinor"
            label={text('transfer.receivedAmount')}
            defaultMinor={missingMinor(seen) || null}
            required
            autoFocus
          />
          {mustConfirm && <ConfirmedAmount required />}
          <TextField
            name="reference"
            label={text('transfer.bankReference')}
            description={text('transfer.bankReferenceHelp')}
            required
          />
          <ReceiptFields />
        </>
      )}
      {action === 'correct' && (
        <>
          <AmountField
            name="amountMinor"
            label={text(seen.kind === 'deposit' ? 'transfer.bookedAmount' : 'transfer.paidAmount')}
            defaultMinor={seen.transactionAmountMinor}
            required
            autoFocus
          />
          {mustConfirm && <ConfirmedAmount required />}
          <TextField
            name="reason"
            label={text('fields.reason')}
            description={text('common.reasonHelp')}
            multiline
            required
          />
          <TextField
            name="reference"
            label={text('transfer.correctionReference')}
            description={text('transfer.correctionReferenceHelp')}
          />
        </>
      )}
      {action === 'approve-correction' && (
        <p className="Story-quote">
          <bdi>{seen.proposedCorrection?.reason}</bdi>
        </p>
      )}
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
      {action === 'return' && (
        <>
          <AmountField
            name="amountMinor"
            label={text('transfer.returnedAmount')}
            defaultMinor={seen.undecidedMinor}
            required
            autoFocus
          />
          <ReceiptFields required />
        </>
      )}
      {action === 'payout-returned' && <PayoutReturnFields seen={seen} />}
      {action === 'refund' && <RefundFields seen={seen} />}
      {action === 'pay-again' && <PayAgainFields seen={seen} />}
    </>
  )
}

function RefundFields({ seen }: Pick<ActionFieldsProps, 'seen'>) {
  const text = useText()
  const { format } = useAmounts()
  return (
    <>
      <AmountField
        name="amountMinor"
        label={text('transfer.refundAmount')}
        description={text('transfer.refundAmountHelp', { most: format(seen.refundableMinor) })}
        defaultMinor={seen.undecidedMinor || seen.refundableMinor}
        required
        autoFocus
      />
      <TextField
        name="accountNumber"
        label={text('fields.accountNumber')}
        description={text(seen.walletRefund ? 'transfer.refundAccountOrWallet' : 'transfer.refundAccount')}
        required={!seen.walletRefund}
        spellCheck={false}
      />
    </>
  )
}

function PayAgainFields({ seen }: Pick<ActionFieldsProps, 'seen'>) {
  const text = useText()
  return (
    <>
      <AmountField
        name="amountMinor"
        label={text('transfer.payAgainAmount')}
        defaultMinor={seen.undecidedMinor}
        required
        autoFocus
      />
      <TextField
        name="accountNumber"
        label={text('fields.accountNumber')}
        description={text('transfer.refundAccount')}
        required
        spellCheck={false}
      />
    </>
  )
}

function PayoutReturnFields({ seen }: Pick<ActionFieldsProps, 'seen'>) {
  const text = useText()
  const known = useKnownText()
  const options = returnReasonCodes.map((code) => {
    return { value: code, label: text('transfer.reasonWithCode', { code, words: known(`fields.reasonCode.${code}`) }) }
  })
  return (
    <>
      <AmountField
        name="amountMinor"
        label={text('transfer.cameBackAmount')}
        defaultMinor={seen.keptMinor}
        required
        autoFocus
      />
      <Select name="reasonCode" label={text('fields.reasonCode')} options={options} required />
      <TextField
        name="reference"
        label={text('transfer.bankReference')}
        description={text('transfer.returnReferenceHelp')}
        required
      />
      <ReceiptFields />
    </>
  )
}

function CompleteFields({ seen, mustConfirm, onAmount }: Omit<ActionFieldsProps, 'action'>) {
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
          {(differs || mustConfirm) && <ConfirmedAmount required={differs} />}
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

function ConfirmedAmount({ required }: { readonly required: boolean }) {
  const text = useText()
  return (
    <AmountField
      name="confirmedAmountMinor"
      label={text('transfer.amountAgain')}
      description={text('transfer.amountAgainHelp')}
      required={required}
    />
  )
}
