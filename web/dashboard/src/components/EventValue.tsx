import type { ReactNode } from 'react'
import { isOpenRecord } from '../../../../src/domain/event-summary'
import { useActorName } from '../app/actor-names'
import { useKnownText, useText } from '../app/texts'
import { Amount } from './Amount'
import { Duration } from './Duration'
import { OpenRecord } from './OpenRecord'
import { ReceiptLink } from './ReceiptLink'
import { Time } from './Time'

/** Shows the value of an event field. The end of the field's name states the unit, such as `Minor` or `Ms`. */
export function EventValue({ name, value }: { readonly name: string; readonly value: unknown }): ReactNode {
  const text = useText()
  const known = useKnownText()
  const actorName = useActorName()
  if (isOpenRecord(name, value)) return <OpenRecord record={value} />
  if (typeof value === 'boolean') return text(value ? 'common.yes' : 'common.no')
  if (typeof value === 'number' || typeof value === 'bigint' || /^-?\d+$/.test(String(value))) {
    if (name.endsWith('Minor')) return <Amount minor={BigInt(String(value))} />
    if (name.endsWith('Ms')) return <Duration ms={Number(value)} />
  }
  if (typeof value === 'string') {
    if (/^\d{4}-\d\d-\d\dT[\d:.]+Z$/.test(value)) return <Time at={value} exact />
    if (/^(user|merchant|cli|system):.|^customer$/.test(value)) return <bdi title={value}>{actorName(value)}</bdi>
    const effect = name === 'effect' ? known(`fields.effect.${value}`) : undefined
    if (effect !== undefined) return effect
    const words = name === 'reasonCode' ? known(`fields.reasonCode.${value}`) : undefined
    if (words !== undefined) return text('transfer.reasonWithCode', { code: value, words })
    return name === 'receiptUrl' ? <ReceiptLink url={value} /> : <bdi>{value}</bdi>
  }
  return typeof value === 'number' ? value : <code>{JSON.stringify(value)}</code>
}
