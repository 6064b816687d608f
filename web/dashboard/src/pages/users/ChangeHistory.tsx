import { useQuery } from '@tanstack/react-query'
import { useIntl } from 'react-intl'
import type { ChangesResponse } from '../../../../../src/http/dashboard/api'
import { api } from '../../api/api-client'
import { useActorName } from '../../app/actor-names'
import { useEventName } from '../../app/event-names'
import { useMerchantName, usePaymentMethodName } from '../../app/merchant-names'
import { useKnownText, useText } from '../../app/texts'
import { Empty } from '../../components/Empty'
import { Loaded } from '../../components/Loaded'
import { exactTime, Time } from '../../components/Time'
import { useAmounts } from '../../components/use-amounts'
import './UsersPage.css'

type Change = ChangesResponse['items'][number]

/** Lists the changes of a merchant or a user, from the log. */
export function ChangeHistory({ subject }: { readonly subject: string }) {
  const text = useText()
  const query = useQuery({
    queryKey: ['changes', subject],
    queryFn: ({ signal }) => api.get<ChangesResponse>('/changes', { subject }, signal),
  })
  return (
    <Loaded query={query}>
      {({ items }) =>
        items.length === 0 ? (
          <Empty title={text('users.noHistory')} />
        ) : (
          <ol className="ChangeHistory">
            {items.map((change, index) => (
              <li key={`${change.at} ${items.length - index}`}>
                <ChangeItem change={change} />
              </li>
            ))}
          </ol>
        )
      }
    </Loaded>
  )
}

function ChangeItem({ change: { at, actor, type, data } }: { readonly change: Change }) {
  const knownText = useKnownText()
  const eventName = useEventName()
  const actorName = useActorName()
  const formatValue = useFormatValue()
  const fields = shownFields(data)
  return (
    <>
      <p className="ChangeHistory-event">
        <strong>{eventName(type)}</strong>
        <span className="muted">
          <bdi>{actorName(actor)}</bdi> · <Time at={at} />
        </span>
      </p>
      {fields.length > 0 && (
        <dl className="ChangeHistory-fields">
          {fields.map(([name, value]) => (
            <div key={name}>
              <dt>{knownText(`fields.${name}`) ?? name}</dt>
              <dd>
                <bdi>{formatValue(name, value)}</bdi>
              </dd>
            </div>
          ))}
        </dl>
      )}
    </>
  )
}

/** Returns the fields of a change. Settings are listed individually. */
function shownFields(data: Change['data']): [string, unknown][] {
  return Object.entries(data).flatMap(([name, value]) =>
    (name === 'changes' || name === 'settings') && isObject(value) ? Object.entries(value) : [[name, value]],
  )
}

function isInstruction(value: unknown): value is { readonly paymentMethod: number; readonly text: string } {
  return isObject(value) && 'paymentMethod' in value && typeof value.paymentMethod === 'number' && 'text' in value
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The texts for the values of some fields. */
const valueTexts: { readonly [field: string]: string } = {
  role: 'common.role',
  scopes: 'merchants.scope',
  requireSignature: 'merchants.signature',
}

/** Returns a function that formats the value of a field for display. */
function useFormatValue() {
  const text = useText()
  const knownText = useKnownText()
  const intl = useIntl()
  const methodName = usePaymentMethodName()
  const merchantName = useMerchantName()
  const { format } = useAmounts()
  const formatValue = (name: string, value: unknown): string => {
    if (value === null && name === 'merchantIds') return text('common.allMerchants')
    if (value === null || value === undefined || value === '') return text('common.none')
    if (typeof value === 'boolean') return text(value ? 'common.yes' : 'common.no')
    if (typeof value === 'number') return name.endsWith('Minor') ? format(value) : String(value)
    if (isInstruction(value)) return `${methodName(value.paymentMethod)}: ${value.text}`
    if (Array.isArray(value)) {
      return value.length === 0 ? text('common.none') : value.map((each) => formatValue(name, each)).join(', ')
    }
    if (typeof value !== 'string') return JSON.stringify(value)
    if (name === 'merchantIds') return merchantName(value)
    return name.endsWith('Until') ? exactTime(intl, value) : (knownText(`${valueTexts[name]}.${value}`) ?? value)
  }
  return formatValue
}
