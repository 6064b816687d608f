import { getRouteApi } from '@tanstack/react-router'
import { EqualNot, RotateCw } from 'lucide-react'
import { useEffect, useState } from 'react'
import type { Session } from '../../../../../src/http/dashboard/api'
import { useThrottled } from '../../api/use-throttled'
import { useText } from '../../app/texts'
import { Amount } from '../../components/Amount'
import { Flag, StatusBadge } from '../../components/Badge'
import { Button } from '../../components/Button'
import { Card } from '../../components/Card'
import { CopyableId } from '../../components/Copyable'
import { type Column, DataTable } from '../../components/DataTable'
import { useDuration } from '../../components/Duration'
import { Empty } from '../../components/Empty'
import { Select } from '../../components/Select'
import { Clock } from '../../components/Time'
import { TransferLink } from '../../components/TransferLink'
import { useAmounts } from '../../components/use-amounts'
import { useFailureName } from '../../components/use-failure-name'
import { LiveCallbackDialog } from './LiveCallbackDialog'
import type { LiveCallback } from './live-callbacks'
import { useEndpoints } from './use-endpoints'
import { useLiveCallbacks } from './use-live-callbacks'

const route = getRouteApi('/pages/callbacks')

interface LiveCallbacksProps {
  readonly merchantId: string
  /** The sandbox merchants of the user. */
  readonly merchants: Session['merchants']
}

/** Shows the callbacks of a sandbox merchant as they happen. */
export function LiveCallbacks({ merchantId, merchants }: LiveCallbacksProps) {
  const text = useText()
  const { callbacks, shown, isPaused, hasGap, pause, resume, clear } = useLiveCallbacks(merchantId)
  const [opened, setOpened] = useState<LiveCallback>()
  const columns = useColumns(merchantId)
  return (
    <>
      {merchants.length > 1 && <MerchantField merchantId={merchantId} merchants={merchants} />}
      <Card
        title={text('callbacks.live.title')}
        actions={
          <>
            <Button small onPress={isPaused ? resume : pause}>
              {isPaused
                ? text('callbacks.live.continue', { count: callbacks.arrived - shown.arrived })
                : text('operations.action.pause')}
            </Button>
            <Button small onPress={clear} isDisabled={callbacks.rows.length === 0}>
              {text('callbacks.live.clear')}
            </Button>
          </>
        }
      >
        <Arrivals arrived={shown.arrived} />
        {hasGap && <p className="notice">{text('callbacks.live.gap')}</p>}
        <DataTable
          label={text('callbacks.live.title')}
          columns={columns}
          rows={shown.rows}
          rowId={idOf}
          onOpen={setOpened}
          empty={<NoCallbacks />}
        />
      </Card>
      {opened && (
        <LiveCallbackDialog
          callback={callbacks.rows.find(({ webhookId }) => webhookId === opened.webhookId) ?? opened}
          onClose={() => setOpened(undefined)}
        />
      )}
    </>
  )
}

const idOf = ({ webhookId }: LiveCallback) => webhookId

function MerchantField({ merchantId, merchants }: LiveCallbacksProps) {
  const text = useText()
  const navigate = route.useNavigate()
  return (
    <div className="LiveCallbacks-merchant">
      <Select
        label={text('fields.merchantId')}
        options={merchants.map((each) => ({ value: each.merchantId, label: each.name }))}
        value={merchantId}
        onChange={(chosen) => void navigate({ search: (previous) => ({ ...previous, merchantId: chosen }) })}
      />
    </div>
  )
}

function NoCallbacks() {
  const text = useText()
  return (
    <Empty title={text('callbacks.live.empty')}>
      <p>{text('callbacks.live.play')}</p>
      <CopyableId value="transferd trigger completed" label={text('callbacks.live.command')} />
      <p>{text('callbacks.live.receive')}</p>
      <CopyableId
        value="transferd listen --forward-to http://127.0.0.1:4000/callbacks"
        label={text('callbacks.live.command')}
      />
    </Empty>
  )
}

const announceMs = 1_000

/** Announces new callbacks to screen readers, at most once per second. */
function Arrivals({ arrived }: { readonly arrived: number }) {
  const text = useText()
  const [announced, setAnnounced] = useState({ count: 0, arrived })
  const announceSoon = useThrottled(
    () => setAnnounced((last) => ({ count: arrived - last.arrived, arrived })),
    announceMs,
  )
  const isNew = arrived > announced.arrived
  useEffect(() => {
    if (isNew) announceSoon()
  }, [isNew, announceSoon])
  return (
    <output className="visually-hidden">
      {/* A new element is announced even if its text is the same. */}
      {announced.count > 0 && (
        <span key={announced.arrived}>{text('callbacks.live.new', { count: announced.count })}</span>
      )}
    </output>
  )
}

function useColumns(merchantId: string): readonly Column<LiveCallback>[] {
  const text = useText()
  const endpoint = useEndpoints().data?.items.find((each) => each.merchantId === merchantId)
  const isDisabled = endpoint?.state === 'disabled'
  return [
    {
      id: 'recorded',
      header: text('fields.recordedAt'),
      card: 'end',
      cell: ({ recordedAt }) => <Clock at={recordedAt} />,
    },
    { id: 'status', header: text('fields.transferStatus'), card: 'status', cell: (row) => <StatusCell row={row} /> },
    {
      id: 'transfer',
      header: text('fields.transfer'),
      card: 'name',
      cell: ({ isResent, ...transfer }) => (
        <span className="LiveCallbacks-transfer">
          <TransferLink {...transfer} />
          {isResent && (
            <span className="LiveCallbacks-resent">
              <RotateCw className="icon-12" />
              {text('callbacks.live.resent')}
            </span>
          )}
        </span>
      ),
    },
    {
      id: 'amount',
      header: text('fields.amountMinor'),
      align: 'end',
      card: 'title',
      cell: ({ amountMinor }) => <Amount minor={amountMinor} />,
    },
    {
      id: 'attempt',
      header: text('fields.attempt'),
      wide: true,
      card: 'under',
      cell: (row) => (
        <span className="LiveCallbacks-outcome">
          <LastAttempt row={row} isDisabled={isDisabled} />
        </span>
      ),
    },
  ]
}

function StatusCell({ row }: { readonly row: LiveCallback }) {
  const text = useText()
  const { format } = useAmounts()
  const { statusDescription, hasAmountMismatch, transactionAmountMinor } = row
  return (
    <span className="row">
      <StatusBadge status={statusDescription} />
      {hasAmountMismatch && transactionAmountMinor !== 0n && (
        <Flag tone="person" icon={EqualNot}>
          {text('callbacks.live.actual', { amount: format(transactionAmountMinor) })}
        </Flag>
      )}
    </span>
  )
}

/** Shows the last attempt, or why the callback waits. */
function LastAttempt({ row, isDisabled }: { readonly row: LiveCallback; readonly isDisabled: boolean }) {
  const text = useText()
  const duration = useDuration()
  const failureName = useFailureName()
  const { attempts, state } = row
  const last = attempts.at(-1)
  if (isDisabled && (state === 'waiting' || state === 'failed')) return text('callbacks.live.disabled')
  if (state === 'waiting' || !last) return text('callbacks.status.waiting')
  return (
    <span className="LiveCallbacks-attempt" data-failed={last.reason !== null || undefined}>
      {text('callbacks.live.attempt', {
        number: attempts.length,
        outcome: last.reason === null ? `HTTP ${last.httpStatus}` : failureName(last.reason),
        duration: duration(last.durationMs),
      })}
    </span>
  )
}
