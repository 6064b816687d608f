import { useState } from 'react'
import type { BulkResponse, TransferDetail, TransferRow } from '../../../../../src/http/dashboard/api'
import { api } from '../../api/api-client'
import { useAction } from '../../api/use-action'
import { useText } from '../../app/texts'
import { Amount } from '../../components/Amount'
import { Dialog } from '../../components/Dialog'
import { FileField } from '../../components/FileField'
import { Form } from '../../components/Form'
import { TextField } from '../../components/TextField'
import { useAmounts } from '../../components/use-amounts'
import { useReady } from '../../components/use-ready'
import { uploadReceipt } from '../transfer/transfer-actions'
import { BulkOutcome } from './BulkOutcome'

interface BulkDialogProps {
  readonly action: 'claim' | 'complete'
  readonly transfers: readonly TransferRow[]
  readonly onClose: () => void
  /** Receives the current state of all transfers, including those that were rejected. */
  readonly onResult: (transfers: readonly TransferDetail[]) => void
  readonly onFailed: () => void
  readonly onSelect: (trackingIds: readonly string[]) => void
  readonly onOpen: (trackingId: string) => void
}

/** Claims or completes several withdrawals. Each one succeeds or fails separately, and the dialog shows all outcomes. */
export function BulkDialog(props: BulkDialogProps) {
  const { action: name, transfers, onClose, onResult, onFailed, onSelect, onOpen } = props
  const text = useText()
  const { format } = useAmounts()
  // The selection when the dialog opened, because the queue changes while the dialog is open.
  const [seen] = useState(transfers)
  const isReady = useReady(seen)
  const [outcome, setOutcome] = useState<BulkResponse>()
  const inManualControl = seen.filter(({ status }) => status === 'ManualControl')
  const action = useAction({
    run: async (data: FormData) => {
      try {
        const receiptUrl = await uploadReceipt(data)
        const items = seen.map(({ trackingId, revision }) => ({
          trackingId,
          revision,
          ...(receiptUrl !== undefined && { receiptUrl }),
        }))
        const manualControl = name === 'complete' && inManualControl.length > 0
        const body = { items, ...(manualControl && { manualControl }) }
        return await api.send<BulkResponse>('POST', `/withdrawals/${name}`, body)
      } catch (error) {
        onFailed()
        throw error
      }
    },
    onSuccess: (result) => {
      setOutcome(result)
      onResult(result.items.flatMap(({ transfer }) => transfer ?? []))
      onSelect(result.items.filter(({ error }) => error).map(({ trackingId }) => trackingId))
    },
  })
  const total = format(seen.reduce((sum, { amountMinor }) => sum + BigInt(amountMinor), 0n))
  const failed = outcome?.items.filter(({ error }) => error).length ?? 0
  const title = !outcome
    ? text(`payouts.bulkTitle.${name}`, { count: seen.length, total })
    : failed === 0
      ? text(`payouts.bulkAllDone.${name}`, { count: seen.length })
      : text('payouts.bulkRefused', { failed, count: seen.length })
  return (
    <Dialog title={title} open onClose={onClose} wide>
      {outcome ? (
        <BulkOutcome
          action={name}
          seen={seen}
          outcome={outcome}
          onClose={onClose}
          onSelect={onSelect}
          onOpen={onOpen}
        />
      ) : (
        <Form
          onSubmit={action.start}
          error={action.error}
          submit={text(`payouts.bulkSubmit.${name}`, { count: seen.length, total })}
          focusSubmit
          unready={!isReady}
          pending={action.pending}
          cancel={onClose}
        >
          <p>{text(`payouts.bulkExplain.${name}`)}</p>
          <ul className="BulkDialog-list">
            {seen.map(({ trackingId, amountMinor, name: beneficiary, referenceId }) => (
              <li key={trackingId}>
                <Amount minor={amountMinor} />
                <bdi className="cut">{beneficiary}</bdi>
                <bdi className="cut faint">{referenceId}</bdi>
              </li>
            ))}
          </ul>
          {inManualControl.length > 0 && (
            <p className="notice">{text('payouts.bulkManualControl', { count: inManualControl.length })}</p>
          )}
          {name === 'complete' && (
            <>
              <TextField name="receiptUrl" kind="url" label={text('transfer.receiptLink')} />
              <FileField
                name="receiptFile"
                label={text('transfer.receiptFile')}
                accept="application/pdf,image/png,image/jpeg"
                description={text('payouts.bulkReceiptHelp')}
              />
            </>
          )}
        </Form>
      )}
    </Dialog>
  )
}
