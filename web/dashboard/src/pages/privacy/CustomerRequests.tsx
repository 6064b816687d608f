import { type FormEvent, useState } from 'react'
import type { CustomerRequest } from '../../../../../src/http/dashboard/privacy/privacy-api'
import { api } from '../../api/api-client'
import { useAction } from '../../api/use-action'
import { useSession } from '../../app/current-session'
import { useMerchant } from '../../app/merchant-names'
import { useText } from '../../app/texts'
import { Button } from '../../components/Button'
import { Card } from '../../components/Card'
import { dataOf, fieldText } from '../../components/form-data'
import { Problem } from '../../components/Problem'
import { Select } from '../../components/Select'
import { TextField } from '../../components/TextField'
import { notify } from '../../components/Toasts'
import { EraseDialog } from './EraseDialog'

/** Exports or erases the data of a customer who asked their merchant for it. */
export function CustomerRequests() {
  const text = useText()
  const { merchants } = useSession()
  const merchantId = useMerchant()
  const [customerToErase, setCustomerToErase] = useState<CustomerRequest>()
  const exporting = useAction<CustomerRequest, void>({
    run: (customer) => api.download('/privacy/export', customer),
    onSuccess: () => notify(text('privacy.exported')),
  })
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    const data = dataOf(event.currentTarget)
    const customer = { merchantId: fieldText(data, 'merchantId'), userId: fieldText(data, 'userId') }
    if (customer.merchantId === '' || customer.userId === '') return
    const { submitter } = event.nativeEvent as SubmitEvent
    if (submitter?.getAttribute('value') === 'erase') setCustomerToErase(customer)
    else exporting.start(customer)
  }
  return (
    <Card title={text('privacy.requests')}>
      <p>{text('privacy.requestsHelp')}</p>
      <form className="stack" onSubmit={submit}>
        <Select
          name="merchantId"
          label={text('fields.merchantId')}
          options={merchants.map((each) => ({ value: each.merchantId, label: each.name }))}
          placeholder={text('common.chooseMerchant')}
          {...(merchantId !== undefined && { defaultValue: merchantId })}
          required
        />
        <TextField
          name="userId"
          label={text('fields.userId')}
          description={text('privacy.userIdHelp')}
          maxLength={128}
          autoComplete="off"
          required
        />
        <Problem error={exporting.error} />
        <div className="row">
          <Button type="submit" value="export" pending={exporting.pending}>
            {text('privacy.export')}
          </Button>
          <Button type="submit" value="erase" look="bad">
            {text('privacy.erase')}
          </Button>
        </div>
      </form>
      {customerToErase && <EraseDialog customer={customerToErase} onClose={() => setCustomerToErase(undefined)} />}
    </Card>
  )
}
