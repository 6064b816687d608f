import { Send } from 'lucide-react'
import { type ReactNode, useState } from 'react'
import { useIntl } from 'react-intl'
import type { EndpointItem } from '../../../../../src/http/dashboard/api'
import { usePermission } from '../../app/current-session'
import { useText } from '../../app/texts'
import { Button } from '../../components/Button'
import { CappedCount } from '../../components/CappedCount'
import { Card } from '../../components/Card'
import { useDuration } from '../../components/Duration'
import { Empty } from '../../components/Empty'
import { Loaded } from '../../components/Loaded'
import { Menu } from '../../components/Menu'
import { AttemptBars } from '../../components/Sparkline'
import { Time } from '../../components/Time'
import { TransferLink } from '../../components/TransferLink'
import { useFailureName } from '../../components/use-failure-name'
import { EnableEndpointDialog } from './EnableEndpointDialog'
import { EndpointHealth } from './EndpointHealth'
import { ResendParkedDialog } from './ResendParkedDialog'
import { TestEndpointDialog } from './TestEndpointDialog'
import { useEndpoints } from './use-endpoints'

const worstFirst = ['failing', 'disabled', 'healthy']

type Task = 'test' | 'enable' | 'resend'

interface Opened {
  readonly task: Task
  readonly endpoint: EndpointItem
}

/** Lists the endpoints, the failing ones first and open. */
export function EndpointList({ merchantId }: { readonly merchantId: string | undefined }) {
  const text = useText()
  const [opened, setOpened] = useState<Opened>()
  const query = useEndpoints()
  const dialog = opened && { endpoint: opened.endpoint, onClose: () => setOpened(undefined) }
  return (
    <Card title={text('callbacks.endpoints')}>
      <Loaded query={query}>
        {({ items }) => {
          const shown = shownOf(items, merchantId)
          if (shown.length === 0) {
            return <Empty title={text('callbacks.noEndpoints')}>{text('callbacks.noEndpointsHelp')}</Empty>
          }
          return (
            <ul className="Endpoints">
              <li className="Endpoint Endpoint-head" aria-hidden="true">
                <span>{text('fields.endpoint')}</span>
                <span>{text('callbacks.attempts')}</span>
                <span className="number">{text('callbacks.delivered')}</span>
                <span className="number">{text('callbacks.within')}</span>
                <span className="number">{text('fields.waiting')}</span>
                <span className="number">{text('fields.parked')}</span>
                <span />
              </li>
              {shown.map((endpoint) => (
                <Endpoint
                  key={endpoint.merchantId}
                  endpoint={endpoint}
                  open={(task) => setOpened({ task, endpoint })}
                />
              ))}
            </ul>
          )
        }}
      </Loaded>
      {opened?.task === 'test' && dialog && <TestEndpointDialog {...dialog} />}
      {opened?.task === 'enable' && dialog && <EnableEndpointDialog {...dialog} />}
      {opened?.task === 'resend' && dialog && <ResendParkedDialog {...dialog} />}
    </Card>
  )
}

function shownOf(items: readonly EndpointItem[], merchantId: string | undefined): readonly EndpointItem[] {
  return items
    .filter((item) => merchantId === undefined || item.merchantId === merchantId)
    .sort((a, b) => worstFirst.indexOf(a.state) - worstFirst.indexOf(b.state))
}

interface EndpointProps {
  readonly endpoint: EndpointItem
  readonly open: (task: Task) => void
}

function Endpoint({ endpoint, open }: EndpointProps) {
  const text = useText()
  const intl = useIntl()
  const duration = useDuration()
  const { merchantName, url, state, waiting, parked, attempts } = endpoint
  const entries = useEntries(endpoint, open)
  const delivered = attempts.filter(({ failure }) => failure === null).length
  const durations = attempts.map(({ durationMs }) => durationMs).sort((a, b) => a - b)
  const slow = durations[Math.ceil(durations.length * 0.95) - 1] ?? null
  const figure = (label: string, value: ReactNode) => (
    <span className="number" data-label={label}>
      {value}
    </span>
  )
  return (
    <li>
      <div className="Endpoint">
        <div className="stack-tight">
          <span className="row">
            <strong>
              <bdi>{merchantName}</bdi>
            </strong>
            <EndpointHealth endpoint={endpoint} />
          </span>
          <bdi className="Endpoint-url">{url.replace(/^https:\/\//, '')}</bdi>
        </div>
        {attempts.length === 0 ? (
          <span className="muted small">{text('callbacks.noAttempts')}</span>
        ) : (
          <AttemptBars
            attempts={attempts}
            label={text('callbacks.attemptsOf', { delivered, count: attempts.length })}
          />
        )}
        {figure(
          text('callbacks.delivered'),
          attempts.length === 0
            ? '–'
            : intl.formatNumber(delivered / attempts.length, { style: 'percent', maximumFractionDigits: 0 }),
        )}
        {figure(text('callbacks.within'), duration(slow))}
        {figure(text('fields.waiting'), <CappedCount count={waiting} />)}
        {figure(
          text('fields.parked'),
          parked > 0 ? (
            <strong className="Endpoint-bad">
              <CappedCount count={parked} />
            </strong>
          ) : (
            0
          ),
        )}
        {entries.length > 0 && (
          <Menu label="⋯" name={text('callbacks.actionsFor', { merchant: merchantName })} items={entries} />
        )}
      </div>
      {state === 'failing' && attempts.length > 0 && <Failure endpoint={endpoint} open={open} />}
    </li>
  )
}

function useEntries({ state, parked }: EndpointItem, open: (task: Task) => void) {
  const text = useText()
  const canManage = usePermission('endpoints:manage')
  const canResend = usePermission('callbacks:resend')
  const entry = (id: Task, label: string) => ({ id, label, onAction: () => open(id) })
  return [
    ...(canManage ? [entry('test', text('callbacks.test'))] : []),
    ...(canManage && state === 'disabled' ? [entry('enable', text('callbacks.enable'))] : []),
    ...(canResend && parked > 0 ? [entry('resend', text('callbacks.resendParked'))] : []),
  ]
}

const shownAttempts = 5

/** Shows what a failing endpoint responds, and its last attempts. */
function Failure({ endpoint, open }: EndpointProps) {
  const text = useText()
  const duration = useDuration()
  const failureName = useFailureName()
  const canManage = usePermission('endpoints:manage')
  const canResend = usePermission('callbacks:resend')
  const { attempts, lastBody, parked } = endpoint
  const newest = attempts.toReversed()
  const last = newest[0]!
  const failures = newest.findIndex(({ failure }) => failure === null)
  return (
    <div className="Endpoint-failure">
      <div className="stack">
        <h3>{text('callbacks.lastResponse')}</h3>
        <p className="muted small">
          {text('callbacks.failures', { count: failures < 0 ? attempts.length : failures })} <Time at={last.at} />
        </p>
        <pre className="Endpoint-response">
          <strong className="Endpoint-bad">{last.httpStatus ?? text('callbacks.noResponse')}</strong>
          {`  ${last.httpStatus === null ? `${failureName(last.failure ?? '')}  ` : ''}${duration(last.durationMs)}`}
          {lastBody !== null && `\n\n${lastBody}`}
        </pre>
        <div className="row">
          {canManage && (
            <Button look="primary" onPress={() => open('test')}>
              <Send />
              {text('callbacks.test')}
            </Button>
          )}
          {canResend && parked > 0 && <Button onPress={() => open('resend')}>{text('callbacks.resendParked')}</Button>}
        </div>
      </div>
      <div>
        <h3>{text('callbacks.lastAttempts')}</h3>
        <ul className="Endpoint-attempts">
          {newest.slice(0, shownAttempts).map((attempt) => (
            <li key={`${attempt.at} ${attempt.trackingId}`} data-failed={attempt.failure !== null || undefined}>
              <span>{attempt.httpStatus ?? text('callbacks.noResponse')}</span>
              <span>{text(`common.status.${attempt.transferStatus}`)}</span>
              <TransferLink {...attempt} />
              <span className="number">{duration(attempt.durationMs)}</span>
              <span className="muted number">
                <Time at={attempt.at} />
              </span>
            </li>
          ))}
        </ul>
      </div>
    </div>
  )
}
