import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { SearchResponse } from '../../../../../src/http/dashboard/api'
import type { BankPayment, BankUsesResponse } from '../../../../../src/http/dashboard/bank/bank-api'
import { api } from '../../api/api-client'
import { useAction } from '../../api/use-action'
import { useText } from '../../app/texts'
import { Amount } from '../../components/Amount'
import { AmountField } from '../../components/AmountField'
import { StatusBadge } from '../../components/Badge'
import { Dialog } from '../../components/Dialog'
import { Form } from '../../components/Form'
import { fieldMinor, fieldText, searchedText } from '../../components/form-data'
import { useRefusalText } from '../../components/shown-refusals'
import { TextField } from '../../components/TextField'
import { notify } from '../../components/Toasts'
import { useDebounced } from '../../components/use-debounced'
import { kindFor, leftMinor } from './bank-matches'

interface OtherTransferDialogProps {
  readonly payment: BankPayment
  readonly onClose: () => void
  readonly onDone: (payments: readonly BankPayment[]) => void
}

const minSearchLength = 2

/** Finds the transfer that a payment belongs to. */
export function OtherTransferDialog({ payment, onClose, onDone }: OtherTransferDialogProps) {
  const text = useText()
  const refusalText = useRefusalText()
  const [typed, setTyped] = useState('')
  const [chosen, setChosen] = useState<string>()
  const [refusal, setRefusal] = useState<string>()
  const query = useDebounced(searchedText(typed))
  const kind = kindFor(payment)
  const isSearching = query.length >= minSearchLength
  const { data, isFetching } = useQuery({
    queryKey: ['search', query],
    queryFn: ({ signal }) => api.get<SearchResponse>('/search', { text: query }, signal),
    enabled: isSearching,
  })
  const found = (isSearching && data?.items.filter(({ transfer }) => transfer?.kind === kind)) || []
  const left = leftMinor(payment)
  const action = useAction({
    run: async (data: FormData) => {
      const amountMinor = fieldMinor(data, 'amountMinor') ?? left
      const isPart = amountMinor !== payment.amountMinor
      const item = { paymentId: payment.paymentId, trackingId: fieldText(data, 'trackingId') }
      const body = { items: [{ ...item, ...(isPart && { amountMinor }) }] }
      const { items } = await api.send<BankUsesResponse>('POST', '/bank/uses', body)
      return items[0]
    },
    refresh: [['bank-days']],
    onSuccess: (outcome) => {
      if (outcome?.payment) onDone([outcome.payment])
      if (outcome?.refusal) return setRefusal(refusalText({ ...outcome.refusal, message: outcome.refusal.rule }))
      notify(text('bank.usedCount', { count: 1 }))
      onClose()
    },
  })
  const isChosen = found.some(({ id }) => id === chosen)
  const submit = (data: FormData) => {
    setRefusal(undefined)
    action.start(data)
  }
  return (
    <Dialog title={text(`bank.otherTitle.${kind}`)} open onClose={onClose}>
      <Form
        onSubmit={submit}
        error={action.error}
        submit={text('bank.useThis')}
        unready={!isChosen}
        pending={action.pending}
        cancel={onClose}
      >
        <TextField
          label={text('bank.search')}
          description={text('bank.searchHelp')}
          value={typed}
          onChange={setTyped}
          required
          autoFocus
        />
        <output className="small muted">
          {isSearching && !isFetching && text('bank.found', { count: found.length })}
        </output>
        {found.length > 0 && (
          <fieldset className="OtherTransfer-found">
            <legend className="visually-hidden">{text('fields.transfer')}</legend>
            {found.map(({ id, title, subtitle, transfer }) => (
              <label key={id}>
                <input
                  type="radio"
                  name="trackingId"
                  value={id}
                  checked={id === chosen}
                  onChange={() => setChosen(id)}
                />
                <span>
                  <bdi>{title}</bdi> <bdi className="muted">{subtitle}</bdi>
                </span>
                {transfer && <Amount minor={transfer.amountMinor} />}
                {transfer && <StatusBadge status={transfer.status} />}
              </label>
            ))}
          </fieldset>
        )}
        <AmountField
          name="amountMinor"
          label={text('bank.part')}
          description={text('bank.partHelp')}
          defaultMinor={left}
          required
        />
        {refusal !== undefined && (
          <p className="notice" role="alert">
            {refusal}
          </p>
        )}
      </Form>
    </Dialog>
  )
}
