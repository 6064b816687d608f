import type { SubscriptionInfo } from '@eventstore/db-client/generated/persistent_pb.js'
import { persistent } from './generated.js'
import { wholeLog } from './groups/group-settings.js'
import type { GroupMember } from './groups/group-state.js'
import type { RunningGroup } from './groups/running-group.js'
import { positionText, revisionText } from './wire.js'

/** The real server measures how long acks take; where it is asked to, this one lists the same figures as unknown. */
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

/** How a group stands. */
export function infoOf(running: RunningGroup): SubscriptionInfo {
  const { definition, state, checkpoint } = running
  const { source, group, settings } = definition
  const isOfAll = source === wholeLog
  const text = (place: number) => (isOfAll ? `C:${positionText(place)}/P:${positionText(place)}` : revisionText(place))
  const info = new persistent.SubscriptionInfo()
    .setEventSource(source)
    .setGroupName(group)
    .setStatus(running.status)
    .setConnectionsList(state.members.map((member) => connectionOf(member, settings.extraStatistics)))
    .setTotalItems(`${state.totalItems}`)
    .setCountSinceLastMeasurement('0')
    .setResolveLinkTos(settings.resolveLinks)
    .setStartFrom(startText(settings.startFrom, isOfAll))
    .setMessageTimeoutMilliseconds(settings.messageTimeoutMs)
    .setExtraStatistics(settings.extraStatistics)
    .setMaxRetryCount(settings.maxRetryCount)
    .setLiveBufferSize(settings.liveBufferSize)
    .setBufferSize(settings.historyBufferSize)
    .setReadBatchSize(settings.readBatchSize)
    .setCheckPointAfterMilliseconds(settings.checkpointAfterMs)
    .setMinCheckPointCount(settings.minCheckpointCount)
    .setMaxCheckPointCount(settings.maxCheckpointCount)
    .setReadBufferCount(state.buffered)
    .setLiveBufferCount('0')
    .setRetryBufferCount(state.waitingForRetry)
    .setTotalInFlightMessages(state.inFlight)
    .setOutstandingMessagesCount(state.inFlight)
    .setNamedConsumerStrategy(settings.strategy)
    .setMaxSubscriberCount(settings.maxSubscriberCount)
    .setParkedMessageCount(`${running.parkedCount}`)
  if (checkpoint !== undefined) info.setLastCheckpointedEventPosition(text(checkpoint))
  if (state.known !== undefined) info.setLastKnownEventPosition(text(state.known))
  return info
}

function startText(startFrom: string, isOfAll: boolean): string {
  const number = { start: '0', end: '-1' }[startFrom] ?? startFrom
  if (!isOfAll) return number
  const [commit = '', prepare = commit] = number.split('/')
  return `C:${commit}/P:${prepare}`
}

function connectionOf(member: GroupMember, extraStatistics: boolean): SubscriptionInfo.ConnectionInfo {
  const { ConnectionInfo, Measurement } = persistent.SubscriptionInfo
  const connection = new ConnectionInfo()
    .setFrom('')
    .setUsername(member.user)
    .setConnectionName(member.name)
    .setTotalItems(`${member.totalItems}`)
    .setCountSinceLastMeasurement('0')
    .setAvailableSlots(member.bufferSize - member.inFlight)
    .setInFlightMessages(member.inFlight)
  if (extraStatistics) {
    for (const key of measurements) connection.addObservedMeasurements(new Measurement().setKey(key).setValue('0'))
  }
  return connection
}
