import type { ReactNode } from 'react'
import { useMerchantName, usePaymentMethodName } from '../../app/merchant-names'
import { useKnownText } from '../../app/texts'
import { EventValue } from '../../components/EventValue'

/** Returns the display name of an event field, or the field itself if the texts do not contain it. */
export function useFieldName(): (name: string) => ReactNode {
  const known = useKnownText()
  return (name) => known(`fields.${name}`) ?? <code>{name}</code>
}

/** The texts for the values of some fields. */
const valueTexts: { readonly [field: string]: string } = {
  status: 'common.status',
  kind: 'common.kind',
  channel: 'fields.channel',
  requireSignature: 'merchants.signature',
}

export function FieldValue({ name, value }: { readonly name: string; readonly value: unknown }) {
  const known = useKnownText()
  const merchantName = useMerchantName()
  const methodName = usePaymentMethodName()
  if (typeof value === 'string') {
    const label = name === 'merchantId' ? merchantName(value) : known(`${valueTexts[name]}.${value}`)
    if (label !== undefined) return <bdi>{label}</bdi>
  }
  if (name === 'paymentMethod' && typeof value === 'number') return methodName(value)
  return <EventValue name={name} value={value} />
}
