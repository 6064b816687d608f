import { useQuery } from '@tanstack/react-query'
import { useIntl } from 'react-intl'
import { api } from '../../api/api-client'
import type { ChangesAnswer } from '../../api/contract'
import { useMerchantName, usePaymentMethodName } from '../../app/merchant-names'
import { useKnownText, useText } from '../../app/texts'
import { Empty } from '../../components/Empty'
import { Loaded } from '../../components/Loaded'
import { exactTime, Time } from '../../components/Time'
import { useAmounts } from '../../components/use-amounts'
import './UsersPage.css'

type Change = ChangesAnswer['items'][number]

/** Who changed a merchant or a person, what, and when: from the log. */
export function ChangeHistory({ subject }: { readonly subject: string }) {
  const text = useText()
  const query = useQuery({
    queryKey: ['changes', subject],
    queryFn: ({ signal }) => api.get<ChangesAnswer>('/changes', { subject }, signal),
  })
  return (
    <Loaded query={query}>
      {({ items }) =>
        items.length === 0 ? (
          <Empty title={text('users.noChanges')} />
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
  const inWords = useWords()
  const fields = shownFields(data)
  return (
    <>
      <p className="ChangeHistory-what">
        <strong>{knownText(`users.event.${type}`) ?? type}</strong>
        <span className="muted">
          <bdi>{actor}</bdi> · <Time at={at} />
        </span>
      </p>
      {fields.length > 0 && (
        <dl className="ChangeHistory-fields">
          {fields.map(([name, value]) => (
            <div key={name}>
              <dt>{knownText(`merchants.setting.${name}`) ?? knownText(`users.field.${name}`) ?? name}</dt>
              <dd>
                <bdi>{inWords(name, value)}</bdi>
              </dd>
            </div>
          ))}
        </dl>
      )}
    </>
  )
}

/** Of settings each stands for itself. */
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

/** Fields whose values have names of their own. */
const named: { readonly [field: string]: string } = {
  role: 'common.role',
  scopes: 'merchants.scope',
  requireSignature: 'merchants.signature',
}

/** What a field was set to, as people write it. */
function useWords() {
  const text = useText()
  const knownText = useKnownText()
  const intl = useIntl()
  const methodName = usePaymentMethodName()
  const merchantName = useMerchantName()
  const { format } = useAmounts()
  const inWords = (name: string, value: unknown): string => {
    if (value === null && name === 'merchantIds') return text('users.allMerchants')
    if (value === null || value === undefined || value === '') return text('common.none')
    if (typeof value === 'boolean') return text(value ? 'common.yes' : 'common.no')
    if (typeof value === 'number') return name.endsWith('Minor') ? format(value) : String(value)
    if (isInstruction(value)) return `${methodName(value.paymentMethod)}: ${value.text}`
    if (Array.isArray(value)) {
      return value.length === 0 ? text('common.none') : value.map((each) => inWords(name, each)).join(', ')
    }
    if (typeof value !== 'string') return JSON.stringify(value)
    if (name === 'merchantIds') return merchantName(value)
    return name.endsWith('Until') ? exactTime(intl, value) : (knownText(`${named[name]}.${value}`) ?? value)
  }
  return inWords
}
