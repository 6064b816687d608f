import type { SubscriptionInfo } from '@eventstore/db-client/generated/persistent_pb.js'
import type { GroupInfo, Membership } from '@transferd/event-log/groups'
import { type GroupSettings, wholeLog } from '@transferd/event-log/groups'
import { positionText } from '@transferd/event-log/streams'
import { persistent } from '../wire/generated-protocol.js'
import type { ResolvedEvent } from '../wire/resolved-event.js'
import { revisionText } from '../wire/wire-values.js'
import type { ClientConsumer } from './consume-call.js'

/** EventStoreDB's measurements of the time until an ack, which this server lists as 0 on request. */
const measurements = [
  'Highest',
  'Mean',
  'Median',
  'Fastest',
  'Quintile 1',
  'Quintile 2',
  'Quintile 3',
  'Quintile 4',
  'Quintile 5',
  '90%',
  '95%',
  '99%',
  '99.5%',
  '99.9%',
]

/** Returns the state of a group. For a group that does not run in this process, it only includes the state in the log. */
export function infoOf({ stored, running, checkpoint, parkedCount }: GroupInfo<ResolvedEvent>): SubscriptionInfo {
  const { source, group, settings } = stored
  const isOfAll = source === wholeLog
  const text = (position: number) => (isOfAll ? allPositionText(position) : revisionText(position))
  const members = running?.members ?? []
  const known = running?.group.lastRead
  const info = new persistent.SubscriptionInfo()
    .setEventSource(source)
    .setGroupName(group)
    .setStatus(running ? (running.group.readAhead.isLive ? 'Live' : 'Behind') : 'NotReady')
    .setConnectionsList(members.map((member) => connectionOf(member, settings.extraStatistics)))
    .setTotalItems(`${running?.totalItems ?? 0}`)
    .setCountSinceLastMeasurement('0')
    .setResolveLinkTos(settings.resolveLinks)
    .setStartFrom(settings.startText ?? startText(settings.startFrom, isOfAll))
    .setMessageTimeoutMilliseconds(settings.messageTimeoutMs)
    .setExtraStatistics(settings.extraStatistics)
    .setMaxRetryCount(settings.maxRetryCount)
    .setLiveBufferSize(settings.liveBufferSize)
    .setBufferSize(settings.historyBufferSize)
    .setReadBatchSize(settings.readBatchSize)
    .setCheckPointAfterMilliseconds(settings.checkpointAfterMs)
    .setMinCheckPointCount(settings.minCheckpointCount)
    .setMaxCheckPointCount(settings.maxCheckpointCount)
    .setReadBufferCount(running?.group.buffered ?? 0)
    .setLiveBufferCount('0')
    .setRetryBufferCount(running?.group.waitingForRetry ?? 0)
    .setTotalInFlightMessages(running?.group.inFlight ?? 0)
    .setOutstandingMessagesCount(running?.group.inFlight ?? 0)
    .setNamedConsumerStrategy(settings.strategy)
    .setMaxSubscriberCount(settings.maxSubscriberCount)
    .setParkedMessageCount(`${parkedCount}`)
  if (checkpoint !== undefined) info.setLastCheckpointedEventPosition(text(checkpoint))
  if (known !== undefined) info.setLastKnownEventPosition(text(known))
  return info
}

function startText(startFrom: GroupSettings['startFrom'], isOfAll: boolean): string {
  if (startFrom === 'end') return isOfAll ? 'C:-1/P:-1' : '-1'
  const position = startFrom === 'start' ? 0 : startFrom
  return isOfAll ? allPositionText(position) : `${position}`
}

function allPositionText(position: number): string {
  return `C:${positionText(position)}/P:${positionText(position)}`
}

function connectionOf(
  { consumer, inFlight }: Membership<ResolvedEvent>,
  extraStatistics: boolean,
): SubscriptionInfo.ConnectionInfo {
  const { ConnectionInfo, Measurement } = persistent.SubscriptionInfo
  const { user, connectionName, totalItems } = consumer as ClientConsumer
  const connection = new ConnectionInfo()
    .setFrom('')
    .setUsername(user)
    .setConnectionName(connectionName)
    .setTotalItems(`${totalItems}`)
    .setCountSinceLastMeasurement('0')
    .setAvailableSlots(consumer.bufferSize - inFlight)
    .setInFlightMessages(inFlight)
  if (extraStatistics) {
    for (const key of measurements) connection.addObservedMeasurements(new Measurement().setKey(key).setValue('0'))
  }
  return connection
}
