import { type FormEvent, useState } from 'react'
import { api } from '../../api/api-client'
import type { CustomerRequest } from '../../api/contract'
import { filled } from '../../api/settlement-form'
import { useAction } from '../../api/use-action'
import { useSession } from '../../app/current-session'
import { useMerchant } from '../../app/merchant-names'
import { useText } from '../../app/texts'
import { Button } from '../../components/Button'
import { Card } from '../../components/Card'
import { Problem } from '../../components/Problem'
import { Select } from '../../components/Select'
import { TextField } from '../../components/TextField'
import { notify } from '../../components/Toasts'
import { EraseDialog } from './EraseDialog'

/** Somebody asked their merchant what is known of them, or to be forgotten. */
export function CustomerRequests() {
  const text = useText()
  const { merchants } = useSession()
  const merchantId = useMerchant()
  const [erasing, setErasing] = useState<CustomerRequest>()
  const exporting = useAction<CustomerRequest, void>({
    run: (customer) => api.download('/privacy/export', customer),
    done: () => notify(text('privacy.exported')),
  })
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    const data = new FormData(event.currentTarget)
    const customer = { merchantId: filled(data, 'merchantId') ?? '', userId: filled(data, 'userId') ?? '' }
    if (customer.merchantId === '' || customer.userId === '') return
    const { submitter } = event.nativeEvent as SubmitEvent
    if (submitter?.getAttribute('value') === 'erase') setErasing(customer)
    else exporting.start(customer)
  }
  return (
    <Card title={text('privacy.customer')}>
      <p>{text('privacy.customerHelp')}</p>
      <form className="stack" onSubmit={submit}>
        <Select
          name="merchantId"
          label={text('privacy.merchant')}
          options={merchants.map((each) => ({ value: each.merchantId, label: each.name }))}
          placeholder={text('privacy.chooseMerchant')}
          {...(merchantId !== undefined && { defaultValue: merchantId })}
          required
        />
        <TextField
          name="userId"
          label={text('privacy.userId')}
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
          <Button type="submit" value="erase" look="danger">
            {text('privacy.erase')}
          </Button>
        </div>
      </form>
      {erasing && <EraseDialog customer={erasing} onClose={() => setErasing(undefined)} />}
    </Card>
  )
}
