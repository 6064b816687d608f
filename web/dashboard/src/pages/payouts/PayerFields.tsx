import { useState } from 'react'
import type { BankFileRequest } from '../../../../../src/http/dashboard/api'
import { preference, setPreference } from '../../app/preferences'
import { useText } from '../../app/texts'
import { fieldText } from '../../components/form-data'
import { TextField } from '../../components/TextField'

type Debtor = NonNullable<BankFileRequest['debtor']>

const preferenceName = 'payouts.debtor'
/** The inputs, named after the fields of the request. */
const inputs = {
  name: 'debtor.name',
  iban: 'debtor.iban',
  bic: 'debtor.bic',
  street: 'debtor.address.street',
  building: 'debtor.address.building',
  postcode: 'debtor.address.postcode',
  town: 'debtor.address.town',
  country: 'debtor.address.country',
} as const
type PayerField = keyof typeof inputs
type PayerTexts = { readonly [field in PayerField]: string }

function payerTexts(textOf: (field: PayerField) => unknown): PayerTexts {
  const fields = Object.keys(inputs) as PayerField[]
  return Object.fromEntries(fields.map((field) => [field, String(textOf(field) ?? '')])) as PayerTexts
}

/** Returns the payer stored in this browser, so that the fields are not typed again for every batch. */
function rememberedPayer(): PayerTexts {
  try {
    const stored = JSON.parse(preference(preferenceName) ?? '{}')
    return payerTexts((field) => stored[field])
  } catch {
    return payerTexts(() => '')
  }
}

export function rememberPayer(data: FormData): void {
  setPreference(preferenceName, JSON.stringify(payerTexts((field) => fieldText(data, inputs[field]))))
}

export function debtorOf(data: FormData): Debtor {
  const { name, iban, bic, ...address } = payerTexts((field) => fieldText(data, inputs[field]))
  return {
    name,
    iban,
    ...(bic !== '' && { bic }),
    ...(Object.values(address).some((each) => each !== '') && { address }),
  }
}

/** The account from which the bank pays a SEPA file, and the address of its owner. */
export function PayerFields() {
  const text = useText()
  const [payer] = useState(rememberedPayer)
  return (
    <>
      <TextField
        name={inputs.name}
        label={text('payouts.debtorName')}
        defaultValue={payer.name}
        maxLength={70}
        required
      />
      <TextField name={inputs.iban} label={text('payouts.debtorIban')} defaultValue={payer.iban} required />
      <TextField name={inputs.bic} label={text('payouts.debtorBic')} defaultValue={payer.bic} />
      <fieldset className="PayerAddress" aria-describedby="payer-address-help">
        <legend className="Field-label">{text('payouts.debtorAddress')}</legend>
        <p id="payer-address-help" className="Field-help">
          {text('payouts.debtorAddressHelp')}
        </p>
        <TextField
          name={inputs.street}
          label={text('payouts.debtorStreet')}
          defaultValue={payer.street}
          maxLength={70}
        />
        <TextField
          name={inputs.building}
          label={text('payouts.debtorBuilding')}
          defaultValue={payer.building}
          maxLength={16}
        />
        <TextField
          name={inputs.postcode}
          label={text('payouts.debtorPostcode')}
          defaultValue={payer.postcode}
          maxLength={16}
        />
        <TextField name={inputs.town} label={text('payouts.debtorTown')} defaultValue={payer.town} maxLength={35} />
        <TextField name={inputs.country} label={text('payouts.debtorCountry')} defaultValue={payer.country} />
      </fieldset>
    </>
  )
}
