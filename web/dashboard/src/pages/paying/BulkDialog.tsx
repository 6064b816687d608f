import { useState } from 'react'
import { api } from '../../api/api-client'
import type { Reason } from '../../api/api-error'
import type { BulkAnswer, TransferDetail, TransferRow } from '../../api/contract'
import { useAction } from '../../api/use-action'
import { useText } from '../../app/texts'
import { Amount } from '../../components/Amount'
import { Button } from '../../components/Button'
import { Dialog } from '../../components/Dialog'
import { FileField } from '../../components/FileField'
import { Form } from '../../components/Form'
import { useRefusalText } from '../../components/shown-refusals'
import { TextField } from '../../components/TextField'
import { uploadReceipt } from '../transfer/transfer-actions'

interface BulkDialogProps {
  readonly action: 'claim' | 'complete'
  readonly transfers: readonly TransferRow[]
  readonly onClose: () => void
  /** Receives the current state of all transfers, including those that were rejected. */
  readonly onResult: (transfers: readonly TransferDetail[]) => void
  readonly onFailed: () => void
}

/** Claims or completes several withdrawals. Each one succeeds or fails separately, and the dialog shows all outcomes. */
export function BulkDialog({ action: name, transfers, onClose, onResult, onFailed }: BulkDialogProps) {
  const text = useText()
  // The selection when the dialog opened, because the queue changes while the dialog is open.
  const [seen] = useState(transfers)
  const [outcome, setOutcome] = useState<BulkAnswer>()
  const action = useAction({
    run: async (data: FormData) => {
      try {
        const receiptUrl = await uploadReceipt(data)
        const items = seen.map(({ trackingId, revision }) => ({
          trackingId,
          revision,
          ...(receiptUrl !== undefined && { receiptUrl }),
        }))
        return await api.send<BulkAnswer>('POST', `/withdrawals/${name}`, { items })
      } catch (error) {
        onFailed()
        throw error
      }
    },
    onSuccess: (result) => {
      setOutcome(result)
      onResult(result.items.flatMap(({ transfer }) => transfer ?? []))
    },
  })
  const totalMinor = seen.reduce((sum, { amountMinor }) => sum + BigInt(amountMinor), 0n)
  return (
    <Dialog title={text(`paying.bulkTitle.${name}`, { count: seen.length })} open onClose={onClose} wide>
      {outcome ? (
        <Outcomes seen={seen} outcome={outcome} onClose={onClose} />
      ) : (
        <Form
          onSubmit={action.start}
          error={action.error}
          submit={text(`paying.bulkSubmit.${name}`, { count: seen.length })}
          pending={action.pending}
          cancel={onClose}
        >
          <p className="BulkDialog-total">
            {text('common.selected', { count: seen.length })} · <Amount minor={totalMinor} />
          </p>
          <p>{text(`paying.bulkExplain.${name}`)}</p>
          {name === 'complete' && (
            <>
              <TextField name="receiptUrl" type="url" label={text('transfer.receiptLink')} />
              <FileField
                name="receiptFile"
                label={text('transfer.receiptFile')}
                accept="application/pdf,image/png,image/jpeg"
                description={text('paying.bulkReceiptHelp')}
              />
            </>
          )}
        </Form>
      )}
    </Dialog>
  )
}

interface OutcomesProps {
  readonly seen: readonly TransferRow[]
  readonly outcome: BulkAnswer
  readonly onClose: () => void
}

function Outcomes({ seen, outcome, onClose }: OutcomesProps) {
  const text = useText()
  const rows = new Map(seen.map((row) => [row.trackingId, row]))
  const failed = outcome.items.filter(({ error }) => error !== null).length
  return (
    <div className="stack">
      <output>{text('paying.bulkOutcome', { done: outcome.items.length - failed, failed })}</output>
      <div className="BulkOutcomes">
        <table>
          <thead>
            <tr>
              <th scope="col">{text('fields.referenceId')}</th>
              <th scope="col">{text('fields.name')}</th>
              <th scope="col" className="number">
                {text('fields.amountMinor')}
              </th>
              <th scope="col">{text('fields.outcome')}</th>
            </tr>
          </thead>
          <tbody>
            {outcome.items.map(({ trackingId, error }) => {
              const row = rows.get(trackingId)
              return (
                <tr key={trackingId} data-failed={error !== null || undefined}>
                  <td>{row?.referenceId ?? trackingId}</td>
                  <td>
                    <bdi>{row?.name}</bdi>
                  </td>
                  <td className="number">{row && <Amount minor={row.amountMinor} />}</td>
                  <td>{error ? <Refused reason={error} /> : text('paying.bulkDone')}</td>
                </tr>
              )
            })}
          </tbody>
        </table>
      </div>
      <div className="row">
        <Button look="primary" onPress={onClose}>
          {text('common.close')}
        </Button>
      </div>
    </div>
  )
}

function Refused({ reason }: { readonly reason: Reason }) {
  const refusalText = useRefusalText()
  return <bdi>{refusalText(reason)}</bdi>
}
