import {
  ArrowDownToLine,
  ArrowUpFromLine,
  Check,
  ChevronRight,
  FileDown,
  Hand,
  HandCoins,
  Landmark,
  type LucideIcon,
  Pencil,
  PencilLine,
  RotateCcw,
  Undo2,
  UserCheck,
  Wallet,
  X,
} from 'lucide-react'
import { useState } from 'react'
import { storyFields } from '../../../../../src/domain/event-summary'
import type { StoryItem } from '../../../../../src/http/dashboard/api'
import { useActorName } from '../../app/actor-names'
import { useKnownText, useText } from '../../app/texts'
import { Card } from '../../components/Card'
import { useDuration, useDurationText } from '../../components/Duration'
import { Empty } from '../../components/Empty'
import { EventValue } from '../../components/EventValue'
import { Segments } from '../../components/Segments'
import { Clock } from '../../components/Time'
import { useAmounts } from '../../components/use-amounts'
import { TransferTimeline } from './TransferTimeline'
import { type StoryCallback, type StoryEntry, storyOf } from './transfer-story'

/** Shows what happened, oldest first: the short story, or every event with all of its fields. */
export function TransferStory({ items }: { readonly items: readonly StoryItem[] }) {
  const text = useText()
  const [view, setView] = useState('short')
  return (
    <Card
      title={text('transfer.history')}
      actions={
        <Segments
          label={text('transfer.historyAs')}
          options={[
            { value: 'short', label: text('transfer.historyShort') },
            { value: 'all', label: text('transfer.historyAll') },
          ]}
          value={view}
          onChange={setView}
        />
      }
    >
      {view === 'all' || items.length === 0 ? <TransferTimeline items={items} /> : <Story entries={storyOf(items)} />}
    </Card>
  )
}

function Story({ entries }: { readonly entries: readonly StoryEntry[] }) {
  const text = useText()
  if (entries.length === 0) return <Empty title={text('transfer.noHistory')} />
  return (
    <ol className="Story">
      {entries.map((entry) => (
        <Entry key={`${entry.item.source} ${entry.item.revision}`} entry={entry} />
      ))}
    </ol>
  )
}

const icons: { readonly [type: string]: LucideIcon } = {
  DepositCreated: ArrowDownToLine,
  WithdrawalCreated: ArrowUpFromLine,
  TransferCompleted: Check,
  TransferSentToManualControl: Hand,
  TransferCancelled: X,
  TransferFailed: X,
  FundsReceived: Landmark,
  LateFundsReceived: Landmark,
  FundsReturned: Undo2,
  AttentionResolved: Check,
  CorrectionProposed: PencilLine,
  TransferCorrected: Pencil,
  TransferReopened: RotateCcw,
  WithdrawalClaimed: HandCoins,
  WithdrawalReleased: Undo2,
  WithdrawalAddedToBankFile: FileDown,
  WithdrawalApproved: UserCheck,
  WithdrawalReturned: Undo2,
  BankPaymentMatched: Landmark,
}

const tones: { readonly [type: string]: string } = {
  TransferCompleted: 'good',
  TransferFailed: 'bad',
  TransferSentToManualControl: 'person',
  WithdrawalApproved: 'second',
  WithdrawalReturned: 'person',
  CorrectionProposed: 'person',
  TransferCorrected: 'second',
  FundsReceived: 'accent',
  LateFundsReceived: 'accent',
}

function Entry({ entry: { item, tookMs, callbacks } }: { readonly entry: StoryEntry }) {
  const text = useText()
  const known = useKnownText()
  const actorName = useActorName()
  const took = useDurationText()
  const { format } = useAmounts()
  const { amountMinor, facts, words } = storyFields(item)
  const Icon = icons[item.type] ?? Wallet
  const name = known(`events.${item.type}`) ?? item.type
  return (
    <li className="Story-entry" data-tone={tones[item.type]}>
      <span className="Story-mark" aria-hidden>
        <Icon />
      </span>
      <div className="Story-what">
        <strong>
          {amountMinor === undefined ? name : text('transfer.withAmount', { name, amount: format(amountMinor) })}
        </strong>
        <p className="Story-who">
          <bdi>{actorName(item.actor)}</bdi>
          {facts.map(([field, value]) => (
            <span key={field} className="Story-fact">
              {known(`fields.${field}`) ?? field}: <EventValue name={field} value={value} />
            </span>
          ))}
        </p>
        {words.map((each) => (
          <p key={each} className="Story-quote">
            <bdi>{each}</bdi>
          </p>
        ))}
        {callbacks.map((callback) => (
          <Callback key={callback.webhookId} callback={callback} />
        ))}
      </div>
      <p className="Story-when">
        <Clock at={item.at} />
        {tookMs !== null && (
          <span className="Story-took">
            {tookMs < 1000 ? text('common.immediately') : text('transfer.after', { time: took(tookMs) })}
          </span>
        )}
      </p>
    </li>
  )
}

/** A callback is folded, unless the merchant has not received it. */
function Callback({ callback: { attempts, state } }: { readonly callback: StoryCallback }) {
  const text = useText()
  const duration = useDuration()
  const failed = attempts.filter(({ type }) => type === 'CallbackAttemptFailed').length
  return (
    <details className="Story-callback" open={state !== 'delivered' && failed > 0}>
      <summary>
        <ChevronRight />
        {text(`transfer.callback.${state}`, { failed })}
      </summary>
      <ol>
        {attempts.map(({ revision, type, at, data }) => (
          <li key={revision} data-failed={type === 'CallbackAttemptFailed' || undefined}>
            <span>
              {text('transfer.attempt', { number: Number(data.attempt ?? 1) })}{' '}
              <bdi>{String(data.httpStatus ?? data.reason ?? '')}</bdi>
              {data.durationMs !== null && data.durationMs !== undefined && (
                <span className="faint">
                  {text('transfer.attemptTook', { time: duration(Number(data.durationMs)) })}
                </span>
              )}
            </span>
            <Clock at={at} />
          </li>
        ))}
      </ol>
    </details>
  )
}
