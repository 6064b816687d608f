import { Fragment, type ReactNode } from 'react'
import { isOpenRecord } from '../../../../../src/domain/event-summary'
import { useMerchantName, usePaymentMethodName } from '../../app/merchant-names'
import { useKnownText } from '../../app/texts'
import { EventValue } from '../../components/EventValue'

/** Returns the display name of an event field, or the field itself if the texts do not contain it. */
export function useFieldName(): (name: string) => ReactNode {
  const known = useKnownText()
  return (name) => known(`fields.${name}`) ?? <code>{name}</code>
}

/** The ids of the texts for the values of some fields. */
const valueTexts: { readonly [field: string]: (value: string) => string } = {
  status: (value) => `common.status.${value}`,
  kind: (value) => `common.kind.${value}`,
  channel: (value) => `transfer.channel.${value}`,
  cancelReason: (value) => `transfer.cancelReason.${value}`,
  requireSignature: (value) => `merchants.signature.${value}`,
  scopes: (value) => `merchants.scope.${value}`,
  role: (value) => `common.role.${value}`,
}

/** Shows the value of a field. The members of a list are separated by commas. */
export function FieldValue({ name, value }: { readonly name: string; readonly value: unknown }): ReactNode {
  const known = useKnownText()
  const fieldName = useFieldName()
  const merchantName = useMerchantName()
  const methodName = usePaymentMethodName()
  if (typeof value === 'string') {
    const label =
      name === 'merchantId' || name === 'merchantIds' ? merchantName(value) : known(valueTexts[name]?.(value) ?? '')
    if (label !== undefined) return <bdi>{label}</bdi>
  }
  if (name === 'paymentMethod' && typeof value === 'number') return methodName(value)
  if (typeof value !== 'object' || value === null || isOpenRecord(name, value))
    return <EventValue name={name} value={value} />
  const isList = Array.isArray(value)
  return Object.entries(value).map(([key, each], index) => (
    <Fragment key={key}>
      {index > 0 && ', '}
      {!isList && <>{fieldName(key)}: </>}
      <FieldValue name={isList ? name : key} value={each} />
    </Fragment>
  ))
}
