import type { ReactNode } from 'react'
import { useMerchantName, usePaymentMethodName } from '../../app/merchant-names'
import { useKnownText } from '../../app/texts'
import { EventValue } from '../../components/EventValue'

/** A field of the log in words, or as the log calls it. */
export function useFieldName(): (name: string) => ReactNode {
  const known = useKnownText()
  return (name) => known(`audit.field.${name}`) ?? known(`merchants.setting.${name}`) ?? <code>{name}</code>
}

/** Fields whose values have words. */
const namedBy: { readonly [field: string]: string } = {
  status: 'common.status',
  kind: 'common.kind',
  channel: 'transfer.channel',
  requireSignature: 'merchants.signature',
}

export function FieldValue({ name, value }: { readonly name: string; readonly value: unknown }) {
  const known = useKnownText()
  const merchantName = useMerchantName()
  const methodName = usePaymentMethodName()
  if (typeof value === 'string') {
    const words = name === 'merchantId' ? merchantName(value) : known(`${namedBy[name]}.${value}`)
    if (words !== undefined) return <bdi>{words}</bdi>
  }
  if (name === 'paymentMethod' && typeof value === 'number') return methodName(value)
  return <EventValue name={name} value={value} />
}
