import { useState } from 'react'
import { api } from '../../api/api-client'
import type { TransferDetail } from '../../api/contract'
import { completionOf } from '../../api/settlement-form'
import { useAction } from '../../api/use-action'
import { useText } from '../../app/texts'
import { Amount } from '../../components/Amount'
import { AmountField } from '../../components/AmountField'
import { Dialog } from '../../components/Dialog'
import { FileField } from '../../components/FileField'
import { Form } from '../../components/Form'
import { TextField } from '../../components/TextField'
import { ClaimChip } from './ClaimChip'
import { AccountNumber } from './CopyLine'
import { WithdrawalChanged } from './WithdrawalChanged'

export interface ActionDialogProps {
  /** As it was when the dialog opened. */
  readonly seen: TransferDetail
  /** As it is now. */
  readonly now: TransferDetail
  readonly onClose: () => void
  readonly onDone: (transfer: TransferDetail) => void
  readonly onFailed: () => void
}

export function CompleteDialog({ seen, now, onClose, onDone, onFailed }: ActionDialogProps) {
  const text = useText()
  const action = useAction({
    run: async (data: FormData) => {
      try {
        const body = await completionOf(data, seen.revision)
        return await api.send<TransferDetail>('POST', `/transfers/${seen.trackingId}/complete`, body)
      } catch (error) {
        onFailed()
        throw error
      }
    },
    done: onDone,
  })
  const isAsSeen = now.revision === seen.revision
  return (
    <Dialog title={text('paying.completeTitle')} open onClose={onClose}>
      {isAsSeen || action.pending ? (
        <Form
          onSubmit={action.start}
          error={action.error}
          submit={text('paying.completeSubmit')}
          pending={action.pending}
          cancel={onClose}
        >
          <CompleteFields seen={seen} now={now} />
        </Form>
      ) : (
        <WithdrawalChanged now={now} error={action.error} onClose={onClose} />
      )}
    </Dialog>
  )
}

function CompleteFields({ seen, now }: Pick<ActionDialogProps, 'seen' | 'now'>) {
  const text = useText()
  const [typed, setTyped] = useState<number | undefined>(seen.amountMinor)
  const differs = typed !== undefined && typed !== seen.amountMinor
  return (
    <div className="stack">
      <p className="PayDialog-to">
        <Amount minor={seen.amountMinor} /> → <bdi>{seen.name}</bdi>
        {seen.accountNumber !== null && (
          <>
            {' '}
            · <AccountNumber account={seen.accountNumber} />
          </>
        )}
      </p>
      <div className="row">
        <ClaimChip claim={now.claim} />
      </div>
      <AmountField
        name="amountMinor"
        label={text('paying.paidAmount')}
        defaultMinor={seen.amountMinor}
        onChange={setTyped}
        required
      />
      {differs && (
        <AmountField
          name="confirmedAmountMinor"
          label={text('paying.paidAmountAgain')}
          description={text('paying.paidAmountDiffers')}
          required
        />
      )}
      <TextField
        name="receiptUrl"
        type="url"
        label={text('paying.receiptLink')}
        description={text('paying.receiptLinkHelp')}
      />
      <FileField
        name="receiptFile"
        label={text('paying.receiptFile')}
        accept="application/pdf,image/png,image/jpeg"
        description={text('paying.receiptFileHelp')}
      />
      <TextField name="message" label={text('paying.note')} description={text('paying.noteHelp')} />
    </div>
  )
}
