import { useState } from 'react'
import { targetDate, targetDayFrom } from '../../../../../src/domain/target-days'
import type { BankFileRequest, TransferRow } from '../../../../../src/http/dashboard/api'
import { api } from '../../api/api-client'
import { useAction } from '../../api/use-action'
import { useSession } from '../../app/current-session'
import { useText } from '../../app/texts'
import { Amount } from '../../components/Amount'
import { DateField } from '../../components/DateField'
import { Dialog } from '../../components/Dialog'
import { Form } from '../../components/Form'
import { fieldText } from '../../components/form-data'
import { Select } from '../../components/Select'
import { TextField } from '../../components/TextField'
import { notify } from '../../components/Toasts'
import { FileRefusals } from './FileRefusals'
import { debtorOf, PayerFields, rememberPayer } from './PayerFields'

type Format = BankFileRequest['format']
interface BankFileDialogProps {
  /** The withdrawals claimed by the user. */
  readonly transfers: readonly TransferRow[]
  /** Receives the withdrawals of the saved file. */
  readonly onSaved: (transfers: readonly TransferRow[]) => void
  readonly onClose: () => void
}

/** The field of a request that names one of its withdrawals. */
const withdrawalField = /^trackingIds\[(\d+)\]$/

export function BankFileDialog({ transfers: claimed, onSaved, onClose }: BankFileDialogProps) {
  const text = useText()
  const { currency } = useSession()
  const [format, setFormat] = useState<Format>('csv')
  // The selection when the dialog opened, because the queue changes while the dialog is open.
  const [transfers, setTransfers] = useState(claimed)
  const action = useAction({
    run: async (data: FormData) => {
      const reason = fieldText(data, 'repeat.reason')
      const seenFiles = transfers.flatMap(({ bankFile }) => bankFile?.messageId ?? [])
      const body: BankFileRequest = {
        format,
        trackingIds: transfers.map(({ trackingId }) => trackingId),
        timeZone: new Intl.DateTimeFormat().resolvedOptions().timeZone,
        ...(format === 'pain.001' && { debtor: debtorOf(data), date: fieldText(data, 'date') }),
        ...(reason !== '' && { repeat: { reason, files: seenFiles } }),
        ...(transfers.some(({ status }) => status === 'ManualControl') && { manualControl: true }),
      }
      await api.download('/withdrawals/bank-file', body)
      if (body.debtor) rememberPayer(data)
    },
    onSuccess: () => {
      onSaved(transfers)
      notify(text('payouts.fileSaved', { count: transfers.length }))
      onClose()
    },
  })
  const refused = Object.entries(action.error?.fields ?? {}).flatMap(([field, reason]) => {
    const row = transfers[Number(withdrawalField.exec(field)?.[1] ?? Number.NaN)]
    return row ? [{ field, reason, row }] : []
  })
  const leaveOut = () => {
    setTransfers(transfers.filter((transfer) => !refused.some(({ row }) => row === transfer)))
    action.reset()
  }
  const totalMinor = transfers.reduce((sum, { amountMinor }) => sum + BigInt(amountMinor), 0n)
  return (
    <Dialog title={text('payouts.fileTitle')} open onClose={onClose}>
      <Form
        onSubmit={action.start}
        error={action.error}
        shownFields={refused.map(({ field }) => field)}
        submit={text('payouts.fileSubmit')}
        pending={action.pending}
        cancel={onClose}
      >
        <p className="BulkDialog-total">
          {text('payouts.fileTotal', { count: transfers.length })} <Amount minor={totalMinor} />
        </p>
        <p>{text('payouts.fileExplain')}</p>
        <Select
          label={text('payouts.fileFormat')}
          options={[
            { value: 'csv', label: text('payouts.format.csv') },
            ...(currency.code === 'EUR' ? [{ value: 'pain.001', label: text('payouts.format.pain001') }] : []),
          ]}
          value={format}
          onChange={(value) => setFormat(value === 'pain.001' ? value : 'csv')}
        />
        {transfers.some(({ bankFile }) => bankFile) && (
          <TextField
            name="repeat.reason"
            label={text('payouts.repeatReason')}
            description={text('payouts.repeatReasonHelp')}
          />
        )}
        {refused.length > 0 && <FileRefusals refused={refused} count={transfers.length} onLeaveOut={leaveOut} />}
        {format === 'pain.001' && (
          <>
            <DateField
              name="date"
              label={text('payouts.fileDate')}
              description={text('payouts.fileDateHelp')}
              defaultValue={targetDayFrom(targetDate(new Date().toISOString()))}
              required
            />
            <PayerFields />
          </>
        )}
      </Form>
    </Dialog>
  )
}
