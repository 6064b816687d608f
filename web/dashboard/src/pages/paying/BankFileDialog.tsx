import { useState } from 'react'
import { api } from '../../api/api-client'
import type { BankFileRequest, TransferRow } from '../../api/contract'
import { useAction } from '../../api/use-action'
import { useSession } from '../../app/current-session'
import { preference, setPreference } from '../../app/preferences'
import { useText } from '../../app/texts'
import { Amount } from '../../components/Amount'
import { Dialog } from '../../components/Dialog'
import { Form } from '../../components/Form'
import { fieldText } from '../../components/form-data'
import { Select } from '../../components/Select'
import { TextField } from '../../components/TextField'
import { notify } from '../../components/Toasts'
import { FileRefusals } from './FileRefusals'

type Format = BankFileRequest['format']
type Debtor = NonNullable<BankFileRequest['debtor']>

const preferenceName = 'paying.debtor'

/** Returns the payer stored in this browser, so that the IBAN is not typed again for every batch. */
function rememberedDebtor(): Partial<Debtor> {
  try {
    const { name, iban, bic } = JSON.parse(preference(preferenceName) ?? '{}')
    return { name: String(name ?? ''), iban: String(iban ?? ''), bic: String(bic ?? '') }
  } catch {
    return {}
  }
}

function debtorOf(data: FormData): Debtor {
  const bic = fieldText(data, 'bic')
  return {
    name: fieldText(data, 'name'),
    iban: fieldText(data, 'iban').replace(/\s/g, ''),
    ...(bic !== '' && { bic }),
  }
}

interface BankFileDialogProps {
  /** The withdrawals claimed by the user. */
  readonly transfers: readonly TransferRow[]
  /** Receives the withdrawals of the saved file. */
  readonly onSaved: (transfers: readonly TransferRow[]) => void
  readonly onClose: () => void
}

/** The field of a request that names one of its withdrawals. */
const withdrawalField = /^trackingIds\/(\d+)$/

export function BankFileDialog({ transfers: claimed, onSaved, onClose }: BankFileDialogProps) {
  const text = useText()
  const { currency } = useSession()
  const [format, setFormat] = useState<Format>('csv')
  const [debtor] = useState(rememberedDebtor)
  // The selection when the dialog opened, because the queue changes while the dialog is open.
  const [transfers, setTransfers] = useState(claimed)
  const action = useAction({
    run: async (data: FormData) => {
      const again = fieldText(data, 'again')
      const seenFiles = transfers.flatMap(({ bankFile }) => bankFile?.messageId ?? [])
      const body: BankFileRequest = {
        format,
        trackingIds: transfers.map(({ trackingId }) => trackingId),
        timeZone: new Intl.DateTimeFormat().resolvedOptions().timeZone,
        ...(format === 'pain.001' && { debtor: debtorOf(data) }),
        ...(again !== '' && { again: { reason: again, files: seenFiles } }),
        ...(transfers.some(({ status }) => status === 'ManualControl') && { manualControl: true }),
      }
      await api.download('/withdrawals/bank-file', body)
      if (body.debtor) setPreference(preferenceName, JSON.stringify(body.debtor))
    },
    onSuccess: () => {
      onSaved(transfers)
      notify(text('paying.fileSaved', { count: transfers.length }))
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
    <Dialog title={text('paying.fileTitle')} open onClose={onClose}>
      <Form
        onSubmit={action.start}
        error={action.error}
        shownFields={refused.map(({ field }) => field)}
        submit={text('paying.fileSubmit')}
        pending={action.pending}
        cancel={onClose}
      >
        <p className="BulkDialog-total">
          {text('paying.fileTotal', { count: transfers.length })} <Amount minor={totalMinor} />
        </p>
        <p>{text('paying.fileExplain')}</p>
        <Select
          label={text('paying.fileFormat')}
          options={[
            { value: 'csv', label: text('paying.format.csv') },
            ...(currency.code === 'EUR' ? [{ value: 'pain.001', label: text('paying.format.pain001') }] : []),
          ]}
          value={format}
          onChange={(value) => setFormat(value === 'pain.001' ? value : 'csv')}
        />
        {transfers.some(({ bankFile }) => bankFile) && (
          <TextField name="again" label={text('paying.fileAgain')} description={text('paying.fileAgainHelp')} />
        )}
        {refused.length > 0 && <FileRefusals refused={refused} count={transfers.length} onLeaveOut={leaveOut} />}
        {format === 'pain.001' && (
          <>
            <TextField
              name="name"
              label={text('paying.debtorName')}
              defaultValue={debtor.name ?? ''}
              maxLength={70}
              required
            />
            <TextField name="iban" label={text('paying.debtorIban')} defaultValue={debtor.iban ?? ''} required />
            <TextField name="bic" label={text('paying.debtorBic')} defaultValue={debtor.bic ?? ''} />
          </>
        )}
      </Form>
    </Dialog>
  )
}
